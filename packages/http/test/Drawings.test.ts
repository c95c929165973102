/**
 * What an editor adds to a drawing: it is kept, bounded, and means nothing to runs.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"
import { create, finish } from "./Samples.ts"

const node = (id: string, type: string, more: object) => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs: {} },
  ...more,
})

/** What React Flow saves, and whatever else somebody may think of. */
const drawing = {
  name: "Drawn",
  nodes: [
    node("a", "echo", { width: 150, height: 40, style: { color: "#fff" }, selected: false }),
    node("b", "echo", {
      parentId: "a",
      extent: "parent",
      zIndex: 2,
      constructor: null,
      toString: 1,
    }),
  ],
  edges: [
    {
      id: "e",
      source: "a",
      target: "b",
      type: "smoothstep",
      label: "then",
      data: { weight: [1, { deep: true }] },
      markerEnd: { type: "arrowclosed" },
      animated: true,
    },
  ],
}

layer(Harness.layer)("drawings", (it) => {
  const begin = Effect.gen(function* () {
    const { send, tenant } = yield* Harness
    const owner = yield* tenant()
    const ask = (method: string, path: string, json?: unknown) =>
      send(method, `/api/v1${path}`, { key: owner.key, ...(json === undefined ? {} : { json }) })
    return { ask, owner }
  })

  const drawn = ({ edges, nodes }: { readonly edges: unknown; readonly nodes: unknown }) => ({
    nodes,
    edges,
  })

  describe("what an editor adds to nodes and edges", () => {
    it.effect("comes back unchanged through save, read, change, added nodes and copies", () =>
      Effect.gen(function* () {
        const { ask } = yield* begin
        const saved = yield* ask("POST", "/workflows", drawing)
        assert.strictEqual(saved.status, 201)
        assert.deepStrictEqual(drawn(saved.body), drawn(drawing))
        const path = `/workflows/${saved.body.id}`
        assert.deepStrictEqual(drawn((yield* ask("GET", path)).body), drawn(drawing))
        const renamed = yield* ask("PATCH", path, { name: "Again" })
        assert.deepStrictEqual(drawn(renamed.body), drawn(drawing))
        const copied = yield* ask("POST", `${path}/duplicate`)
        assert.deepStrictEqual(drawn(copied.body), drawn(drawing))
        yield* ask("POST", `${path}/nodes`, { nodeType: "echo" })
        const { body } = yield* ask("GET", path)
        assert.deepStrictEqual(body.nodes.slice(0, 2), drawing.nodes)
        assert.deepStrictEqual(body.edges, drawing.edges)
      }),
    )

    it.effect("is a change of the workflow, and a handle that is null still is none", () =>
      Effect.gen(function* () {
        const { ask } = yield* begin
        const saved = yield* ask("POST", "/workflows", drawing)
        const [edge] = drawing.edges
        const edges = [{ ...edge, label: "else", sourceHandle: null }]
        const changed = yield* ask("PATCH", `/workflows/${saved.body.id}`, { edges })
        assert.notStrictEqual(changed.headers.get("etag"), saved.headers.get("etag"))
        assert.deepStrictEqual(changed.body.edges, [{ ...edge, label: "else" }])
      }),
    )

    it.effect("has a bound, for each node and edge", () =>
      Effect.gen(function* () {
        const { ask } = yield* begin
        const wide = { note: "x".repeat(16_384) }
        const { body, status } = yield* ask("POST", "/workflows", {
          ...drawing,
          nodes: [...drawing.nodes, node("c", "echo", wide)],
          edges: [{ ...drawing.edges[0], ...wide }],
        })
        assert.strictEqual(status, 400)
        assert.include(
          body.error,
          'Node "c": the fields that an editor has added have 16395 characters; the limit is 16384',
        )
        assert.include(body.error, 'Edge "e": the fields that an editor has added have ')
      }),
    )

    it.effect("changes no prototype", () =>
      Effect.gen(function* () {
        const { ask } = yield* begin
        const nodes = JSON.parse(
          '[{"id":"a","type":"echo","position":{"x":0,"y":0},"__proto__":{"polluted":1}}]',
        )
        const { body, status } = yield* ask("POST", "/workflows", { name: "P", nodes })
        assert.strictEqual(status, 201)
        assert.isUndefined((Object.prototype as Record<string, unknown>)["polluted"])
        assert.isUndefined(body.nodes[0].polluted)
      }),
    )

    it.effect("does not matter to a run", () =>
      Effect.gen(function* () {
        const { ask, owner } = yield* begin
        const workflowId = yield* create(owner, drawing)
        const nodeOverrides = [node("a", "echo", { width: 5 })]
        for (const more of [{}, { nodeOverrides }]) {
          const id = yield* finish(owner, workflowId, more)
          assert.strictEqual((yield* ask("GET", `/runs/${id}`)).body.status, "COMPLETED")
        }
      }),
    )
  })
})
