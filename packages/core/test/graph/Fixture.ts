/**
 * Graphs in few words, for tests: a handful of node types and builders of nodes and edges.
 *
 * Guarantees: every kind of port and role is here once. Leaves out: handlers; nothing executes.
 */
import { Result } from "effect"
import { expect } from "vitest"
import type { Json, JsonObject } from "../../src/domain/Json.ts"
import type { InputPort, NodeType, NodeTypesByKey } from "../../src/domain/NodeType.ts"
import type { InputOverrides, NodeRun, NodeRunStatus } from "../../src/domain/Run.ts"
import type { Edge, Node } from "../../src/domain/Workflow.ts"
import type { Decision, Frontier } from "../../src/graph/internal/Frontier.ts"
import type { Graph } from "../../src/graph/Graph.ts"
import { compile } from "../../src/graph/Graph.ts"
import type { Problem } from "../../src/graph/internal/Problem.ts"

const checks = {
  any: () => [],
  number: (value: Json) => (typeof value === "number" ? [] : ["Expected a number"]),
  array: (value: Json) => (Array.isArray(value) ? [] : ["Expected an array"]),
}

/** `name`, then marks: `!` required, `*` multiple, `#` number. */
const input = (text: string): InputPort => {
  const name = text.replaceAll(/[!*#]/g, "")
  const multiple = text.includes("*")
  const check = text.includes("#") ? checks.number : multiple ? checks.array : checks.any
  return { name, required: text.includes("!"), multiple, schema: {}, check }
}

/** A node type with these ports, written as {@link input} reads them. */
export const type = (
  key: string,
  inputs: ReadonlyArray<string>,
  outputs: ReadonlyArray<string>,
  more: Partial<NodeType> = {},
): NodeType => ({
  key,
  version: 1,
  name: key,
  description: "",
  category: "test",
  modes: [],
  join: "any",
  role: "step",
  delivery: "at-least-once",
  effects: "writes",
  policy: {},
  portsOf: () => ({
    inputs: new Map(inputs.map(input).map((port) => [port.name, port])),
    outputs: new Map(outputs.map((name) => [name, { name, schema: {} }])),
  }),
  estimate: () => 0,
  ...more,
})

export const types: ReadonlyArray<NodeType> = [
  type("source", [], ["output"]),
  type("step", ["input!"], ["output"]),
  type("lenient", ["input"], ["output"]),
  type("gather", ["input!*"], ["output"]),
  type("gather_lenient", ["input*"], ["output"]),
  type("timed", ["for#", "input"], ["late", "output"]),
  type("pair", ["left!", "right"], ["output", "other"]),
  type("branch", ["input!"], ["true", "false"]),
  type("filter", ["items!", "limit#"], ["items", "rest"]),
  type("join", ["input", "other"], ["output"], { join: "all" }),
  type("sum", ["text", "maxWords#"], ["output", "error"]),
  type("model", ["input"], ["output"], { modes: ["small", "large"], version: 2 }),
  type("sink", ["input"], []),
  type("request", ["fields"], ["values"], { role: "request" }),
  type("response", ["input!", "name"], [], { role: "response" }),
]

export const byKey = (types: ReadonlyArray<NodeType>): NodeTypesByKey =>
  new Map(types.map((each) => [each.key, each]))

export const known = byKey(types)

/** A node at the origin; `data` keys beside `inputs` go into `more`. */
export const node = (
  id: string,
  key: string,
  inputs?: JsonObject,
  more: { readonly [key: string]: Json } = {},
  position = { x: 0, y: 0 },
): Node => ({
  id,
  type: key,
  position,
  data: inputs === undefined ? more : { ...more, inputs },
})

/** `"a.true -> b.left"`; a port left out is the default one. The id is `e` and its number. */
export const edges = (...texts: ReadonlyArray<string>): ReadonlyArray<Edge> =>
  texts.map((text, index) => {
    const [from, to] = text.split(" -> ")
    const [source, sourceHandle] = from!.split(".")
    const [target, targetHandle] = to!.split(".")
    return {
      id: `e${index + 1}`,
      source: source!,
      target: target!,
      ...(sourceHandle === undefined ? {} : { sourceHandle }),
      ...(targetHandle === undefined ? {} : { targetHandle }),
    }
  })

export const graphOf = (
  nodes: ReadonlyArray<Node>,
  drawn: ReadonlyArray<Edge> = [],
  overrides: InputOverrides = {},
): Graph => {
  const result = compile({ nodes, edges: drawn }, known, overrides)
  if (Result.isFailure(result)) expect.fail(messages(result.failure).join("\n"))
  return result.success
}

export const problemsIn = (
  nodes: ReadonlyArray<Node>,
  drawn: ReadonlyArray<Edge> = [],
  overrides: InputOverrides = {},
): ReadonlyArray<Problem> => {
  const result = compile({ nodes, edges: drawn }, known, overrides)
  return Result.isFailure(result) ? result.failure : []
}

export const messages = (problems: ReadonlyArray<Problem>): ReadonlyArray<string> =>
  problems.map(({ message }) => message)

/** Decisions in words: `run a`, `skip b`, `pass c`. */
export const words = (graph: Graph, decisions: ReadonlyArray<Decision>): ReadonlyArray<string> =>
  decisions.map(({ _tag, index }) => `${_tag.toLowerCase()} ${graph.nodes[index]!.id}`)

/** What `advance` decides, in words. */
export const advance = (graph: Graph, frontier: Frontier): ReadonlyArray<string> =>
  words(graph, frontier.advance())

/** Ends a node by id. */
export const settle = (
  graph: Graph,
  frontier: Frontier,
  id: string,
  output: JsonObject | null,
  status: NodeRunStatus = "COMPLETED",
): void => frontier.finish(graph.indexOf.get(id)!, status, output)

export const nodeRun = (
  graph: Graph,
  index: number,
  status: NodeRunStatus,
  output: JsonObject | null,
): NodeRun => {
  const { id, type: nodeType } = graph.nodes[index]!
  return {
    nodeId: id,
    nodeType: nodeType.key,
    ordinal: index,
    status,
    attempt: 1,
    input: null,
    output,
    largeValues: null,
    logs: null,
    error: null,
    credits: 0,
    sequence: null,
    startedAt: null,
    finishedAt: null,
  }
}
