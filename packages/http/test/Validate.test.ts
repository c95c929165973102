/**
 * Asking what a start would say.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"
import { chain, create } from "./Samples.ts"

const at = { x: 0, y: 0 }

const wrong = {
  name: "Wrong",
  nodes: [
    { id: "say", type: "echo", position: at, data: { inputs: { text: 7 } } },
    { id: "count", type: "measure", position: at },
    { id: "odd", type: "nonsense", position: at },
  ],
  edges: [
    { id: "e1", source: "say", target: "count", targetHandle: "nope" },
    { id: "e2", source: "say", sourceHandle: "elsewhere", target: "odd" },
  ],
}

const validate = Effect.fnUntraced(function* (content: object, json: object = {}) {
  const { send, tenant } = yield* Harness
  const owner = yield* tenant()
  const id = yield* create(owner, content)
  const answer = yield* send("POST", `/api/v1/workflows/${id}/validate`, { key: owner.key, json })
  const runs = yield* send("GET", "/api/v1/runs", { key: owner.key })
  assert.deepStrictEqual(runs.body.items, [])
  return answer
})

layer(Harness.layer)("validating", (it) => {
  describe("POST /v1/workflows/{id}/validate", () => {
    it.effect("names every problem with its node, edge and port, and starts nothing", () =>
      Effect.gen(function* () {
        const { body, status } = yield* validate(wrong)
        assert.strictEqual(status, 200)
        assert.isFalse(body.valid)
        assert.isNull(body.estimatedCredits)
        const places = body.problems.map(({ message, ...place }: { message: string }) => {
          assert.isString(message)
          return place
        })
        for (const place of [
          { nodeId: "say", port: "text" },
          { nodeId: "count", port: "text" },
          { nodeId: "odd" },
        ]) {
          assert.deepInclude(places, place)
        }
        const edges = places.map(({ edgeId }: { edgeId?: string }) => edgeId)
        assert.include(edges, "e1")
        assert.include(edges, "e2")
      }),
    )

    it.effect("names a text that looks like an expression; saving takes it, a start does not", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const text = "Bearer {{ input.token }}"
        const drawn = [{ id: "say", type: "echo", position: at, data: { inputs: { text } } }]
        const id = yield* create(
          { key, accountId: undefined as never },
          { name: "N", nodes: drawn },
        )
        const ask = (path: string, json: object) => send("POST", `/api/v1${path}`, { key, json })
        const { body } = yield* ask(`/workflows/${id}/validate`, {})
        const message =
          'Node "say": input "text": holds {{, and nothing is filled in here; make the text with ' +
          "a transform node and bring it by an edge"
        const problem = { message, nodeId: "say", port: "text" }
        assert.deepStrictEqual(body, {
          valid: false,
          problems: [problem],
          warnings: [problem],
          estimatedCredits: null,
        })
        const refused = yield* ask("/runs", { workflowId: id })
        assert.deepStrictEqual([refused.status, refused.body.error], [400, message])
        const given = { workflowId: id, graphInputOverrides: { say: { text } } }
        assert.strictEqual((yield* ask("/runs", given)).status, 201)
      }),
    )

    it.effect("says what a start costs where it would be accepted", () =>
      Effect.gen(function* () {
        const { body } = yield* validate(chain)
        assert.deepStrictEqual(body, {
          valid: true,
          problems: [],
          warnings: [],
          estimatedCredits: 0.25,
        })
      }),
    )

    it.effect("warns of nodes that would be left over", () =>
      Effect.gen(function* () {
        const lone = { id: "lone", type: "measure", position: at }
        const { body } = yield* validate({ ...chain, nodes: [...chain.nodes, lone] })
        assert.isTrue(body.valid)
        assert.lengthOf(body.warnings, 1)
        assert.strictEqual(body.warnings[0].nodeId, "lone")
        assert.match(body.warnings[0].message, /"lone" has no edges/)
      }),
    )

    it.effect("counts in what a start would lay over the workflow", () =>
      Effect.gen(function* () {
        const graphInputOverrides = { say: { text: 7 } }
        const { body } = yield* validate(chain, { graphInputOverrides })
        assert.deepInclude(body.problems[0], { nodeId: "say", port: "text" })
        const nodeOverrides = [{ id: "say", type: "nonsense", position: at }]
        assert.isFalse((yield* validate(chain, { nodeOverrides })).body.valid)
      }),
    )

    it.effect("answers 404 for an unknown workflow, and 400 for a body of the wrong form", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const path = "/api/v1/workflows/wf_none/validate"
        const unknown = yield* send("POST", path, { key, json: {} })
        assert.strictEqual(unknown.status, 404)
        const bad = yield* send("POST", path, { key, json: { values: [] } })
        assert.strictEqual(bad.status, 400)
        assert.deepStrictEqual(bad.body, { error: "values: expected an object" })
      }),
    )
  })
})
