/**
 * What V8 does with the memory of a server that is idle.
 *
 * - V8 makes its heap smaller while a process is idle, a little at a time, but only after it has
 *   collected garbage in the whole heap once. A server that nobody uses would never get there,
 *   and would keep the 45 MB that only its start needs.
 * - A collection that makes the heap smaller also frees the shapes of objects of which none is
 *   left, and with them all compiled code that knows those shapes. After half a minute without
 *   requests that is nearly all of it, and the next ones would take twice the time (0137).
 *
 * Leaves out: processes that embed an engine; their heap is their own.
 */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Collects garbage once, which takes about 50 ms. */
const giveBack = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  setFlagsFromString("--no-expose-gc")
  gc()
})

/** The first version of Node whose V8 has the flag; one before would complain about it. */
const firstWithFlag = 24

/** From now on, a collection of an idle process keeps the compiled code, and the heap's size. */
const keepCode = Effect.sync(() => {
  if (Number.parseInt(process.versions.node) < firstWithFlag) return
  setFlagsFromString("--no-memory-reducer-favors-memory")
})

/** How long V8 takes to make the heap smaller after the start. */
const shrinkMillis = 15_000

/** Gives back what only the start of a server needs, and keeps what its work needs. */
export const settle: Effect.Effect<void> = Effect.andThen(
  giveBack,
  Effect.delay(keepCode, shrinkMillis),
)
