/**
 * Starts that give the outputs of nodes: what is recorded, what is refused, and who may do so.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { operatorToken, over, root, tokenOf } from "./ConsoleScene.ts"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { chain, create, finish } from "./Samples.ts"

const begin = Effect.fnUntraced(function* () {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  return { owner, workflowId: yield* create(owner, chain) }
})

const send = Effect.fnUntraced(function* (
  { key }: Pick<Tenant, "key">,
  path: string,
  json?: unknown,
  base = "/api/v1",
) {
  const { send } = yield* Harness
  return yield* send(json === undefined ? "GET" : "POST", `${base}${path}`, { key, json })
})

const pinnedOutputs = { say: { output: "one two three" } }

layer(over)("pinned outputs", (it) => {
  describe("POST /v1/runs", () => {
    it.effect("takes them, and says of the node that its output was given, and by which key", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin()
        const id = yield* finish(owner, workflowId, { pinnedOutputs })
        const { body } = yield* send(owner, `/runs/${id}`)
        const [say, count] = body.nodeRuns
        assert.deepStrictEqual(
          { ...say, logs: say.logs.length, finishedAt: typeof say.finishedAt },
          {
            nodeId: "say",
            nodeType: "echo",
            status: "COMPLETED",
            pinned: true,
            input: null,
            output: { output: "one two three" },
            logs: 1,
            error: null,
            startedAt: null,
            finishedAt: "string",
            attempt: 0,
            credits: 0,
            dueAt: null,
            skipReason: null,
          },
        )
        assert.match(say.logs[0].data.keyId, /^key_/)
        assert.deepStrictEqual(count.output, { count: 3 })
        assert.notProperty(count, "pinned")
        assert.deepStrictEqual([body.estimatedCredits, body.actualCredits], [0, 0])
        const summary = (yield* send(owner, `/runs/${id}?view=summary`)).body.nodeRuns[0]
        assert.strictEqual(summary.pinned, true)
        const batch = yield* send(owner, "/runs/batch", { ids: [id] })
        assert.strictEqual(batch.body.runs[0].nodeRuns[0].pinned, true)
        assert.isTrue((yield* send(owner, `/runs/${id}/nodes/say`)).body.pinned)
      }),
    )

    it.effect("says which session has given them", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin()
        const session = yield* tokenOf(owner.accountId, { role: "editor" })
        const started = yield* send(session, "/runs", { workflowId, pinnedOutputs }, root)
        assert.strictEqual(started.status, 201)
        const { body } = yield* send(owner, `/runs/${started.body.runId}`)
        assert.deepStrictEqual(body.nodeRuns[0].logs[0].data, { sessionId: session.id })
        const viewer = yield* tokenOf(owner.accountId, { role: "viewer" })
        const refused = yield* send(viewer, "/runs", { workflowId, pinnedOutputs }, root)
        assert.strictEqual(refused.status, 403)
      }),
    )

    it.effect("refuses what does not fit with 400, in one sentence each, and starts nothing", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin()
        const refusals: ReadonlyArray<readonly [object, string]> = [
          [{ nope: { output: 1 } }, "the workflow has no such node"],
          [{ say: { outptu: 1 } }, 'it has no output "outptu"; did you mean "output"?'],
          [{ say: {} }, 'output "output" needs a value'],
          [{ count: { count: "3" } }, 'output "count": expected number'],
          [{ count: { count: 1.5 } }, 'output "count": expected integer'],
          [{ say: { error: "no" } }, 'output "error": expected object'],
        ]
        for (const [outputs, sentence] of refusals) {
          const asked = { workflowId, pinnedOutputs: outputs }
          const started = yield* send(owner, "/runs", asked)
          assert.strictEqual(started.status, 400, sentence)
          assert.include(started.body.error, sentence)
          assert.strictEqual(started.headers.get("x-error-code"), "invalid_graph")
          const estimate = yield* send(owner, "/runs/estimate", asked)
          assert.include(estimate.body.problems[0].message, sentence)
          const validation = yield* send(owner, `/workflows/${workflowId}/validate`, {
            pinnedOutputs: outputs,
          })
          assert.isFalse(validation.body.valid)
        }
        const form = { workflowId, pinnedOutputs: { say: ["x"] } }
        const misshapen = yield* send(owner, "/runs", form)
        assert.strictEqual(misshapen.body.error, "pinnedOutputs.say: expected an object")
        assert.deepStrictEqual((yield* send(owner, "/runs")).body.items, [])
      }),
    )

    it.effect("takes a whole body of them, and keeps what stands in the run", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin()
        const text = "word ".repeat(200_000)
        const given = { say: { output: text } }
        const id = yield* finish(owner, workflowId, { pinnedOutputs: given })
        const { body } = yield* send(owner, `/runs/${id}`)
        assert.strictEqual(body.nodeRuns[0].output.output, text)
        assert.notProperty(body.nodeRuns[0], "largeValues")
        const tooLarge = yield* send(owner, "/runs", {
          workflowId,
          pinnedOutputs: { say: { output: text + text } },
        })
        assert.strictEqual(tooLarge.status, 413)
      }),
    )

    it.effect("counts them among what a repeated start must say again", () =>
      Effect.gen(function* () {
        const harness = yield* Harness
        const { owner, workflowId } = yield* begin()
        const headers = { "idempotency-key": "order 7" }
        const start = (outputs: object) =>
          harness.send("POST", "/api/v1/runs", {
            key: owner.key,
            json: { workflowId, pinnedOutputs: outputs },
            headers,
          })
        const first = yield* start(pinnedOutputs)
        const again = yield* start(pinnedOutputs)
        assert.deepStrictEqual(again.body, first.body)
        assert.strictEqual((yield* start({})).status, 409)
      }),
    )

    it.effect("costs nothing where the account has no credits for the node", () =>
      Effect.gen(function* () {
        const harness = yield* Harness
        const { owner, workflowId } = yield* begin()
        const path = `/api/admin/v1/accounts/${owner.accountId}/credits/metering`
        const json = { actor: "ada", reason: "test", metered: true }
        const metered = yield* harness.send("POST", path, { key: operatorToken, json })
        assert.isBelow(metered.status, 300)
        assert.strictEqual((yield* send(owner, "/runs", { workflowId })).status, 402)
        const id = yield* finish(owner, workflowId, { pinnedOutputs })
        assert.strictEqual((yield* send(owner, `/runs/${id}`)).body.status, "COMPLETED")
      }),
    )

    it.effect("leaves another account's workflow unknown", () =>
      Effect.gen(function* () {
        const { workflowId } = yield* begin()
        const { owner } = yield* begin()
        const { status } = yield* send(owner, "/runs", { workflowId, pinnedOutputs })
        assert.strictEqual(status, 404)
      }),
    )
  })
})
