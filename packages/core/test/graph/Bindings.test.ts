// The inputs of a node about to execute, and the output of a run.
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { JsonObject } from "../../src/domain/Json.ts"
import type { NodeRunStatus } from "../../src/domain/Run.ts"
import type { Node } from "../../src/domain/Workflow.ts"
import { inputsOf, responseOf } from "../../src/graph/internal/Bindings.ts"
import { compile, type Graph } from "../../src/graph/Graph.ts"
import { edges, graphOf, node, type } from "./Fixture.ts"

/** The inputs of a node after its sources left these outputs. */
const inputs = (graph: Graph, id: string, outputs: { readonly [id: string]: JsonObject }) =>
  inputsOf(
    graph,
    { outputOf: (index) => outputs[graph.nodes[index]!.id] ?? null },
    graph.indexOf.get(id)!,
  )

const pair = (literals: JsonObject, overrides: JsonObject = {}) =>
  graphOf(
    [node("a", "source"), node("b", "source"), node("p", "pair", literals)],
    edges("a -> p.left", "b -> p.right"),
    { p: overrides },
  )

describe("Bindings.inputsOf", () => {
  it("takes the override, else the edge, else the literal", () => {
    const literals = { left: "literal", right: "literal" }
    const outputs = { a: { output: "edge" } }
    expect(inputs(pair(literals), "p", outputs)).toEqual(
      Result.succeed({ left: "edge", right: "literal" }),
    )
    expect(inputs(pair(literals, { left: "override" }), "p", outputs)).toEqual(
      Result.succeed({ left: "override", right: "literal" }),
    )
  })

  it("leaves out a port without a value", () => {
    expect(inputs(pair({}), "p", { a: { output: 1 } })).toEqual(Result.succeed({ left: 1 }))
  })

  it("takes null for a value, from an edge, a literal and an override", () => {
    const outputs = { a: { output: null } }
    const expected = Result.succeed({ left: null, right: null })
    expect(inputs(pair({ left: 1, right: null }), "p", outputs)).toEqual(expected)
    expect(inputs(pair({ left: 1, right: 1 }, { left: null, right: null }), "p", {})).toEqual(
      expected,
    )
  })

  it("gives ports in the order of their declaration", () => {
    const bound = inputs(pair({}), "p", { b: { output: 2 }, a: { output: 1 } })
    expect(Object.keys(Result.getOrThrow(bound))).toEqual(["left", "right"])
  })

  it("gathers 500 edges in the order of the workflow's edges", () => {
    const ids = Array.from({ length: 500 }, (_, at) => `n${(at * 7) % 500}`)
    const graph = graphOf(
      [...ids.toSorted().map((id) => node(id, "source")), node("g", "gather")],
      edges(...ids.map((id) => `${id} -> g`)),
    )
    const outputs = Object.fromEntries(ids.map((id) => [id, { output: id }]))
    expect(inputs(graph, "g", outputs)).toEqual(Result.succeed({ input: ids }))
  })

  it("gathers only what is live, also of a single edge", () => {
    const graph = graphOf(
      [node("a", "branch", { input: 1 }), node("g", "gather")],
      edges("a.true -> g", "a.false -> g"),
    )
    expect(inputs(graph, "g", { a: { false: 0 } })).toEqual(Result.succeed({ input: [0] }))
  })

  it("takes a literal and an override of a gathering port as the whole array", () => {
    const drawn = edges("a -> g")
    const nodes = [node("a", "source"), node("g", "gather_lenient", { input: [1, 2] })]
    expect(inputs(graphOf(nodes, drawn), "g", {})).toEqual(Result.succeed({ input: [1, 2] }))
    const overridden = graphOf(nodes, drawn, { g: { input: [3] } })
    expect(inputs(overridden, "g", { a: { output: 9 } })).toEqual(Result.succeed({ input: [3] }))
  })

  it("names both edges that carry a value to an input that takes one", () => {
    const nodes = [node("a", "source"), node("b", "source"), node("m", "step")]
    const graph = graphOf(nodes, edges("a -> m", "b -> m"))
    expect(inputs(graph, "m", { a: { output: 1 }, b: { output: 2 } })).toEqual(
      Result.fail('Input "input" of "m" takes one value, but edges "e1" and "e2" each carry one'),
    )
    expect(inputs(graph, "m", { b: { output: 2 } })).toEqual(Result.succeed({ input: 2 }))
  })

  it("names two edges and counts the rest when there are more", () => {
    const nodes = [node("a", "source"), node("m", "step")]
    const graph = graphOf(nodes, edges("a -> m", "a -> m", "a -> m", "a -> m"))
    expect(inputs(graph, "m", { a: { output: 1 } })).toEqual(
      Result.fail(
        'Input "input" of "m" takes one value, but edges "e1" and "e2", and 2 more, each carry one',
      ),
    )
  })

  it("lets an override settle what two edges disagree about", () => {
    const graph = graphOf([node("a", "source"), node("m", "step")], edges("a -> m", "a -> m"), {
      m: { input: 0 },
    })
    expect(inputs(graph, "m", { a: { output: 1 } })).toEqual(Result.succeed({ input: 0 }))
  })

  it("reads and writes ports named like properties of every object as their own", () => {
    const odd = type("odd", ["__proto__", "constructor", "toString"], ["__proto__", "valueOf"])
    const drawn = edges("a.__proto__ -> b.__proto__", "a.valueOf -> b.toString")
    const nodes = [node("a", "odd"), node("b", "odd")]
    const graph = Result.getOrThrow(compile({ nodes, edges: drawn }, new Map([["odd", odd]]), {}))
    expect(inputs(graph, "b", { a: {} })).toEqual(Result.succeed({}))
    const output = JSON.parse('{"__proto__": {"x": 1}}') as JsonObject
    const bound = Result.getOrThrow(inputs(graph, "b", { a: output }))
    expect(Object.getPrototypeOf(bound)).toBe(Object.prototype)
    expect(JSON.stringify(bound)).toBe('{"__proto__":{"x":1}}')
  })
})

