/**
 * Large values on the wire: named by their node runs, in their places where the answer is small
 * enough, and downloads that no browser shows.
 */
import { assert, describe, layer } from "@effect/vitest"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"
import { chain, create, finish, large, valueOf } from "./Samples.ts"

const text = large.graphInputOverrides.say.text

const scene = Effect.gen(function* () {
  const { send, tenant } = yield* Harness
  const owner = yield* tenant()
  const run = yield* finish(owner, yield* create(owner, chain), large)
  const get = (path: string) => send("GET", `/api/v1/runs/${run}${path}`, { key: owner.key })
  return { owner, run, get, value: yield* valueOf(owner, run) }
})

const named = (id: string, at: string) => ({
  at,
  id,
  bytes: text.length + 2,
  type: "string",
  preview: JSON.stringify(text).slice(0, 100),
})

layer(Harness.layer)("large values", (it) => {
  describe("GET /v1/runs/{id}", () => {
    it.effect("has them in their places, and says where they are stored", () =>
      Effect.gen(function* () {
        const { get, value } = yield* scene
        const { body } = yield* get("")
        const [say, count] = body.nodeRuns
        assert.deepStrictEqual(say.output, { output: text })
        assert.deepStrictEqual(say.largeValues, [named(value, "/output/output")])
        assert.deepStrictEqual(count.input, { text })
        assert.deepStrictEqual(count.largeValues, [named(value, "/input/text")])
      }),
    )

    it.effect("only names them in the snapshot of a stream of events", () =>
      Effect.gen(function* () {
        const { owner, run, value } = yield* scene
        const { send } = yield* Harness
        const events = yield* send("GET", `/api/v1/runs/${run}/events`, { key: owner.key })
        const [, data = ""] = /^data: (.*)$/m.exec(events.text) ?? []
        const [say, count] = JSON.parse(data).run.nodeRuns
        assert.deepStrictEqual(say.output, { output: null })
        assert.deepStrictEqual(say.largeValues, [named(value, "/output/output")])
        assert.deepStrictEqual(count.input, { text: null })
      }),
    )
  })

  describe("GET /v1/runs/{id}/values/{valueId}", () => {
    it.effect("downloads the JSON, which browsers save and do not show", () =>
      Effect.gen(function* () {
        const { get, value } = yield* scene
        const answer = yield* get(`/values/${value}`)
        assert.strictEqual(answer.status, 200)
        assert.strictEqual(answer.body, text)
        const { headers } = answer
        assert.strictEqual(headers.get("content-type"), "application/json")
        assert.strictEqual(headers.get("content-length"), String(text.length + 2))
        assert.strictEqual(
          headers.get("content-disposition"),
          `attachment; filename="${value}.json"`,
        )
        assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
        assert.strictEqual(headers.get("content-security-policy"), "sandbox")
      }),
    )

    it.effect("knows no value of another run, none that nothing names, and none that is gone", () =>
      Effect.gen(function* () {
        const { get, owner, run, value } = yield* scene
        const other = yield* scene
        const store = yield* ValueStore
        const key = { account: owner.accountId, runId: run, id: "val_unnamed" }
        yield* Effect.orDie(store.put(key, new TextEncoder().encode("1")))
        for (const id of [other.value, "val_unnamed", "val_unknown"]) {
          const { body, status } = yield* get(`/values/${id}`)
          assert.strictEqual(status, 404)
          assert.deepStrictEqual(body, { error: "The run has no such value" })
        }
        yield* Effect.orDie(store.remove([{ ...key, id: value }]))
        assert.strictEqual((yield* get(`/values/${value}`)).status, 404)
      }),
    )
  })
})
