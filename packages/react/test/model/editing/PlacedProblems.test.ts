/**
 * Problems with the place where they are mended.
 */
import { describe, expect, it } from "vitest"
import type { WorkflowDocument } from "../../../src/model/editing/Document.ts"
import {
  nodeInputs,
  unfinishedOf,
  withUnfinished,
} from "../../../src/model/editing/internal/NodeInputs.ts"
import { nodesInOrder } from "../../../src/model/editing/internal/NodeOrder.ts"
import { placedProblems, problemsByNode } from "../../../src/model/editing/PlacedProblems.ts"

const position = { x: 0, y: 0 }
const unfinished = { "inputs/body": { kind: "json", typed: '{"a"' } }

const document: WorkflowDocument = {
  name: "",
  description: null,
  settings: {},
  nodes: [
    { id: "b", type: "t", position, data: { inputs: { url: "x", old: 1 }, unfinished } },
    { id: "a", type: "t", position },
    { id: "c", type: "t", position },
  ],
  edges: [
    { id: "e1", source: "a", target: "b", targetHandle: "url" },
    { id: "e2", source: "b", target: "c", sourceHandle: "body" },
    { id: "loose", source: "gone", target: "c" },
  ],
}

const say = () => "unfinished"

describe("placedProblems", () => {
  it("places a problem at the input, at the node, or at the workflow", () => {
    const problems = [
      { message: "input", nodeId: "b", port: "url", column: 3 },
      { message: "node", nodeId: "a" },
      { message: "no output", nodeId: "b", edgeId: "e2", port: "body" },
      { message: "no input", nodeId: "c", edgeId: "e2", port: "input" },
      { message: "edge", edgeId: "e1" },
      { message: "all" },
      { message: "gone", nodeId: "gone" },
    ]
    const placed = placedProblems(document, { problems, warnings: [{ message: "w" }] }, say)
    expect(
      placed.map(({ isWarning, message, nodeId, place }) => [message, nodeId, place, isWarning]),
    ).toEqual([
      ["unfinished", "b", "inputs/body", false],
      ["input", "b", "inputs/url", false],
      ["node", "a", undefined, false],
      ["no output", "b", undefined, false],
      ["no input", "c", "inputs/input", false],
      ["edge", "b", undefined, false],
      ["all", undefined, undefined, false],
      ["w", undefined, undefined, true],
    ])
    const byNode = problemsByNode(placed)
    expect([...byNode].map(([id, each]) => [id, each.length])).toEqual([
      ["b", 4],
      ["a", 1],
      ["c", 1],
    ])
  })
})

describe("nodeInputs", () => {
  it("has the ports of the node, and what the drawing names besides", () => {
    const schema = { type: "string", description: "Where." }
    const ports = [{ name: "url", required: true, multiple: false, schema }]
    const inputs = nodeInputs(document, document.nodes[0]!, ports)
    expect(inputs).toMatchObject([
      { name: "url", description: "Where.", isDeclared: true, value: "x", edges: [{ id: "e1" }] },
      { name: "old", description: "", isDeclared: false, value: 1, edges: [] },
      { name: "body", isDeclared: false, value: undefined, edges: [] },
    ])
  })
})

describe("unfinishedOf", () => {
  it("gives back what was typed, and ignores what somebody else has written there", () => {
    const [node] = document.nodes
    expect([...unfinishedOf(node!)]).toEqual([["inputs/body", unfinished["inputs/body"]]])
    const other = { kind: "list", typed: ["x"] } as const
    const value = withUnfinished(node!, "inputs/list", other)
    expect(unfinishedOf({ data: { unfinished: value } as never }).get("inputs/list")).toEqual(other)
    expect(withUnfinished(node!, "inputs/body", undefined)).toBeUndefined()
    for (const foreign of [
      1,
      [],
      { x: 1 },
      { x: { kind: "map", typed: "x" } },
      { x: { kind: "?" } },
    ])
      expect(unfinishedOf({ data: { unfinished: foreign } }).size).toBe(0)
  })
})

describe("nodesInOrder", () => {
  it("has each node after those that lead to it, also where there is a cycle", () => {
    expect(nodesInOrder(document).map(({ id }) => id)).toEqual(["a", "b", "c"])
    const edges = [...document.edges, { id: "e3", source: "c", target: "b" }]
    expect(nodesInOrder({ ...document, edges }).map(({ id }) => id)).toEqual(["a", "b", "c"])
  })
})
