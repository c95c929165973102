/**
 * Requests that are wrong in a way that used to go unnoticed, or to come back at full length.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"
import { create, hello } from "./Samples.ts"

const begin = Effect.gen(function* () {
  const { send, tenant } = yield* Harness
  const owner = yield* tenant()
  const workflowId = yield* create(owner, hello)
  const ask = (method: string, path: string, json: unknown) =>
    send(method, `/api/v1${path}`, { key: owner.key, json })
  const refusal = Effect.fnUntraced(function* (method: string, path: string, json: unknown) {
    const { body, status } = yield* ask(method, path, json)
    assert.strictEqual(status, 400)
    return body.error as string
  })
  return { ask, refusal, workflowId }
})

layer(Harness.layer)("what a request says that we do not know", (it) => {
  describe("unknown fields", () => {
    it.effect("are refused in a start, with the nearest name, and nothing is started", () =>
      Effect.gen(function* () {
        const { ask, refusal, workflowId } = yield* begin
        const start = { workflowId, graphInputOverides: {}, value: {} }
        for (const path of ["/runs", "/runs/estimate", `/workflows/${workflowId}/validate`]) {
          assert.strictEqual(
            yield* refusal("POST", path, start),
            'unknown field "graphInputOverides"; did you mean "graphInputOverrides"?; ' +
              'unknown field "value"; did you mean "values"?',
          )
        }
        assert.deepStrictEqual((yield* ask("GET", "/runs", undefined)).body.items, [])
      }),
    )

    it.effect("are refused in settings of a workflow, beside whatever else is wrong", () =>
      Effect.gen(function* () {
        const { refusal, workflowId } = yield* begin
        const expected = 'settings: unknown field "onFailur"; did you mean "onFailure"?'
        const settings = { onFailur: "stop" }
        assert.strictEqual(yield* refusal("POST", "/workflows", { name: "N", settings }), expected)
        assert.strictEqual(
          yield* refusal("PATCH", `/workflows/${workflowId}`, { name: "", settings }),
          `${expected}; name: expected a length of at least 1`,
        )
      }),
    )

    it.effect("say which fields there are where none is near", () =>
      Effect.gen(function* () {
        const { refusal } = yield* begin
        assert.strictEqual(
          yield* refusal("POST", "/workflows", { name: "N", settings: { colour: 1 } }),
          'settings: unknown field "colour"; known are onFailure, timeoutMillis, ' +
            "concurrencyKey, concurrency",
        )
      }),
    )

    it.effect("are refused when nodes are added, runs are read and texts are evaluated", () =>
      Effect.gen(function* () {
        const { refusal, workflowId } = yield* begin
        const workflow = `/workflows/${workflowId}`
        const added = { nodeType: "echo", colum: 2 }
        assert.strictEqual(
          yield* refusal("POST", `${workflow}/nodes`, added),
          'unknown field "colum"; did you mean "column"?',
        )
        const batch = { ids: [], limit: 5 }
        assert.match(yield* refusal("POST", "/runs/batch", batch), /^unknown field "limit"; /)
        const text = { runId: "run_1", nodeId: "say", text: "{{ 1 }}", node: "say" }
        assert.match(
          yield* refusal("POST", `${workflow}/evaluate`, text),
          /^unknown field "node"; /,
        )
      }),
    )

    it.effect("stay where they are editors' own: beside nodes, edges and their fields", () =>
      Effect.gen(function* () {
        const { ask, workflowId } = yield* begin
        const node = { ...hello.nodes[0], selected: true, measured: { width: 1 } }
        const patch = { nodes: [node], edges: [], viewport: {}, id: workflowId, revision: 9 }
        assert.strictEqual((yield* ask("PATCH", `/workflows/${workflowId}`, patch)).status, 200)
        const start = { workflowId, nodeOverrides: [{ ...node, width: 5 }] }
        assert.strictEqual((yield* ask("POST", "/runs", start)).status, 201)
      }),
    )
  })

  describe("a caller's text in a sentence", () => {
    const long = "x".repeat(300_000)
    const position = { x: 0, y: 0 }
    const drawn = (id: string, type: string, inputs: object, data = {}) => ({
      nodes: [{ id, type, position, data: { inputs, ...data } }],
    })

    it.effect("is cut, wherever it stood", () =>
      Effect.gen(function* () {
        const { refusal, workflowId } = yield* begin
        const starts = [
          { singleNodeId: long },
          { [long]: 1 },
          { graphInputOverrides: { [long]: {} } },
          { graphInputOverrides: { say: { [long]: 1 } } },
          { graphInputOverrides: { [long]: 1 } },
          { nodeOverrides: [{ id: long, type: "echo", position }] },
          { nodeOverrides: drawn("say", long, {}).nodes },
          { nodeOverrides: drawn("say", "measure", { text: "t" }, { mode: long }).nodes },
          { nodeOverrides: drawn("say", "echo", {}, { retry: { [long]: 1 } }).nodes },
        ]
        for (const start of starts) {
          const error = yield* refusal("POST", "/runs", { workflowId, ...start })
          assert.isBelow(error.length, 1_000, error.slice(0, 80))
        }
      }),
    )

    it.effect("shows control characters instead of sending them", () =>
      Effect.gen(function* () {
        const { refusal, workflowId } = yield* begin
        const odd = "a\u0000\u001b[31m\u007f\u0085\u2028\u202eb\n"
        for (const start of [{ singleNodeId: odd }, { [odd]: 1 }]) {
          const error = yield* refusal("POST", "/runs", { workflowId, ...start })
          assert.notMatch(error, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
          assert.include(error, String.raw`"a\u0000\u001b[31m\u007f\u0085\u2028\u202eb\n"`)
        }
      }),
    )
  })
})
