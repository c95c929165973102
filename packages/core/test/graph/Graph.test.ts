// What starting a run rejects, and the index it executes from.
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Json, JsonObject } from "../../src/domain/Json.ts"
import type { NodeSettings } from "../../src/domain/Workflow.ts"
import { compile } from "../../src/graph/Graph.ts"
import { edges, graphOf, known, messages, node, problemsIn, type } from "./Fixture.ts"

const at = (id: string, x: number, y: number) => node(id, "source", {}, {}, { x, y })

describe("Graph.compile: what a start rejects", () => {
  it("rejects what saving rejects, but not size", () => {
    const found = problemsIn(
      [node("a", "lenient"), node("a", "lenient"), node("b", "lenient")],
      edges("a -> b", "b -> a", "b -> b", "b -> x", "y -> b"),
    )
    expect(messages(found)).toEqual([
      'The id "a" belongs to 2 nodes',
      'Edge "e3" joins node "b" to itself',
      'Edge "e4" ends at node "x", which does not exist',
      'Edge "e5" starts at node "y", which does not exist',
      "The graph has a cycle: a -> b -> a",
    ])
  })

  it("names an unknown type", () => {
    expect(problemsIn([node("x", "foo")])).toEqual([
      {
        message:
          'Node "x": unknown type "foo"; a type of your own has to be among the nodes of the ' +
          "engine or server",
        nodeId: "x",
      },
    ])
    expect(messages(problemsIn([node("x", "requst")]))).toEqual([
      'Node "x": unknown type "requst"; did you mean "request"?',
    ])
  })

  it("names an unknown version, and takes an absent one", () => {
    expect(messages(problemsIn([node("x", "model", {}, { version: 1 })]))).toEqual([
      'Node "x": unknown version 1 of type "model"; it has 2',
    ])
    expect(problemsIn([node("x", "model", {}, { version: 2 }), node("y", "model")])).toEqual([])
  })

  it("names an unknown mode, and takes an absent one", () => {
    const nodes = [
      node("x", "model", {}, { mode: "huge" }),
      node("y", "model", {}, { mode: "large" }),
      node("z", "source", {}, { mode: "" }),
      node("ok", "model"),
    ]
    expect(messages(problemsIn(nodes))).toEqual([
      'Node "x": unknown mode "huge" of type "model"; it has small, large',
      'Node "z": unknown mode "" of type "source"; it has none',
    ])
  })

  it("names an unknown handle on either end of an edge", () => {
    const nodes = [node("a", "branch", { input: 1 }), node("b", "pair", { left: 1 })]
    expect(
      problemsIn(nodes, edges("a.maybe -> b.right", "a -> b", "a.toString -> b.left")),
    ).toEqual([
      {
        message:
          'Edge "e1": node "a" (type branch) has no output "maybe"; it has true, false, error',
        nodeId: "a",
        edgeId: "e1",
        port: "maybe",
      },
      {
        message:
          'Edge "e2": node "a" (type branch) has no output "output"; it has true, false, error',
        nodeId: "a",
        edgeId: "e2",
        port: "output",
      },
      {
        message: 'Edge "e2": node "b" (type pair) has no input "input"; it has left, right',
        nodeId: "b",
        edgeId: "e2",
        port: "input",
      },
      {
        message:
          'Edge "e3": node "a" (type branch) has no output "toString"; it has true, false, error',
        nodeId: "a",
        edgeId: "e3",
        port: "toString",
      },
    ])
  })

  it("suggests the nearest name for an input, an output and a mode", () => {
    const nodes = [
      node("a", "branch", { input: 1, inpt: 1 }),
      node("b", "pair", { left: 1, mode: "x" }),
      node("c", "model", {}, { mode: "smal" }),
    ]
    expect(messages(problemsIn(nodes, edges("a.tru -> b.rigt", "a.true -> b.right")))).toEqual([
      'Node "a": has no input "inpt"; did you mean "input"?',
      'Node "b": has no input "mode"; this key of its data stands beside "inputs"',
      'Node "c": unknown mode "smal" of type "model"; did you mean "small"?',
      'Edge "e1": node "a" (type branch) has no output "tru"; did you mean "true"?',
      'Edge "e1": node "b" (type pair) has no input "rigt"; did you mean "right"?',
    ])
  })

  it("suggests a name for the first 20 problems, and lists what there is for the others", () => {
    const unknown = Array.from({ length: 30 }, (_, n) => [
      `inpu${String.fromCodePoint(n + 256)}`,
      1,
    ])
    const nodes = [node("a", "step", { input: 1, ...Object.fromEntries(unknown) })]
    const hints = messages(problemsIn(nodes, edges("a.outpt -> a.inpt"))).filter((each) =>
      each.includes("has no"),
    )
    const isGuessed = hints.map((each) => each.includes("did you mean"))
    expect(isGuessed).toEqual(Array.from({ length: 32 }, (_, n) => n < 19))
    expect(hints.at(-1)).toContain('has no input "inpt"; it has input')
  })

  it("gives every node an error output, also a type that declares its own", () => {
    const nodes = [node("a", "source"), node("s", "sum", { text: "" }), node("b", "lenient")]
    expect(problemsIn(nodes, edges("a.error -> b", "s.error -> b"))).toEqual([])
    expect(messages(problemsIn(nodes, edges("s.foo -> b")))).toEqual([
      'Edge "e1": node "s" (type sum) has no output "foo"; it has output, error',
    ])
  })

  it("names every request node but the first", () => {
    const nodes = [node("a", "request"), node("b", "request"), node("c", "request")]
    expect(messages(problemsIn(nodes))).toEqual([
      'Node "b": a workflow has one request node, and "a" is one already',
      'Node "c": a workflow has one request node, and "a" is one already',
    ])
  })

  it("names every required input without edge, literal or override, by node and port", () => {
    const nodes = [node("a", "pair"), node("b", "pair"), node("c", "pair"), node("d", "pair")]
    const drawn = edges("a -> b.right", "a -> c.left", "a -> d.right")
    const found = problemsIn(nodes, drawn, { d: { left: null } })
    expect(found).toEqual([
      {
        message: 'Node "a": required input "left" has neither a value nor an edge',
        nodeId: "a",
        port: "left",
      },
      {
        message: 'Node "b": required input "left" has neither a value nor an edge',
        nodeId: "b",
        port: "left",
      },
    ])
  })

  it("asks nothing of a disabled node's required inputs", () => {
    const nodes = [node("a", "pair", {}, { disabled: true }), node("b", "lenient")]
    expect(problemsIn(nodes, edges("a -> b"))).toEqual([])
  })

  it("names a literal that does not fit its port", () => {
    expect(problemsIn([node("sum", "sum", { text: "a", maxWords: "7" })])).toEqual([
      {
        message: 'Node "sum": input "maxWords": Expected a number',
        nodeId: "sum",
        port: "maxWords",
      },
    ])
  })

  it("names an override that does not fit its port", () => {
    const nodes = [node("sum", "sum", { text: "a", maxWords: 7 })]
    expect(messages(problemsIn(nodes, [], { sum: { maxWords: "7" } }))).toEqual([
      'Node "sum": input "maxWords": Expected a number',
    ])
  })

  it("does not look at a literal that this run overrides", () => {
    const nodes = [node("sum", "sum", { text: "a", maxWords: "7" })]
    expect(problemsIn(nodes, [], { sum: { maxWords: 7 } })).toEqual([])
  })

  it("names literals and overrides for inputs that a node does not have", () => {
    const literals = JSON.parse('{"foo": 1, "__proto__": 2}') as JsonObject
    const found = problemsIn([node("sum", "sum", { text: "", ...literals })], [], {
      sum: { bar: 1, toString: 2 },
    })
    expect(messages(found)).toEqual([
      'Node "sum": has no input "foo"; it has text, maxWords',
      'Node "sum": has no input "__proto__"; it has text, maxWords',
      'Node "sum": has no input "bar"; it has text, maxWords',
      'Node "sum": has no input "toString"; it has text, maxWords',
    ])
  })

  it("names overrides for nodes that the workflow does not have", () => {
    const overrides = { b: { input: 1 }, toString: {} }
    expect(problemsIn([node("a", "source")], [], overrides)).toEqual([
      { message: 'Input overrides: the workflow has no node "b"', nodeId: "b" },
      { message: 'Input overrides: the workflow has no node "toString"', nodeId: "toString" },
    ])
  })

  it("accepts several edges into a port that takes one value", () => {
    const nodes = [node("c", "branch", { input: 1 }), node("m", "step")]
    expect(problemsIn(nodes, edges("c.true -> m", "c.false -> m"))).toEqual([])
  })

  it("lists at most twenty ports", () => {
    const outputs = Array.from({ length: 30 }, (_, index) => `case ${index}`)
    const wide = type("wide", [], outputs)
    const nodes = [node("a", "wide"), node("b", "lenient")]
    const types = new Map(known).set("wide", wide)
    const result = compile({ nodes, edges: edges("a -> b") }, types, {})
    expect(Result.isFailure(result) && result.failure[0]!.message).toMatch(
      /it has "case 0", .*, "case 19" and 11 more$/,
    )
  })
})

