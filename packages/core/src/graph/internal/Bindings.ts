/**
 * What flows: which edges carry a value, the inputs of a node about to execute, the output of a
 * run.
 *
 * Guarantees: the same recorded outputs give the same inputs, whatever order they arrived in; only
 * own properties are read, so no port name reaches into a prototype. Leaves out: defaults, which
 * the node's type applies when it decodes its inputs, and whether a node may execute at all, which
 * is `Frontier`'s.
 */
import { Result } from "effect"
import type { Json, JsonObject } from "../../domain/Json.ts"
import { defaultInput, defaultOutput } from "../../domain/NodeType.ts"
import { quoted } from "../../domain/Quote.ts"
import type { NodeRunStatus } from "../../domain/Run.ts"
import type { Graph, GraphNode } from "../Graph.ts"
import type { Literal } from "./Literal.ts"

/** What nodes left on their outputs: a `Frontier`, or anything else that knows. */
export interface Outputs {
  /** By port; `null` when the node left nothing or has not ended. */
  readonly outputOf: (index: number) => JsonObject | null
}

/**
 * True when an edge carries a value: its source left one on the edge's output. `null` is a value;
 * `undefined` is none, as in JSON text, so that a run goes the same way before and after it was
 * stored.
 */
export const isLive = (graph: Graph, outputs: Outputs, edge: number): boolean => {
  const output = outputs.outputOf(graph.edgeSource[edge]!)
  const port = graph.edgeOutput[edge]!
  return output !== null && Object.hasOwn(output, port) && output[port] !== undefined
}

/** The inputs of a node, and what of them expressions have yet to fill in. */
export interface Bound {
  /** By port in the order of its declaration. A literal with expressions is there as drawn. */
  readonly inputs: JsonObject
  /** The literals with expressions among the inputs, by port. */
  readonly literals: ReadonlyMap<string, Literal>
  /** What edges, or this run, bring to the port `input`; `undefined` for nothing. */
  readonly input: Json | undefined
}

const noLiterals: ReadonlyMap<string, Literal> = new Map([])

/**
 * The inputs of a node, by port in the order of its declaration: this run's override, else what
 * live edges carry, else the literal; a port with none of these is left out. A port that takes
 * several values gets an array in the order of the workflow's edges (a literal or an override is
 * the whole array). Fails with a sentence that names the edges when two of them carry a value to
 * one port that takes one.
 */
export const boundOf = (
  graph: Graph,
  outputs: Outputs,
  index: number,
): Result.Result<Bound, string> => {
  const node = graph.nodes[index]!
  const entries: Array<readonly [string, Json]> = []
  const drawn = node.literals?.inputs ?? noLiterals
  const literals = drawn.size === 0 ? noLiterals : new Map<string, Literal>()
  let input: Json | undefined
  for (const { multiple, name } of node.ports.inputs.values()) {
    const isOverride = Object.hasOwn(node.overrides, name)
    const edges = isOverride ? undefined : liveEdgesTo(graph, outputs, index, name)
    if (edges === undefined) {
      const values = node.settings.inputs
      if (!Object.hasOwn(values, name)) continue
      entries.push([name, values[name]!])
      if (isOverride && name === defaultInput) input = values[name]
      const literal = isOverride ? undefined : drawn.get(name)
      if (literal !== undefined) (literals as Map<string, Literal>).set(name, literal)
      continue
    }
    if (edges.length > 1 && !multiple) return Result.fail(conflict(graph, node, name, edges))
    const arrived = edges.map((edge) => valueOf(graph, outputs, edge))
    entries.push([name, multiple ? arrived : arrived[0]!])
    if (name === defaultInput) input = multiple ? arrived : arrived[0]!
  }
  if (!node.ports.inputs.has(defaultInput)) {
    input = undeclaredInput(graph, outputs, index)
  }
  return Result.succeed({ inputs: Object.fromEntries(entries), literals, input })
}

/** The inputs of a node: {@link boundOf} without what expressions have to fill in. */
export const inputsOf = (
  graph: Graph,
  outputs: Outputs,
  index: number,
): Result.Result<JsonObject, string> =>
  Result.map(boundOf(graph, outputs, index), ({ inputs, literals }) =>
    literals.size === 0
      ? inputs
      : Object.fromEntries(Object.entries(inputs).filter(([port]) => !literals.has(port))),
  )

/**
 * What `input` is in the expressions of a node whose type has no such port: the value of the edge
 * there, or an array where several were drawn.
 */
