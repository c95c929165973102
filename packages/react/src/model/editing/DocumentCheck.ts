/**
 * Whether something is a document that a server can store.
 *
 * Guarantees: pure, linear. Leaves out: limits of a server, and whatever only a start judges, such
 * as a missing input.
 */
import type { WorkflowDocument } from "./Document.ts"
import { isRecord } from "./Document.ts"

/** Why a value is no document. `id` names the node or the edge. */
export type DocumentProblem =
  | { readonly reason: "notADocument" }
  | { readonly reason: "node" | "edge"; readonly at: number }
  | { readonly reason: "id" | "twice" | "looseEdge" | "cycle"; readonly id: string }

const idShape = /^[A-Za-z0-9_.:-]{1,128}$/
const reserved: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"])

/** True for an id that a node or an edge may have. */
export const isElementId = (id: string): boolean => idShape.test(id) && !reserved.has(id)

const isNode = (value: unknown): boolean =>
  isRecord(value) &&
  typeof value["id"] === "string" &&
  typeof value["type"] === "string" &&
  isRecord(value["position"]) &&
  Number.isFinite(value["position"]["x"]) &&
  Number.isFinite(value["position"]["y"])

const isText = (value: unknown): boolean => typeof value === "string"

const isHandle = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === "string"

const isEdge = (value: unknown): boolean =>
  isRecord(value) &&
  [value["id"], value["source"], value["target"]].every(isText) &&
  [value["sourceHandle"], value["targetHandle"]].every(isHandle)

const problemOfIds = (ids: ReadonlyArray<string>): DocumentProblem | undefined => {
  const known = new Set<string>()
  for (const id of ids) {
    if (!isElementId(id)) return { reason: "id", id }
    if (known.has(id)) return { reason: "twice", id }
    known.add(id)
  }
  return undefined
}

/** The nodes that are left when all without an edge to them are taken away, again and again. */
const nodesInCycles = ({
  edges,
  nodes,
}: Pick<WorkflowDocument, "nodes" | "edges">): ReadonlyArray<string> => {
  const waits = new Map(nodes.map(({ id }) => [id, 0]))
  for (const { target } of edges) waits.set(target, waits.get(target)! + 1)
  const out = Map.groupBy(edges, ({ source }) => source)
  const open = nodes.map(({ id }) => id).filter((id) => waits.get(id) === 0)
  for (const id of open) {
    waits.delete(id)
    for (const { target } of out.get(id) ?? []) {
      const left = waits.get(target)! - 1
      waits.set(target, left)
      if (left === 0) open.push(target)
    }
  }
  return [...waits.keys()]
}

/** True if edges run in a circle. Every edge has its nodes. */
export const hasCycle = (graph: Pick<WorkflowDocument, "nodes" | "edges">): boolean =>
  nodesInCycles(graph).length > 0

/** What is wrong with nodes and edges; `undefined` if they can be stored. */
export const problemOfGraph = (
  nodes: ReadonlyArray<unknown>,
  edges: ReadonlyArray<unknown>,
): DocumentProblem | undefined => {
  const badNode = nodes.findIndex((node) => !isNode(node))
  if (badNode >= 0) return { reason: "node", at: badNode }
  const badEdge = edges.findIndex((edge) => !isEdge(edge))
  if (badEdge >= 0) return { reason: "edge", at: badEdge }
  const graph = { nodes, edges } as Pick<WorkflowDocument, "nodes" | "edges">
  const ids = graph.nodes.map(({ id }) => id)
  const known = new Set(ids)
  const loose = graph.edges.find(({ source, target }) => !known.has(source) || !known.has(target))
  const wrongIds = problemOfIds(ids) ?? problemOfIds(graph.edges.map(({ id }) => id))
  if (wrongIds !== undefined) return wrongIds
  if (loose !== undefined) return { reason: "looseEdge", id: loose.id }
  const [inCycle] = nodesInCycles(graph)
  return inCycle === undefined ? undefined : { reason: "cycle", id: inCycle }
}

/** True for what can be edited, whether a server would store it or not. */
export const isEditable = (value: unknown): value is WorkflowDocument => {
  if (!isRecord(value)) return false
  const { description, edges, name, nodes, settings } = value
  return (
    typeof name === "string" &&
    (description === null || typeof description === "string") &&
    isRecord(settings) &&
    Array.isArray(nodes) &&
    nodes.every(isNode) &&
    Array.isArray(edges) &&
    edges.every(isEdge)
  )
}

/** What is wrong with a document; `undefined` if it can be stored. */
export const problemOfDocument = (value: unknown): DocumentProblem | undefined => {
  if (!isRecord(value)) return { reason: "notADocument" }
  const { edges, nodes } = value
  if (!Array.isArray(nodes) || !Array.isArray(edges)) return { reason: "notADocument" }
  return (
    problemOfGraph(nodes, edges) ?? (isEditable(value) ? undefined : { reason: "notADocument" })
  )
}

/** True for a document that a server can store. */
export const isDocument = (value: unknown): value is WorkflowDocument =>
  problemOfDocument(value) === undefined
