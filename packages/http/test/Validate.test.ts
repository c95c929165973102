/**
 * Asking what a start would say.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Runs } from "@millrace/core/engine/Runs"
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

    it.effect("names a wrong expression with its column; saving takes it, a start does not", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const text = "Bearer {{ tokn }}"
        const drawn = [{ id: "say", type: "echo", position: at, data: { inputs: { text } } }]
        const id = yield* create(
          { key, accountId: undefined as never },
          { name: "N", nodes: drawn },
        )
        const ask = (path: string, json: object) => send("POST", `/api/v1${path}`, { key, json })
        const { body } = yield* ask(`/workflows/${id}/validate`, {})
        const message = 'Node "say": input "text", column 11: unknown name "tokn"'
        const problem = { message, nodeId: "say", port: "text", column: 11 }
        const { nodes, ...said } = body
        assert.deepStrictEqual(said, {
          valid: false,
          problems: [problem],
          warnings: [],
          estimatedCredits: null,
        })
        assert.lengthOf(nodes, 1)
        const refused = yield* ask("/runs", { workflowId: id })
        assert.deepStrictEqual([refused.status, refused.body.error], [400, message])
        const given = { workflowId: id, graphInputOverrides: { say: { text } } }
        assert.strictEqual((yield* ask("/runs", given)).status, 201)
      }),
    )

    it.effect("says what a start costs, and what is known of each node", () =>
      Effect.gen(function* () {
        const { body } = yield* validate(chain)
        const { nodes, ...said } = body
        assert.deepStrictEqual(said, {
          valid: true,
          problems: [],
          warnings: [],
          estimatedCredits: 0.25,
        })
        const [say, count] = nodes
        assert.deepStrictEqual(
          [say.nodeId, say.estimatedCredits, say.names],
          ["say", 0.25, ["values", "run"]],
        )
        assert.deepStrictEqual(count, {
          nodeId: "count",
          inputPorts: [
            { name: "text", required: true, multiple: false, schema: { type: "string" } },
          ],
          outputPorts: count.outputPorts,
          estimatedCredits: 0,
          names: ["say", "values", "run"],
        })
      }),
    )

    it.effect("judges a draft in place of what is stored, and keeps nothing of it", () =>
      Effect.gen(function* () {
        const { edges, nodes } = wrong
        const draft = (yield* validate(chain, { nodes, edges })).body
        assert.deepStrictEqual(draft.problems, (yield* validate(wrong)).body.problems)
        assert.isFalse((yield* validate(wrong, { nodes: chain.nodes })).body.valid)
        const right = { nodes: chain.nodes, edges: chain.edges }
        assert.isTrue((yield* validate(wrong, right)).body.valid)
        const many = Array.from({ length: 501 }, (_, index) => ({
          id: `n${index}`,
          type: "echo",
          position: at,
        }))
        const { body } = yield* validate(chain, { nodes: many, edges: [] })
        assert.match(body.problems[0].message, /501 nodes; at most 500/)
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

  describe("POST /v1/workflows/{id}/evaluate", () => {
    it.effect("computes a text against a run of the workflow, and of no other", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const [owner, stranger] = [yield* tenant(), yield* tenant()]
        const id = yield* create(owner, chain)
        const { accountId, key } = owner
        const started = yield* send("POST", "/api/v1/runs", { key, json: { workflowId: id } })
        const { runId } = started.body
        yield* (yield* Runs).wait(accountId, runId)
        const path = `/api/v1/workflows/${id}/evaluate`
        const ask = (json: object, with_ = key) => send("POST", path, { key: with_, json })
        const asked = { runId, nodeId: "count", text: "{{ say.output }}!" }
        assert.deepStrictEqual((yield* ask(asked)).body, { value: "one two!", problems: [] })
        const { body } = yield* ask({ ...asked, text: "{{ sayy.output }}" })
        assert.deepStrictEqual(body, {
          problems: [
            {
              message:
                'Node "count": input "value", column 4: unknown name "sayy"; did you mean "say"?',
              nodeId: "count",
              port: "value",
              column: 4,
            },
          ],
        })
        assert.strictEqual((yield* ask({ ...asked, runId: "run_none" })).status, 404)
        assert.strictEqual((yield* ask(asked, stranger.key)).status, 404)
        const other = yield* create(owner, chain)
        const elsewhere = `/api/v1/workflows/${other}/evaluate`
        assert.strictEqual((yield* send("POST", elsewhere, { key, json: asked })).status, 404)
        assert.strictEqual((yield* ask({ ...asked, text: 7 })).status, 400)
      }),
    )
  })
})
