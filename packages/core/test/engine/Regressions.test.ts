// What the simulation found, each as the shortest story that shows it.
import type { RunId } from "@millrace/core/domain/Id"
import { RunnerId } from "@millrace/core/domain/Id"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, Gates, node, nodeWith, shared, start } from "./TestEngine.ts"

/** Starts a run in a process that dies after so long, as one does that is killed. */
const orphanAfter = (millis: number, ...workflow: Parameters<typeof start>) =>
  Effect.gen(function* () {
    const first = yield* boot()
    const store = yield* RunStore
    const { id } = yield* start(...workflow).pipe(Effect.provideContext(first.context))
    yield* TestClock.adjust(millis)
    yield* store.seize(account, id, RunnerId.make("exe_dead"))
    yield* first.stop
    return id
  })

/** The run as another process ends it. */
const endedElsewhere = (id: RunId) =>
  Effect.gen(function* () {
    const second = yield* boot()
    const runs = Context.get(second.context, Runs)
    const waiting = yield* Effect.forkChild(runs.wait(account, id))
    yield* TestClock.adjust("1 minute")
    const record = yield* Fiber.join(waiting)
    yield* second.stop
    return record
  })

describe("Progress.resume", () => {
  it.effect("still names the node that failed first, whatever comes before it in the run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* orphanAfter(2_000, [
        nodeWith("a", "sleepy", { millis: 60_000 }, { timeout: 1_000 }),
        node("b", "fail", { message: "first" }),
        node("c", "gate"),
      ])
      yield* gates.open("c")
      const { run } = yield* endedElsewhere(id)
      assert.strictEqual(run.error, 'Node "b" failed: first (and 1 more node)')
    }).pipe(Effect.provide(shared())),
  )
})
