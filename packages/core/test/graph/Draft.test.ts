// What saving a workflow rejects, rule by rule.
import { describe, expect, it } from "vitest"
import { defaultLimits } from "../../src/domain/Limits.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import { problemsOfDraft } from "../../src/graph/internal/Draft.ts"
import { edges, messages, node } from "./Fixture.ts"

const problems = (nodes: ReadonlyArray<Node>, drawn: ReadonlyArray<Edge> = []) =>
  problemsOfDraft({ nodes, edges: drawn }, defaultLimits)

const steps = (...ids: ReadonlyArray<string>) => ids.map((id) => node(id, "step"))

describe("Draft.problemsOfDraft", () => {
  it("accepts an empty workflow", () => {
    expect(problems([])).toEqual([])
  })

  it("accepts unknown types, missing inputs and leftovers", () => {
    const nodes = [node("a", "no_such_type"), node("b", "step"), node("c", "")]
    expect(problems(nodes, edges("a.nowhere -> b.nothing"))).toEqual([])
  })

  it("accepts a diamond and several edges between the same nodes", () => {
    const drawn = edges("a -> b", "a -> c", "b -> d", "c -> d", "a -> b")
    expect(problems(steps("a", "b", "c", "d"), drawn)).toEqual([])
  })

  it("names an id that several nodes have, once", () => {
    expect(problems(steps("a", "b", "a", "a"))).toEqual([
      { message: 'The id "a" belongs to 3 nodes', nodeId: "a" },
    ])
  })

  it("names an id that several edges have, once", () => {
    const drawn = edges("a -> b", "a -> b").map((edge) => ({ ...edge, id: "same" }))
    expect(problems(steps("a", "b"), drawn)).toEqual([
      { message: 'The id "same" belongs to 2 edges', edgeId: "same" },
    ])
  })

  it("lets a node and an edge have the same id", () => {
    const drawn = edges("a -> b").map((edge) => ({ ...edge, id: "a" }))
    expect(problems(steps("a", "b"), drawn)).toEqual([])
  })

  it.each(["", "a b", "ä", "a/b", 'a"b', "a\n", "x".repeat(129)])("rejects the id %j", (id) => {
    const drawn = edges("a -> b").map((edge) => ({ ...edge, id }))
    const [first, second, ...rest] = problems([...steps("a", "b"), node(id, "step")], drawn)
    expect(first).toMatchObject({
      nodeId: id,
      message: expect.stringContaining("an id is 1 to 128"),
    })
    expect(second).toMatchObject({ edgeId: id, message: expect.stringMatching(/^Edge "/) })
    expect(rest).toEqual([])
  })

  it.each(["__proto__", "constructor", "prototype"])("rejects the reserved id %s", (id) => {
    expect(messages(problems(steps(id)))).toEqual([`Node "${id}": this id is reserved`])
  })

  it.each(["toString", "hasOwnProperty", "A-z_0.9:x", "x".repeat(128)])("accepts the id %s", (id) =>
    expect(problems(steps(id))).toEqual([]),
  )

  it("cuts an absurd id in its message", () => {
    const [problem] = problems(steps("x y".repeat(100_000)))
    expect(problem!.message.length).toBeLessThan(300)
  })

  it("names both ends of an edge that joins missing nodes", () => {
    expect(problems(steps("a"), edges("x -> y"))).toEqual([
      {
        message: 'Edge "e1" starts at node "x", which does not exist',
        edgeId: "e1",
        nodeId: "x",
      },
      { message: 'Edge "e1" ends at node "y", which does not exist', edgeId: "e1", nodeId: "y" },
    ])
  })

  it("names an edge from a node to itself, and does not call it a cycle", () => {
    expect(messages(problems(steps("a"), edges("a -> a")))).toEqual([
      'Edge "e1" joins node "a" to itself',
    ])
  })

  it("lists the nodes of a cycle in the order of its edges", () => {
    expect(problems(steps("a", "b", "c"), edges("b -> c", "c -> a", "a -> b"))).toEqual([
      { message: "The graph has a cycle: a -> b -> c -> a", nodeId: "a" },
    ])
  })

  it("names one cycle of each tangle of nodes", () => {
    const drawn = edges("a -> b", "b -> a", "b -> c", "c -> b", "c -> x", "x -> y", "y -> x")
    expect(messages(problems(steps("a", "b", "c", "x", "y"), drawn))).toEqual([
      "The graph has a cycle: a -> b -> a",
      "The graph has a cycle: x -> y -> x",
    ])
  })

  it("finds a cycle among duplicate ids and dangling edges, and invents none", () => {
    const drawn = edges("a -> b", "b -> ghost", "ghost -> a", "b -> c", "c -> b")
    expect(messages(problems(steps("a", "b", "c", "a"), drawn))).toEqual([
      'The id "a" belongs to 2 nodes',
      'Edge "e2" ends at node "ghost", which does not exist',
      'Edge "e3" starts at node "ghost", which does not exist',
      "The graph has a cycle: b -> c -> b",
    ])
  })

  it("says how many nodes and edges there may be", () => {
    const limits = { ...defaultLimits, nodesPerWorkflow: 2, edgesPerWorkflow: 1 }
    const nodes = steps("a", "b", "c")
    const drawn = edges("a -> b", "b -> c")
    expect(messages(problemsOfDraft({ nodes, edges: drawn }, limits))).toEqual([
      "The workflow has 3 nodes; at most 2 are allowed",
      "The workflow has 2 edges; at most 1 are allowed",
    ])
    expect(problemsOfDraft({ nodes: nodes.slice(1), edges: drawn.slice(1) }, limits)).toEqual([])
  })

  it("finds a cycle through 10,000 nodes without overflowing the stack", () => {
    const ids = Array.from({ length: 10_000 }, (_, at) => `n${at}`)
    const drawn = edges(...ids.map((id, at) => `${id} -> ${ids[(at + 1) % ids.length]}`))
    const limits = { ...defaultLimits, nodesPerWorkflow: 10_000, edgesPerWorkflow: 10_000 }
    const found = problemsOfDraft({ nodes: steps(...ids), edges: drawn }, limits)
    expect(messages(found)).toEqual([`The graph has a cycle: ${ids.join(" -> ")} -> n0`])
  })

  it("reports 200,000 problems at once", () => {
    const drawn = edges(...Array.from({ length: 100_000 }, () => "x -> y"))
    const found = problems([], drawn)
    expect(found.length).toBe(1 + 200_000)
  })
})
