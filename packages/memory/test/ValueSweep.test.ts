/**
 * What becomes of large values that nothing names.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as Samples from "@millrace/conformance/Samples"
import { Ids } from "@millrace/core/engine/Ids"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Stores } from "@millrace/memory"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"

const scene = Effect.gen(function* () {
  const samples = yield* Samples.make
  const [runs, values] = [yield* RunStore, yield* ValueStore]
  const put = (run: Run, id: string) =>
    values.put({ account: run.accountId, runId: run.id, id }, new Uint8Array([1]))
  const has = (run: Run, id: string) =>
    Effect.map(values.read({ account: run.accountId, runId: run.id, id }), Option.isSome)
  return { samples, runs, put, has, sweep: (yield* LargeValues).sweep }
})

const engine = LargeValues.layer.pipe(
  Layer.provideMerge(Stores.layer),
  Layer.provide(Ids.layerSequential),
)

layer(engine)("a sweep of large values", (it) => {
  describe("removes", () => {
    it.effect(
      "what an ended run has not named for ten minutes, and nothing that it or its nodes name",
      () =>
        Effect.gen(function* () {
          const { has, put, runs, samples, sweep } = yield* scene
          const [ofNode, ofRun] = [
            { ...Samples.placedValue("/output/output"), id: "val_node" },
            { ...Samples.placedValue("/output"), id: "val_run" },
          ]
          const run = samples.run({ status: "COMPLETED", largeValues: [ofRun] })
          const nodeRuns = [Samples.nodeRun("a", { largeValues: [ofNode] })]
          yield* runs.commit(Samples.newRun(run, { nodeRuns }))
          for (const id of ["val_node", "val_run", "val_lost"]) yield* put(run, id)
          assert.strictEqual(yield* sweep, 0)
          yield* TestClock.adjust("10 minutes")
          assert.strictEqual(yield* sweep, 1)
          assert.isTrue(yield* has(run, "val_node"))
          assert.isTrue(yield* has(run, "val_run"))
          assert.isFalse(yield* has(run, "val_lost"))
        }),
    )

    it.effect("nothing of an open run, whose next commit may name it", () =>
      Effect.gen(function* () {
        const { has, put, runs, samples, sweep } = yield* scene
        const run = samples.run({ status: "RUNNING" })
        yield* runs.commit(Samples.newRun(run))
        yield* put(run, "val_1")
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(yield* sweep, 0)
        assert.isTrue(yield* has(run, "val_1"))
      }),
    )

    it.effect("what belongs to a run that is gone, beyond what one read looks at", () =>
      Effect.gen(function* () {
        const { has, put, samples, sweep } = yield* scene
        const runs = Array.from({ length: 60 }, () => samples.run())
        for (const run of runs) {
          for (let n = 0; n < 20; n++) yield* put(run, `val_${n}`)
        }
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(yield* sweep, 1_200)
        assert.isFalse(yield* has(runs[0]!, "val_0"))
      }),
    )
  })
})
