// The loop that drives the runs of a process.
import { Json } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { shifted } from "./ShiftedClock.ts"
import { account, boot, edge, Gates, node, shared, start, types } from "./TestEngine.ts"

describe("RunScheduler", () => {
  it.effect("gives a run that only waits back at once when the process stops", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const server = yield* boot()
      const { id } = yield* start([node("n", "nap", { millis: 900 })]).pipe(
        Effect.provideContext(server.context),
      )
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(gates.arrived, ["n"])
      const stopping = yield* Effect.forkChild(server.stop)
      yield* TestClock.adjust(1)
      assert.isDefined(stopping.pollUnsafe())
      const { run } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual([run.status, run.owner], ["RUNNING", null])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("goes on with every run, though each step takes longer than a pass may", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let slept = 0
      const lasting = define({
        key: "lasting",
        inputs: { input: Json },
        outputs: { output: Json },
        run: ({ input }) =>
          Effect.sync(() => {
            slept += 100
            return { output: input }
          }),
      })
      const clock = shifted(yield* Clock.Clock, () => slept)
      const server = yield* boot([...types, lasting]).pipe(
        Effect.provideService(Clock.Clock, clock),
      )
      const ids = yield* Effect.forEach([1, 2, 3, 4], (n) =>
        start(
          [node(`g${n}`, "gate"), node("l", "lasting"), node("m", "lasting")],
          [edge(`g${n}`, "l"), edge("l", "m")],
        ),
      ).pipe(Effect.provideContext(server.context))
      for (const n of [1, 2, 3, 4]) yield* gates.untilArrived(`g${n}`)
      for (const n of [1, 2, 3, 4]) yield* gates.open(`g${n}`)
      const runs = yield* Effect.provideContext(Runs, server.context)
      for (const { id } of ids) {
        assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
      }
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})
