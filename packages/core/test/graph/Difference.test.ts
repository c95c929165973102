import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { describe, expect, it } from "vitest"
import type { DrawnContent } from "../../src/graph/internal/Difference.ts"
import { differenceOf } from "../../src/graph/internal/Difference.ts"

const node = (id: string, data: Node["data"] = {}, x = 0): Node => ({
  id,
  type: "pass",
  position: { x, y: 0 },
  data,
})
const edge = (id: string, source: string, target: string, more?: Partial<Edge>): Edge => ({
  id,
  source,
  target,
  ...more,
})

const drawing = (change: Partial<DrawnContent>): DrawnContent => ({
  name: "Test",
  description: null,
  thumbnailUrl: null,
  nodes: [],
  edges: [],
  settings: {},
  ...change,
})

const nothing = { added: [], removed: [], changed: [] }

describe("differenceOf", () => {
  it("names what was added, removed and changed, with the keys that changed", () => {
    const before = drawing({
      nodes: [node("a", { inputs: { url: "x", body: 1 }, mode: "get" }), node("b")],
      edges: [edge("1", "a", "b")],
    })
    const after = drawing({
      nodes: [node("a", { inputs: { url: "y", body: 1, head: 2 } }), node("c")],
      edges: [edge("2", "a", "c")],
    })
    expect(differenceOf(before, after)).toEqual({
      fields: [],
      nodes: {
        added: ["c"],
        removed: ["b"],
        changed: [
          {
            id: "a",
            keys: ["data.inputs.url", "data.inputs.head", "data.mode"],
            affectsRuns: true,
          },
        ],
      },
      edges: { added: ["2"], removed: ["1"], changed: [] },
    })
  })

  it("says that another place or label makes no difference to runs", () => {
    const before = drawing({ nodes: [node("a", { label: "One", mode: "x" })] })
    const after = drawing({ nodes: [node("a", { mode: "x", label: "Two" }, 5)] })
    expect(differenceOf(before, after).nodes.changed).toEqual([
      { id: "a", keys: ["position", "data.label"], affectsRuns: false },
    ])
  })

  it("takes an empty handle and the default one for the same", () => {
    const before = drawing({ edges: [edge("1", "a", "b")] })
    const same = drawing({ edges: [edge("1", "a", "b", { sourceHandle: "output" })] })
    const other = drawing({ edges: [edge("1", "a", "b", { sourceHandle: "no" })] })
    expect(differenceOf(before, same).edges.changed).toEqual([
      { id: "1", keys: ["sourceHandle"], affectsRuns: false },
    ])
    expect(differenceOf(before, other).edges.changed[0]?.affectsRuns).toBe(true)
  })

  it("tells of edges into one node that come in another order", () => {
    const [one, two, rest] = [edge("1", "a", "c"), edge("2", "b", "c"), edge("3", "c", "d")]
    const moved = differenceOf(
      drawing({ edges: [one, two, rest] }),
      drawing({ edges: [rest, two, one] }),
    )
    expect(moved.edges.changed).toEqual([
      { id: "2", keys: [], affectsRuns: true },
      { id: "1", keys: [], affectsRuns: true },
    ])
  })

  it("names what of the workflow itself differs, and nothing where nothing does", () => {
    const before = drawing({ settings: { onFailure: "stop" }, description: "a" })
    const after = drawing({ name: "New", settings: { timeoutMillis: 5 }, description: "a" })
    expect(differenceOf(before, after)).toEqual({
      fields: ["name", "settings.onFailure", "settings.timeoutMillis"],
      nodes: nothing,
      edges: nothing,
    })
    expect(differenceOf(before, before)).toEqual({ fields: [], nodes: nothing, edges: nothing })
  })

  it("is linear in what is drawn", () => {
    const nodes = Array.from({ length: 5_000 }, (_, n) => node(`n${n}`))
    const edges = nodes.map(({ id }, n) => edge(`e${n}`, "hub", id))
    const after = drawing({ nodes: nodes.toReversed(), edges: edges.toReversed() })
    const begun = performance.now()
    expect(differenceOf(drawing({ nodes, edges }), after).nodes).toEqual(nothing)
    expect(performance.now() - begun).toBeLessThan(5_000)
  })
})