describe("Graph.compile: a node's plan", () => {
  it("calls an edgeless node without a required input a leftover, whatever else it says", () => {
    const graph = graphOf([node("a", "filter", { limit: "bad", unknown: 1 })])
    expect(graph.nodes[0]!.isUnused).toBe(true)
  })

  it("still names what a start wants of a leftover", () => {
    const nodes = [node("a", "filter", { limit: "bad" })]
    expect(messages(problemsIn(nodes, [], { a: { limit: "worse", nothing: 1 } }))).toEqual([
      'Node "a": input "limit": Expected a number',
      'Node "a": has no input "nothing"; it has items, limit',
    ])
  })

  it("executes an edgeless node that is complete, through a literal or an override", () => {
    const graph = graphOf([node("a", "step", { input: null }), node("b", "step")], [], {
      b: { input: 1 },
    })
    expect(graph.nodes.map(({ isUnused }) => isUnused)).toEqual([false, false])
  })

  it("routes the errors of a node with an edge at its port error, and of no other node", () => {
    const graph = graphOf(
      [node("a", "source"), node("b", "lenient"), node("c", "sink")],
      edges("a.error -> b", "b.output -> c"),
    )
    expect(graph.nodes.map(({ id, policy }) => [id, policy.onError])).toEqual([
      ["a", "route"],
      ["b", "fail"],
      ["c", "fail"],
    ])
  })

  it("reads texts with expressions, except those of a leftover and of an older definition", () => {
    const fallback = { onError: "default", default: { output: { a: [1, "{{ z }}"] } } }
    const nodes = [
      node("a", "step", { input: "{{ x }}" }),
      node("b", "source", {}, fallback),
      node("c", "pair", { right: "{{ y }}" }),
    ]
    expect(messages(problemsIn(nodes))).toEqual([
      'Node "a": input "input", column 4: unknown name "x"; did you mean "a"?',
      'Node "b": default of output "output"[a][1], column 4: unknown name "z"; did you mean "a"?',
    ])
    expect(Result.isSuccess(compile({ nodes, edges: [] }, known, {}, false))).toBe(true)
  })

  it("names what is wrong with a policy, also a default for an output that is not there", () => {
    const nodes = [
      node("a", "source", {}, { onError: "explode" }),
      node("b", "source", {}, { onError: "default", default: { none: 1, error: 2, output: 3 } }),
    ]
    expect(problemsIn(nodes)).toEqual([
      { message: 'Node "a": onError: expected one of fail, route, default', nodeId: "a" },
      {
        message: 'Node "b": default: has no output "none"; it has output',
        nodeId: "b",
        port: "none",
      },
    ])
  })

  it("joins the only input and output of a disabled node, whatever they are called", () => {
    const odd = type("odd", ["from"], ["to", "error"])
    const nodes = [node("a", "odd", {}, { disabled: true })]
    const graph = Result.getOrThrow(compile({ nodes, edges: [] }, new Map([["odd", odd]]), {}))
    expect(graph.nodes[0]!.passThrough).toEqual(["from", "to"])
  })

  it("calls no disabled node a leftover", () => {
    expect(graphOf([node("a", "step", {}, { disabled: true })]).nodes[0]!.isUnused).toBe(false)
  })

  it.each<[string, readonly [string, string] | null]>([
    ["step", ["input", "output"]],
    ["gather", ["input", "output"]],
    ["filter", ["items", "items"]],
    ["source", null],
    ["sink", null],
    ["branch", null],
    ["pair", null],
    ["sum", null],
    ["timed", ["input", "output"]],
    ["join", ["input", "output"]],
  ])("joins the ports of a disabled %s node like a wire: %j", (key, wire) => {
    const graph = graphOf([node("a", key, {}, { disabled: true }), node("b", key)])
    expect(graph.nodes[graph.indexOf.get("a")!]!.passThrough).toEqual(wire)
    expect(graph.nodes[graph.indexOf.get("b")!]!.passThrough).toBeUndefined()
  })

  it("joins no ports of a disabled request node, whose inputs are declarations", () => {
    const graph = graphOf([node("r", "request", {}, { disabled: true })])
    expect(graph.nodes[0]!.passThrough).toBeNull()
  })

  it("does not count a declared error output as an end of the wire", () => {
    const own = type("own", ["input"], ["output", "error"])
    const nodes = [node("a", "own", {}, { disabled: true })]
    const graph = Result.getOrThrow(compile({ nodes, edges: [] }, new Map([["own", own]]), {}))
    expect(graph.nodes[0]!.passThrough).toEqual(["input", "output"])
  })

  it("derives ports from the literals with this run's overrides in place, once per node", () => {
    const seen: Array<Json> = []
    const portsOf = (settings: NodeSettings) => {
      seen.push(settings.inputs["cases"]!)
      return type("", ["cases"], settings.inputs["cases"] as Array<string>).portsOf(settings)
    }
    const nodes = [node("s", "switch", { cases: ["a"] }), node("b", "lenient")]
    const types = new Map(known).set("switch", type("switch", [], [], { portsOf }))
    const overrides = { s: { cases: ["b", "c"] } }
    const graph = Result.getOrThrow(compile({ nodes, edges: edges("s.c -> b") }, types, overrides))
    expect(seen).toEqual([["b", "c"]])
    const [planned] = graph.nodes
    expect([...planned!.ports.outputs.keys()]).toEqual(["b", "c"])
    expect(planned!.overrides).toEqual({ cases: ["b", "c"] })
    expect(planned!.settings.inputs).toEqual({ cases: ["b", "c"] })
    expect(graph.nodes[1]!.overrides).toEqual({})
  })

  it("finds no overrides for a node that is named like a property of every object", () => {
    const graph = graphOf([node("toString", "source"), node("valueOf", "lenient")])
    expect(graph.nodes.map(({ overrides }) => overrides)).toEqual([{}, {}])
  })
})

