import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Node } from "../../src/domain/Workflow.ts"
import { compile } from "../../src/graph/Graph.ts"
import { drawingOf, givenTo } from "../../src/graph/internal/LoopBody.ts"
import { byKey, edges, messages, node, type, types } from "./Fixture.ts"

const loop = type("loop", ["input", "items"], ["results"], {
  body: new Map(["item", "index"].map((name) => [name, { name, schema: {} }])),
})
const known = byKey([...types, loop, type("note", [], [], { role: "note" })])

const within = (parentId: string, inner: Node): Node => ({ ...inner, parentId })

const compiled = (nodes: ReadonlyArray<Node>, ...drawn: ReadonlyArray<string>) =>
  compile({ nodes, edges: edges(...drawn) }, known, {})

const problemsOf = (nodes: ReadonlyArray<Node>, ...drawn: ReadonlyArray<string>) => {
  const result = compiled(nodes, ...drawn)
  return Result.isFailure(result) ? messages(result.failure) : []
}

const graphOf = (nodes: ReadonlyArray<Node>, ...drawn: ReadonlyArray<string>) =>
  Result.getOrThrow(compiled(nodes, ...drawn))

const [source, each] = [node("source", "source"), node("each", "loop")]
const inner = within("each", node("inner", "step"))

describe("Graph.compile with nodes in loops", () => {
  it("leaves the nodes of a body out of the run, whose loop waits for what enters it", () => {
    const drawn = ["source -> inner", "each.item -> inner", "each.results -> after"]
    const graph = graphOf([each, inner, source, node("after", "step")], ...drawn)
    expect(graph.nodes.map(({ id }) => id)).toEqual(["source", "each", "after"])
    const inEdges = graph.inEdges.subarray(graph.inStart[1], graph.inStart[2])
    expect(Array.from(inEdges, (edge) => graph.edgeIds[edge])).toEqual(["e1"])
  })

  it("refuses an edge that leaves a body, also into another one and to its own loop", () => {
    const other = node("other", "loop")
    const nodes = [each, inner, other, within("other", node("far", "step")), node("after", "step")]
    const drawn = ["each.item -> inner", "inner -> after", "inner -> far", "inner -> each"]
    expect(problemsOf(nodes, ...drawn)).toEqual([
      "The graph has a cycle: each -> inner -> each",
      ...[2, 3, 4].map(
        (edge) =>
          `Edge "e${edge}": it leaves the body of loop "each"; ` +
          'only the outputs of "each" itself lead out of it',
      ),
    ])
  })

  it("refuses a parent that is not there or contains its own parent; any node may be one", () => {
    expect(
      problemsOf([
        source,
        within("gone", node("a", "lenient")),
        within("source", node("b", "lenient")),
        within("d", node("c", "loop")),
        within("c", node("d", "loop")),
        within("e", node("e", "loop")),
      ]),
    ).toEqual([
      'Node "a": its parentId names node "gone", which does not exist',
      'Nodes contain each other by their parentId: "c", "d"',
      'Node "e": its parentId names itself',
    ])
  })

  it("refuses a loop that has to wait for itself through its body", () => {
    const after = node("after", "step")
    expect(problemsOf([each, inner, after], "each.results -> after", "after -> inner")).toEqual([
      "The graph has a cycle, with the body of a loop in it: each -> after -> each",
    ])
  })

  it("refuses a request node in a body, and an output that a body does not see", () => {
    const request = within("each", node("in", "request"))
    expect(problemsOf([each, inner, request], "each.result -> inner")).toEqual([
      'Edge "e1": node "each" (type loop) has no "result" for its body; it has item, index',
      'Node "in": a request node cannot lie in a loop; its nodes use the outputs of "each"',
    ])
  })

  it("refuses more than ten loops within each other", () => {
    const loops = Array.from({ length: 11 }, (_, at): Node => {
      const own = node(`l${at}`, "loop")
      return at === 0 ? own : within(`l${at - 1}`, own)
    })
    expect(problemsOf(loops)).toEqual([])
    expect(problemsOf([...loops, within("l10", node("x", "source"))])).toEqual([
      'Node "x": it lies in more than 10 loops, one in the other',
    ])
  })

  it("tells names that a body cannot use, and which one may be meant", () => {
    const nodes = [
      source,
      each,
      within("each", node("a", "lenient", { input: "{{ item.name }}" })),
      within("each", node("b", "lenient", { input: "{{ source.output }} {{ each.results }}" })),
      node("after", "lenient", { input: "{{ a.output }}" }),
    ]
    expect(problemsOf(nodes, "each.results -> after.other")).toEqual([
      'Edge "e1": node "after" (type lenient) has no input "other"; it has input',
      'Node "a": input "input", column 4: unknown name "item"; did you mean each.item?',
      'Node "b": input "input", column 4: no edges lead from "source" to "b"; ' +
        'draw an edge from "source" to "b"',
      'Node "b": input "input", column 29: "each" has no output "results"; it has item, index',
      'Node "after": input "input", column 4: "a" is in the body of loop "each"; ' +
        'use an output of "each"',
    ])
  })

  it("takes a node within a note for one that is where the note is", () => {
    const frame = within("each", node("frame", "note"))
    const nodes = [each, frame, within("frame", node("a", "source")), node("n", "note")]
    const graph = graphOf([...nodes, within("n", node("b", "source"))])
    expect(graph.nodes.map(({ id }) => id)).toEqual(["each", "n", "b"])
    expect(graph.bodies.get("each")!.nodes).toEqual([node("a", "source")])
  })
})

describe("Body.drawingOf", () => {
  const nodes = [
    source,
    node("pair", "pair", { left: 1 }),
    each,
    inner,
    within("each", node("told", "lenient", { input: "{{ pair.other }}" })),
    within("each", node("deep", "loop")),
    within("deep", node("leaf", "step")),
    node("after", "step"),
  ]
  const drawn = ["source -> leaf", "pair -> inner", "each.results -> after", "pair -> each.items"]

  it("is a graph of its own, with what it uses of nodes outside of it", () => {
    const graph = graphOf(nodes, ...drawn)
    expect(graph.nodes.map(({ id }) => id)).toEqual(["source", "pair", "each", "after"])
    const settings = { onFailure: "stop", timeoutMillis: 5 } as const
    const parent = { id: "wf_1@1+b+e", nodes, edges: edges(...drawn), settings }
    const body = graph.bodies.get("each")!
    const own = drawingOf(parent, body)
    expect(own).toMatchObject({
      id: "wf_1@1+b/each+e",
      settings: { onFailure: "stop", body: { loop: "each", given: ["each", "source", "pair"] } },
    })
    const given = new Set(own.settings.body!.given)
    const child = Result.getOrThrow(compile(own, known, {}, true, given))
    expect(child.nodes.map(({ id }) => id)).toEqual([
      "each",
      "source",
      "pair",
      "told",
      "inner",
      "deep",
    ])
    expect(child.bodies.get("deep")!.given.map(({ node: { id } }) => id)).toEqual(["source"])
    const outputs = {
      outputOf: (index: number) =>
        graph.nodes[index]!.id === "pair" ? { output: 1, other: 2 } : { output: 3, error: 4 },
    }
    expect(givenTo(body, graph.indexOf, outputs)).toEqual({
      source: { output: 3 },
      pair: { output: 1, other: 2 },
    })
  })
})