describe("Bindings.responseOf", () => {
  const response = (id: string, name?: string): Node =>
    node(id, "response", name === undefined ? { input: 0 } : { input: 0, name })

  const ended = (
    graph: Graph,
    ...runs: ReadonlyArray<readonly [string, JsonObject | null, NodeRunStatus?]>
  ) =>
    responseOf(
      graph,
      runs.map(([id, input, status = "COMPLETED"]) => ({
        index: graph.indexOf.get(id)!,
        input,
        status,
      })),
    )

  it("is null without a completed response node", () => {
    const graph = graphOf([node("a", "source"), response("r")])
    expect(ended(graph)).toBeNull()
    expect(ended(graph, ["a", { input: 1 }], ["r", { input: 1 }, "FAILED"])).toBeNull()
  })

  it("is what arrived at the only response node", () => {
    const graph = graphOf([node("a", "source"), response("r", "named")])
    expect(ended(graph, ["a", { input: 2 }], ["r", { input: [1] }])).toEqual([1])
    expect(ended(graph, ["r", { name: "named" }])).toBeNull()
    expect(ended(graph, ["r", null])).toBeNull()
  })

  it("is an object by name or id, in the order of ordinals, where there are several", () => {
    const graph = graphOf([response("z", "total"), response("y"), response("x", "")])
    const output = ended(graph, ["x", { input: 3 }], ["y", { input: 2 }], ["z", { input: 1 }])
    expect(JSON.stringify(output)).toBe('{"total":1,"y":2,"x":3}')
  })

  it("stays an object when only one of several completed", () => {
    const graph = graphOf([response("a", "one"), response("b", "two")])
    expect(ended(graph, ["b", { input: 1 }], ["a", null, "SKIPPED"])).toEqual({ two: 1 })
  })

  it("keeps both of two nodes with one name, the later under its id", () => {
    const graph = graphOf([response("a", "same"), response("b", "same")])
    expect(ended(graph, ["b", { input: 2 }], ["a", { input: 1 }])).toEqual({ same: 1, b: 2 })
  })

  it("takes a name of __proto__ as any other", () => {
    const graph = graphOf([response("a", "__proto__"), response("b")])
    const output = ended(graph, ["a", { input: 1 }], ["b", { input: 2 }])
    expect(JSON.stringify(output)).toBe('{"__proto__":1,"b":2}')
  })
})