describe("Graph.compile: the index", () => {
  it("orders nodes by depth, then x, then y, then as in the workflow", () => {
    const nodes = [
      node("late", "lenient", {}, {}, { x: -100, y: -100 }),
      at("right", 10, 0),
      at("low", 0, 10),
      at("second", 0, 0),
      at("third", 0, 0),
      node("deepest", "lenient", {}, {}, { x: -900, y: 0 }),
    ]
    const graph = graphOf(nodes, edges("right -> late", "late -> deepest", "right -> deepest"))
    const ids = ["second", "third", "low", "right", "late", "deepest"]
    expect(graph.nodes.map(({ id }) => id)).toEqual(ids)
    expect(graph.nodes.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5])
    expect([...graph.indexOf]).toEqual(ids.map((id, index) => [id, index]))
  })

  it("keeps edges in the workflow's order, an absent or empty handle being the default", () => {
    const drawn = [
      { id: "z", source: "a", target: "b", sourceHandle: "", targetHandle: "" },
      { id: "y", source: "b", target: "c", sourceHandle: "error", targetHandle: "right" },
      { id: "x", source: "a", target: "c", targetHandle: "left" },
    ]
    const nodes = [node("c", "pair"), node("b", "lenient"), node("a", "source")]
    const graph = graphOf(nodes, drawn)
    expect(graph.edgeIds).toEqual(["z", "y", "x"])
    expect(graph.edgeOutput).toEqual(["output", "error", "output"])
    expect(graph.edgeInput).toEqual(["input", "right", "left"])
    expect([...graph.edgeSource]).toEqual([0, 1, 0])
    expect([...graph.edgeTarget]).toEqual([1, 2, 2])
    expect([...graph.inStart]).toEqual([0, 0, 1, 3])
    expect([...graph.inEdges]).toEqual([0, 1, 2])
    expect([...graph.outStart]).toEqual([0, 2, 3, 3])
    expect([...graph.outEdges]).toEqual([0, 2, 1])
  })

  it("compiles an empty workflow", () => {
    const graph = graphOf([])
    expect(graph.nodes).toEqual([])
    expect([...graph.inStart]).toEqual([0])
  })

  it("compiles a chain of 10,000 nodes and a fan of 10,000", () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `n${index}`)
    const chain = graphOf(
      ids.map((id) => node(id, "lenient")).toReversed(),
      edges(...ids.slice(1).map((id, index) => `n${index} -> ${id}`)),
    )
    expect(chain.nodes.map(({ id }) => id)).toEqual(ids)
    const fan = graphOf(
      ids.map((id) => node(id, "lenient")),
      edges(...ids.slice(1).map((id) => `n0 -> ${id}`)),
    )
    expect(fan.nodes.map(({ id }) => id)).toEqual(ids)
  })
})