const undeclaredInput = (graph: Graph, outputs: Outputs, index: number): Json | undefined => {
  const live = liveEdgesTo(graph, outputs, index, defaultInput)
  if (live === undefined) return undefined
  const incoming = graph.inEdges.subarray(graph.inStart[index], graph.inStart[index + 1])
  const drawn = incoming.filter((edge) => graph.edgeInput[edge] === defaultInput)
  const values = live.map((edge) => valueOf(graph, outputs, edge))
  return drawn.length > 1 ? values : values[0]
}

/**
 * The output of a run: what arrived at the `input` of its response nodes. `null` when none of them
 * completed. The value itself where the graph has one response node (`null` without a value); an
 * object in the order of ordinals where it has several, by their literal `name`, or by node id for
 * a node without a name and for one whose name an earlier node took.
 */
export const responseOf = (
  graph: Graph,
  nodeRuns: Iterable<{
    readonly index: number
    readonly input: JsonObject | null
    readonly status: NodeRunStatus
  }>,
): Json => {
  const completed = Array.from(nodeRuns).filter(
    ({ index, status }) => status === "COMPLETED" && isResponse(graph.nodes[index]),
  )
  if (completed.length === 0) return null
  if (graph.nodes.filter(isResponse).length === 1) return responseValue(completed[0]!.input)
  const values = new Map<string, Json>()
  for (const { index, input } of completed.toSorted((a, b) => a.index - b.index)) {
    const node = graph.nodes[index]!
    const { name } = node.settings.inputs
    const free = typeof name === "string" && name !== "" && !values.has(name)
    values.set(free ? name : node.id, responseValue(input))
  }
  return Object.fromEntries(values)
}

/** True for a graph with a response node, whether that is reached or not. */
export const hasResponse = ({ nodes }: Graph): boolean => nodes.some(isResponse)

/** What a node left: the value of its port `output`, or what it left by port without that. */
const leftBy = (graph: Graph, outputs: Outputs, index: number): Json => {
  const output = outputs.outputOf(index)
  if (output === null) return null
  const ports = graph.nodes[index]!.ports.outputs
  return ports.has(defaultOutput) ? (output[defaultOutput] ?? null) : output
}

/**
 * The result of a body without a response node: what its last nodes left, which are those without
 * edges to others. Of one, its `output`, or all of its outputs by port if it has no such port. Of
 * several, that by node id, for those that completed.
 */
export const resultOf = (graph: Graph, outputs: Outputs): Json => {
  const { nodes, outStart } = graph
  const last = nodes.filter(
    ({ index, type }) => outStart[index] === outStart[index + 1] && type.role !== "given",
  )
  if (last.length === 1) return leftBy(graph, outputs, last[0]!.index)
  return Object.fromEntries(
    last
      .filter(({ index }) => outputs.outputOf(index) !== null)
      .map(({ id, index }) => [id, leftBy(graph, outputs, index)]),
  )
}

const isResponse = (node: GraphNode | undefined): boolean => node?.type.role === "response"

const responseValue = (input: JsonObject | null): Json =>
  input !== null && Object.hasOwn(input, defaultInput) ? input[defaultInput]! : null

const valueOf = (graph: Graph, outputs: Outputs, edge: number): Json =>
  outputs.outputOf(graph.edgeSource[edge]!)![graph.edgeOutput[edge]!]!

/** The edges that carry a value to a port, in the order of the workflow's edges. */
const liveEdgesTo = (
  graph: Graph,
  outputs: Outputs,
  index: number,
  port: string,
): ReadonlyArray<number> | undefined => {
  let live: Array<number> | undefined
  for (let at = graph.inStart[index]!; at < graph.inStart[index + 1]!; at++) {
    const edge = graph.inEdges[at]!
    if (graph.edgeInput[edge] !== port || !isLive(graph, outputs, edge)) continue
    if (live === undefined) live = [edge]
    else live.push(edge)
  }
  return live
}

const conflict = (
  graph: Graph,
  node: GraphNode,
  port: string,
  edges: ReadonlyArray<number>,
): string => {
  const [first, second] = edges.map((edge) => quoted(graph.edgeIds[edge]!))
  const others = edges.length === 2 ? "" : `, and ${edges.length - 2} more,`
  const where = `Input ${quoted(port)} of ${quoted(node.id)}`
  return `${where} takes one value, but edges ${first} and ${second}${others} each carry one`
}
