/**
 * Whether a node that could be decided is skipped, and the sentence that says why.
 *
 * Guarantees: the sentence is of bounded length however many edges a node has; it names at most
 * three causes. Leaves out: disabled nodes, which follow the same rules first and pass their input
 * on afterwards.
 */
import { listed, plain, quoted } from "../../domain/Quote.ts"
import type { NodeRunStatus } from "../../domain/Run.ts"
import { isLive, type Outputs } from "./Bindings.ts"
import type { Graph, GraphNode } from "../Graph.ts"
import type { NodePlan } from "./NodePlan.ts"

/** Causes, and outputs of one cause, that a reason names before it only counts. */
const shownCauses = 3

/** How far the nodes of a run have come. */
export interface NodeStatuses extends Outputs {
  readonly statusOf: (index: number) => NodeRunStatus
}

/**
 * Why a node is skipped, `undefined` when it is not. For a node whose in-edges are all live or
 * dead. It is skipped when
 *
 * - it is unused: no edges, and a required input without a value;
 * - it has in-edges and all of them are dead, overridden or not: nobody took a way to this node;
 * - its type joins all its edges and one of them is dead;
 * - all edges of a required input are dead and this run does not override that input; a literal
 *   does not stand in for an edge that was drawn.
 */
export const skipReasonOf = (
  graph: Graph,
  progress: NodeStatuses,
  index: number,
): string | undefined => {
  const node = graph.nodes[index]!
  if (node.isUnused) return unusedReason(node)
  if (isAllLive(graph, progress, index)) return undefined
  const edges = graph.inEdges.subarray(graph.inStart[index], graph.inStart[index + 1])
  const dead = edges.filter((edge) => !isLive(graph, progress, edge))
  const id = quoted(node.id)
  const because = (what: string, causes: Int32Array) =>
    `Skipped: ${what} (${causesOf(graph, progress, causes)})`
  if (dead.length === edges.length) return because(`no input of ${id} was taken`, dead)
  if (node.type.join === "all") return because(`${id} needs all of its inputs`, dead)
  const port = unmetInput(graph, node, edges, dead)
  if (port === undefined) return undefined
  const causes = dead.filter((edge) => graph.edgeInput[edge] === port)
  return because(`nothing arrived at the required input ${quoted(port)} of ${id}`, causes)
}

/** The usual case, told apart without making anything. */
const isAllLive = (graph: Graph, progress: NodeStatuses, index: number): boolean => {
  for (let at = graph.inStart[index]!; at < graph.inStart[index + 1]!; at++) {
    if (!isLive(graph, progress, graph.inEdges[at]!)) return false
  }
  return true
}

/** Why a node is unused, as a sentence: it has no edges and lacks a value, or it is a note. */
export const unusedReason = ({ node: { id }, ports, settings, type }: NodePlan): string => {
  if (type.role === "note") return `Skipped: ${quoted(id)} is a note`
  const missing = Array.from(ports.inputs.values()).filter(
    ({ name, required }) => required && !Object.hasOwn(settings.inputs, name),
  )
  const names = listed(missing.map(({ name }) => name))
  return `Skipped: ${quoted(id)} has no edges and no value for what it requires: ${names}`
}

/** The first required input all of whose edges are dead, without an override. */
const unmetInput = (
  graph: Graph,
  { overrides, ports }: GraphNode,
  edges: Int32Array,
  dead: Int32Array,
): string | undefined => {
  const lost = new Set(dead)
  const met = new Set<string>()
  for (const edge of edges) if (!lost.has(edge)) met.add(graph.edgeInput[edge]!)
  for (const edge of dead) {
    const name = graph.edgeInput[edge]!
    if (met.has(name) || Object.hasOwn(overrides, name)) continue
    if (ports.inputs.get(name)?.required === true) return name
  }
  return undefined
}

const causesOf = (graph: Graph, progress: NodeStatuses, dead: Int32Array): string => {
  const sources = Array.from(new Set(dead.map((edge) => graph.edgeSource[edge]!)))
  const causes = sources.slice(0, shownCauses).map((source) => causeOf(graph, progress, source))
  return counted(causes, sources.length, "; ")
}

const causeOf = (graph: Graph, progress: NodeStatuses, source: number): string => {
  const node = graph.nodes[source]!
  const id = plain(node.id)
  switch (progress.statusOf(source)) {
    case "COMPLETED": {
      const taken = Object.keys(progress.outputOf(source) ?? {})
      if (taken.length === 0) return `${id} took no output`
      return `${id} took ${counted(taken.slice(0, shownCauses).map(quoted), taken.length, ", ")}`
    }
    case "FAILED":
      return `${id} failed`
    case "CANCELED":
      return `${id} was canceled`
    default:
      return node.settings.disabled ? `${id} is disabled` : `${id} was skipped`
  }
}

const counted = (shown: ReadonlyArray<string>, total: number, separator: string): string => {
  const text = shown.join(separator)
  return total > shown.length ? `${text} and ${total - shown.length} more` : text
}
