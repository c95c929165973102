/**
 * What saving a workflow rejects: content that no later edit of a single node could make sense of.
 *
 * Guarantees: every problem at once, O(nodes + edges), for any content that has the shape of nodes
 * and edges, however wrong. Leaves out: node types, ports and values; a draft may be incomplete,
 * and only a start is strict about it (see `Graph.compile`).
 */
import type { Limits } from "../../domain/Limits.ts"
import { plain, quoted } from "../../domain/Quote.ts"
import type { CalledWorkflows } from "../../domain/Run.ts"
import type { WorkflowSettings } from "../../domain/Workflow.ts"
import { addedTo, Edge, Node } from "../../domain/Workflow.ts"
import { cyclesOf } from "./Cycles.ts"
import { hasIdShape, isReserved } from "../GraphId.ts"
import type { Problem } from "./Problem.ts"

/** The nodes and edges of a workflow. */
export interface Drawing {
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
  /** What a start has frozen beside them. */
  readonly settings?:
    | (WorkflowSettings & { readonly workflows?: CalledWorkflows | undefined })
    | undefined
}

/**
 * Everything that saving rejects: what {@link problemsOfDrawing} finds, and more than the limits
 * allow, of nodes, of edges, and of what an editor has added to one of them.
 */
export const problemsOfDraft = (content: Drawing, limits: Limits): ReadonlyArray<Problem> => [
  ...problemsOfSize(content, limits),
  ...problemsOfDrawing(content),
]

/** More than the limits allow. */
export const problemsOfSize = (
  { edges, nodes }: Drawing,
  limits: Limits,
): ReadonlyArray<Problem> => [
  ...problemsOfCount("nodes", nodes.length, limits.nodesPerWorkflow),
  ...problemsOfCount("edges", edges.length, limits.edgesPerWorkflow),
  ...nodes.flatMap((node) => problemsOfAdded(node, Node.fields, { nodeId: node.id }, limits)),
  ...edges.flatMap((edge) => problemsOfAdded(edge, Edge.fields, { edgeId: edge.id }, limits)),
]

/** What an editor has added to a node or an edge is opaque, but not without bounds. */
const problemsOfAdded = (
  drawn: Node | Edge,
  known: object,
  place: Omit<Problem, "message">,
  { addedLength }: Limits,
): ReadonlyArray<Problem> => {
  const added = addedTo(drawn, known)
  const length = added === undefined ? 0 : JSON.stringify(added).length
  if (length <= addedLength) return []
  const name = `${"nodeId" in place ? "Node" : "Edge"} ${quoted(drawn.id)}`
  const message =
    `${name}: the fields that an editor has added have ${length} characters; ` +
    `the limit is ${addedLength}`
  return [{ ...place, message }]
}

/**
 * Everything that is wrong with nodes and edges whatever their types are: ids that are malformed or
 * given twice, edges to missing nodes or from a node to itself, and cycles (one for each tangle of
 * nodes, with its node ids in order).
 */
export const problemsOfDrawing = ({ edges, nodes }: Drawing): ReadonlyArray<Problem> => {
  const indexOf = indexById(nodes)
  return [
    ...nodes.flatMap(({ id }) => problemsOfId("Node", id, { nodeId: id })),
    ...edges.flatMap(({ id }) => problemsOfId("Edge", id, { edgeId: id })),
    ...duplicatesOf(nodes).map(([id, times]) => ({
      message: `The id ${quoted(id)} belongs to ${times} nodes`,
      nodeId: id,
    })),
    ...duplicatesOf(edges).map(([id, times]) => ({
      message: `The id ${quoted(id)} belongs to ${times} edges`,
      edgeId: id,
    })),
    ...edges.flatMap((edge) => problemsOfEnds(edge, indexOf)),
    ...problemsOfCycles(nodes, edges, indexOf),
  ]
}

/** The place of each id; of several nodes with one id, the last. */
export const indexById = (nodes: ReadonlyArray<Node>): ReadonlyMap<string, number> =>
  new Map(nodes.map(({ id }, index) => [id, index]))

const problemsOfCount = (what: string, count: number, limit: number): ReadonlyArray<Problem> =>
  count <= limit
    ? []
    : [{ message: `The workflow has ${count} ${what}; at most ${limit} are allowed` }]

const problemsOfId = (
  what: string,
  id: string,
  where: Pick<Problem, "nodeId" | "edgeId">,
): ReadonlyArray<Problem> => {
  const name = `${what} ${quoted(id)}`
  if (isReserved(id)) return [{ message: `${name}: this id is reserved`, ...where }]
  if (hasIdShape(id)) return []
  const rule = "an id is 1 to 128 letters, digits or characters of _ . : -"
  return [{ message: `${name}: ${rule}`, ...where }]
}

/** Ids that occur more than once, with how often, in the order of their first occurrence. */
const duplicatesOf = (
  items: ReadonlyArray<{ readonly id: string }>,
): ReadonlyArray<readonly [string, number]> => {
  const times = new Map<string, number>()
  for (const { id } of items) times.set(id, (times.get(id) ?? 0) + 1)
  return Array.from(times).filter(([, count]) => count > 1)
}

const problemsOfEnds = (
  edge: Edge,
  indexOf: ReadonlyMap<string, number>,
): ReadonlyArray<Problem> => {
  const name = `Edge ${quoted(edge.id)}`
  const problems: Array<Problem> = []
  const missing = (verb: string, nodeId: string) => {
    const message = `${name} ${verb} node ${quoted(nodeId)}, which does not exist`
    problems.push({ message, edgeId: edge.id, nodeId })
  }
  if (!indexOf.has(edge.source)) missing("starts at", edge.source)
  if (!indexOf.has(edge.target)) missing("ends at", edge.target)
  if (edge.source === edge.target) {
    const message = `${name} joins node ${quoted(edge.source)} to itself`
    problems.push({ message, edgeId: edge.id, nodeId: edge.source })
  }
  return problems
}

const problemsOfCycles = (
  nodes: ReadonlyArray<Node>,
  edges: ReadonlyArray<Edge>,
  indexOf: ReadonlyMap<string, number>,
): ReadonlyArray<Problem> => {
  const place = (id: string, edge: Edge) =>
    edge.source === edge.target ? -1 : (indexOf.get(id) ?? -1)
  const sources = Int32Array.from(edges, (edge) => place(edge.source, edge))
  const targets = Int32Array.from(edges, (edge) => place(edge.target, edge))
  return cyclesOf(nodes.length, sources, targets).map((cycle) => {
    const ids = [...cycle, cycle[0]!].map((index) => plain(nodes[index]!.id))
    return {
      message: `The graph has a cycle: ${ids.join(" -> ")}`,
      nodeId: nodes[cycle[0]!]!.id,
    }
  })
}
