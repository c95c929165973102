/**
 * Batches of runs whose data is larger than an answer may be.
 */
import { assert, describe, layer } from "@effect/vitest"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Effect, Layer } from "effect"
import { Harness } from "./Harness.ts"
import { create, finish, hello } from "./Samples.ts"

const limits = Layer.succeed(CurrentLimits, { ...defaultLimits, batchBytes: 3_000 })

const overrides = (text: string) => ({ graphInputOverrides: { say: { text } } })

layer(Layer.provide(Harness.layer, limits))("a batch", (it) => {
  describe("POST /v1/runs/batch", () => {
    it.effect("leaves out the data of runs that would make the answer too large, and says so", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const workflowId = yield* create(owner, hello)
        const ids: Array<string> = []
        for (const size of [10_000, 500, 500, 500]) {
          ids.push(yield* finish(owner, workflowId, overrides("x".repeat(size))))
        }
        const json = { ids }
        const { body, status } = yield* send("POST", "/api/v1/runs/batch", { key: owner.key, json })
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(
          body.runs.map(({ id, omitted }: { id: string; omitted?: true }) => [id, omitted]),
          [
            [ids[0], true],
            [ids[1], undefined],
            [ids[2], undefined],
            [ids[3], true],
          ],
        )
        const [large, small] = body.runs
        assert.strictEqual(small.nodeRuns[0].output.output.length, 500)
        assert.isNull(large.context)
        const { startedAt, finishedAt, ...said } = large.nodeRuns[0]
        assert.isString(startedAt)
        assert.isString(finishedAt)
        assert.deepStrictEqual(said, {
          nodeId: "say",
          nodeType: "echo",
          status: "COMPLETED",
          input: null,
          output: null,
          logs: null,
          error: null,
          attempt: 1,
          credits: 0.25,
          dueAt: null,
          skipReason: null,
        })
        const alone = yield* send("GET", `/api/v1/runs/${ids[0]}`, { key: owner.key })
        assert.strictEqual(alone.body.nodeRuns[0].output.output.length, 10_000)
        assert.notProperty(alone.body, "omitted")
      }),
    )
  })
})
