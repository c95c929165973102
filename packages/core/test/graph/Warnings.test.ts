// What an author may not have meant, and a start accepts all the same.
import type { NodeType } from "@millrace/core/domain/NodeType"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import type { InputOverrides } from "@millrace/core/domain/Run"
import { readDrawing } from "@millrace/core/graph/Graph"
import { assert, describe, it } from "@effect/vitest"
import { warningsOf } from "../../src/graph/internal/Warnings.ts"
import { byKey, edges, messages, node, type, types } from "./Fixture.ts"

const note = type("note", ["text"], [], { role: "note" })
const all: ReadonlyArray<NodeType> = [...types, note]

const warnings = (
  nodes: ReadonlyArray<Node>,
  drawn: ReadonlyArray<Edge> = [],
  overrides: InputOverrides = {},
) => {
  const reading = readDrawing(
    { nodes, edges: drawn },
    { types: byKey(all), overrides, evaluates: true },
  )
  assert.deepStrictEqual(messages(reading.problems), [])
  return warningsOf(reading)
}

const told = (...of: Parameters<typeof warnings>) => messages(warnings(...of))

describe("two edges into an input that takes one value", () => {
  const ends = [node("a", "source"), node("b", "source"), node("x", "step")]

  it("are named with node and port if they are no arms of one branch", () => {
    assert.deepStrictEqual(warnings(ends, edges("a -> x", "b -> x")), [
      {
        message:
          'Node "x": edges "e1" and "e2" end at input "input", which takes one value; ' +
          "the node fails if both carry one",
        nodeId: "x",
        port: "input",
      },
    ])
    assert.lengthOf(told(ends.slice(1), edges("b -> x", "b -> x")), 1)
  })

  it("are fine as the arms of a branch, or of a failure, however long the arms are", () => {
    const nodes = [
      node("a", "source"),
      node("if", "branch"),
      node("left", "step"),
      node("right", "step"),
      node("x", "step"),
    ]
    const arms = ["a -> if", "if.true -> left", "if.false -> right"]
    assert.deepStrictEqual(told(nodes, edges(...arms, "left -> x", "right -> x")), [])
    assert.deepStrictEqual(told(nodes, edges(...arms, "left -> x", "if.false -> x")), [])
    const failure = edges("a.output -> left", "a.error -> right", "left -> x", "right -> x")
    assert.deepStrictEqual(told([nodes[0]!, ...nodes.slice(2)], failure), [])
  })

  it("are named if one of them does not come from the branch, or both do from one arm", () => {
    const nodes = [node("a", "source"), node("if", "branch"), node("l", "step"), node("x", "step")]
    const fed = ["a -> if", "if.true -> l", "l -> x"]
    assert.lengthOf(told(nodes, edges(...fed, "a -> x")), 1)
    assert.lengthOf(told(nodes, edges(...fed, "if.true -> x")), 1)
  })

  it("are fine for several values, for an override, and where nothing executes", () => {
    const [a, b] = ends
    const two = edges("a -> x", "b -> x")
    assert.deepStrictEqual(told([a!, b!, node("x", "gather")], two), [])
    assert.deepStrictEqual(told([a!, b!, node("x", "step", {}, { disabled: true })], two), [])
    assert.deepStrictEqual(told(ends, two, { x: { input: 1 } }), [])
  })

  it("are looked for in a bounded number of steps", () => {
    const arms = Array.from({ length: 1_000 }, (_, index) => `arm${index}`)
    const wide = type("wide", [], arms)
    const nodes = [node("w", "wide"), node("x", "step")]
    const drawn = edges(...arms.map((arm) => `w.${arm} -> x`))
    const options = { types: byKey([wide, ...types]), overrides: {}, evaluates: true }
    const begun = performance.now()
    assert.deepStrictEqual(warningsOf(readDrawing({ nodes, edges: drawn }, options)), [])
    assert.isBelow(performance.now() - begun, 2_000)
  })
})

describe("a key of a node's data", () => {
  it("that is almost one of the engine's is named with that one", () => {
    const data = { onEror: "route", retries: 3, time_out: 5, Label: "x", onFailure: "stop" }
    assert.deepStrictEqual(told([node("a", "source", {}, data)]), [
      'Node "a": "onEror" in its data means nothing; did you mean "onError"?',
      'Node "a": "retries" in its data means nothing; did you mean "retry"?',
      'Node "a": "time_out" in its data means nothing; did you mean "timeout"?',
      'Node "a": "Label" in its data means nothing; did you mean "label"?',
      'Node "a": "onFailure" in its data means nothing; did you mean "onError"?',
    ])
  })

  it("that is an editor's is nobody's business, nor one beside the key that it is like", () => {
    const data = { color: "red", model: "x", outputs: [], __proto: 1, constructor: 1, icon: "y" }
    assert.deepStrictEqual(told([node("a", "source", {}, data)]), [])
    assert.deepStrictEqual(told([node("a", "source", {}, { input: 1 })]), [])
    assert.lengthOf(told([node("m", "model", {}, { modes: "small" })]), 1)
  })

  it("is judged only so often, however many there are", () => {
    const keys = Array.from({ length: 5_000 }, (_, index) => [`tim${index}`, 1] as const)
    const data = { ...Object.fromEntries(keys), labal: 1 }
    assert.deepStrictEqual(told([node("a", "source", {}, data)]), [])
  })
})

describe("warnings", () => {
  it("are told beside problems, too", () => {
    const nodes = [node("a", "nothing"), node("b", "source", {}, { onEror: "route" })]
    const reading = readDrawing(
      { nodes, edges: [] },
      { types: byKey(types), overrides: {}, evaluates: true },
    )
    assert.lengthOf(reading.problems, 1)
    assert.lengthOf(warningsOf(reading), 1)
  })

  it("name expressions that an edge covers, and no literals, because forms have defaults", () => {
    const fed = edges("a -> x")
    const of = (input: string) => told([node("a", "source"), node("x", "step", { input })], fed)
    assert.deepStrictEqual(of("a default"), [])
    const covered = of("{{ values.x }}")
    assert.deepStrictEqual(covered, [
      'Node "x": input "input" takes what its edge carries, and its expression only where the ' +
        "edge carries nothing",
    ])
  })
})
