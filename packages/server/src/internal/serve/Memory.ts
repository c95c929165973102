/**
 * Gives back the memory that only the start of a server needs, about 45 MB.
 *
 * V8 makes its heap smaller while a process is idle, a little at a time, but only after it has
 * collected garbage in the whole heap once. A server that nobody uses would never get there.
 *
 * Leaves out: processes that embed an engine; their heap is their own.
 */
import { Effect } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Collects garbage once, which takes about 50 ms. */
export const giveBack: Effect.Effect<void> = Effect.sync(() => {
  setFlagsFromString("--expose-gc")
  const gc = runInNewContext("gc") as () => void
  setFlagsFromString("--no-expose-gc")
  gc()
})
