/**
 * What an editor edits: the content of a workflow, as plain data.
 *
 * Guarantees: pure, and what an editor or a host has added to nodes and edges is kept as it is.
 * Leaves out: changing it; see `Command.ts`.
 */
import type { Workflow } from "@millrace/api/PromiseClient"

/** A node of a workflow, with whatever an editor has added to it. */
export type DocumentNode = Workflow["nodes"][number]

/** A place on the canvas, in pixels. */
export interface Place {
  readonly x: number
  readonly y: number
}

/** An edge of a workflow, with whatever an editor has added to it. */
export type DocumentEdge = Workflow["edges"][number]

/** Any JSON value. */
export type DocumentValue = Exclude<DocumentNode["data"], undefined>

/** The content of a workflow. Never changed in place: every change makes another object. */
export interface WorkflowDocument {
  readonly name: string
  readonly description: string | null
  readonly settings: Workflow["settings"]
  readonly nodes: ReadonlyArray<DocumentNode>
  readonly edges: ReadonlyArray<DocumentEdge>
}

/** The content of a stored workflow. */
export const documentOf = (workflow: WorkflowDocument): WorkflowDocument => {
  const { description, edges, name, nodes, settings } = workflow
  return { name, description, settings, nodes, edges }
}

/** A JSON object. */
export type DocumentRecord = { readonly [key: string]: DocumentValue }

/** True for what is neither an array nor a single value. */
export const isRecord = (value: unknown): value is DocumentRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const noData: DocumentRecord = {}

/** The `data` of a node; empty where it has none. */
export const dataOf = ({ data }: Pick<DocumentNode, "data">): DocumentRecord =>
  isRecord(data) ? data : noData

/** The literals of a node by input port. */
export const inputsOf = (node: Pick<DocumentNode, "data">): DocumentRecord => {
  const { inputs } = dataOf(node)
  return isRecord(inputs) ? inputs : noData
}

/** The record with a key set, or without it for `undefined`; the same object if that is so. */
export const withKey = <A extends object>(record: A, key: string, value: unknown): A => {
  const known = Object.hasOwn(record, key) ? (record as Record<string, unknown>)[key] : undefined
  if (isSame(known, value)) return record
  const entries = Object.entries(record).filter(([name]) => name !== key)
  if (value === undefined) return Object.fromEntries(entries) as A
  if (!Object.hasOwn(record, key)) return Object.fromEntries([...entries, [key, value]]) as A
  return Object.fromEntries(
    Object.entries(record).map(([name, old]) => [name, name === key ? value : old]),
  ) as A
}

/**
 * The nodes that a frame stands around; `undefined` for a node that is no frame. A frame is a note,
 * so a server takes it as one, and its `data.frame` has the ids.
 */
export const framedBy = (node: {
  readonly type: string
  readonly data?: unknown
}): ReadonlyArray<string> | undefined => {
  const frame = isRecord(node.data) && node.type === "note" ? own(node.data, "frame") : undefined
  return Array.isArray(frame) ? frame.filter((id) => typeof id === "string") : undefined
}

/** True for equal JSON values. Keys may stand in any order, and `undefined` is an absent key. */
export const isSame = (left: unknown, right: unknown): boolean => {
  if (left === right) return true
  if (Array.isArray(left) && Array.isArray(right))
    return left.length === right.length && left.every((each, at) => isSame(each, right[at]))
  if (!isRecord(left) || !isRecord(right)) return false
  const names = new Set([...Object.keys(left), ...Object.keys(right)])
  return [...names].every((name) => isSame(own(left, name), own(right, name)))
}

/** The value of a key that the record itself has. */
export const own = (record: object, key: string): unknown =>
  Object.hasOwn(record, key) ? (record as Record<string, unknown>)[key] : undefined

/** The port at which an edge begins. */
export const sourcePortOf = ({ sourceHandle }: Pick<DocumentEdge, "sourceHandle">): string =>
  sourceHandle || "output"

/** The port at which an edge ends. */
export const targetPortOf = ({ targetHandle }: Pick<DocumentEdge, "targetHandle">): string =>
  targetHandle || "input"

/** The document without edges that begin or end at a node that it does not have. */
export const withoutLooseEdges = (document: WorkflowDocument): WorkflowDocument => {
  const ids = new Set(document.nodes.map(({ id }) => id))
  const edges = document.edges.filter(({ source, target }) => ids.has(source) && ids.has(target))
  return edges.length === document.edges.length ? document : { ...document, edges }
}
