/**
 * Nodes and edges as text, for the clipboard, for another window, and for duplicates.
 *
 * Guarantees: the text is JSON, and no other text is read: never HTML. It has what the drawing has,
 * and nothing of runs. What is read gets ids of its own; text that is wrong, foreign or too large
 * is a problem, and nothing else happens. Pure. Leaves out: reading the clipboard.
 */
import type { Place } from "./Command.ts"
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "./Document.ts"
import { isRecord } from "./Document.ts"
import type { DocumentProblem } from "./DocumentCheck.ts"
import { isElementId, problemOfGraph } from "./DocumentCheck.ts"
import { freeId, freeName, renamedEdge, renamedNode } from "./ElementId.ts"

/** Nodes and edges of a document. */
export interface Fragment {
  readonly nodes: ReadonlyArray<DocumentNode>
  readonly edges: ReadonlyArray<DocumentEdge>
}

/** What is selected. */
export interface Selection {
  readonly nodeIds: ReadonlySet<string>
  readonly edgeIds: ReadonlySet<string>
}

/** Why a text cannot be pasted. */
export type PasteProblem =
  | { readonly reason: "empty" | "notJson" | "foreign" }
  | { readonly reason: "tooLarge"; readonly characters: number; readonly limit: number }
  | DocumentProblem

/** Characters of a text that is read. */
export const pasteLength = 1_000_000

/** How far a copy stands from what it is a copy of, in pixels. */
const shift = 40

/** What a canvas remembers of a drawing, and no document. */
const fleeting: ReadonlySet<string> = new Set(["selected", "dragging", "measured", "internals"])

const lasting = <A extends object>(element: A): A =>
  Object.fromEntries(Object.entries(element).filter(([name]) => !fleeting.has(name))) as A

/** The selected nodes, the edges between them, and selected edges between those. */
export const fragmentOf = (
  document: WorkflowDocument,
  { nodeIds }: Pick<Selection, "nodeIds">,
): Fragment => ({
  nodes: document.nodes.filter(({ id }) => nodeIds.has(id)).map(lasting),
  edges: document.edges
    .filter(({ source, target }) => nodeIds.has(source) && nodeIds.has(target))
    .map(lasting),
})

/** The selected nodes and the edges between them as JSON. */
export const clipboardText = (
  document: WorkflowDocument,
  selection: Pick<Selection, "nodeIds">,
): string => JSON.stringify({ millrace: "nodes", ...fragmentOf(document, selection) }, null, 2)

const leftTop = (nodes: ReadonlyArray<DocumentNode>): Place => ({
  x: nodes.reduce((least, { position }) => Math.min(least, position.x), Number.POSITIVE_INFINITY),
  y: nodes.reduce((least, { position }) => Math.min(least, position.y), Number.POSITIVE_INFINITY),
})

/** The same nodes and edges with ids of their own, their left upper corner at a place. */
export const copied = (
  { edges, nodes }: Fragment,
  document: Pick<WorkflowDocument, "nodes" | "edges">,
  at?: Place,
): Fragment => {
  const corner = leftTop(nodes)
  const [x, y] = at === undefined ? [shift, shift] : [at.x - corner.x, at.y - corner.y]
  const taken = new Set(document.nodes.map(({ id }) => id))
  const ids = new Map<string, string>()
  for (const { id, type } of nodes) {
    const fresh = isElementId(id) ? freeName(id, taken) : freeId(document, type)
    taken.add(fresh)
    ids.set(id, fresh)
  }
  const known = new Set(document.edges.map(({ id }) => id))
  return {
    nodes: nodes.map((node) => {
      const { position } = node
      return { ...renamedNode(node, ids), position: { x: position.x + x, y: position.y + y } }
    }),
    edges: edges.map((edge) => {
      const id = freeName(edge.id, known)
      known.add(id)
      return { ...renamedEdge(edge, ids), id }
    }),
  }
}

/** Selected nodes and the edges between them once more, a little aside. */
export const duplicated = (
  document: WorkflowDocument,
  selection: Pick<Selection, "nodeIds">,
): Fragment => copied(fragmentOf(document, selection), document)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/**
 * What a text brings into a document: copied nodes, or the nodes of a whole workflow. `at` is where
 * their left upper corner goes; without it they stand a little aside from where they were.
 */
export const pasted = (
  text: string,
  document: WorkflowDocument,
  at?: Place,
): Fragment | { readonly problem: PasteProblem } => {
  const { length } = text
  if (length > pasteLength)
    return { problem: { reason: "tooLarge", characters: length, limit: pasteLength } }
  if (text.trim() === "") return { problem: { reason: "empty" } }
  const value = parsed(text)
  if (value === undefined) return { problem: { reason: "notJson" } }
  if (!isRecord(value)) return { problem: { reason: "foreign" } }
  const { edges, nodes } = value
  if (!Array.isArray(nodes) || !Array.isArray(edges)) return { problem: { reason: "foreign" } }
  if (nodes.length === 0) return { problem: { reason: "empty" } }
  const problem = problemOfGraph(nodes, edges)
  if (problem !== undefined) return { problem }
  const fragment = {
    nodes: (nodes as ReadonlyArray<DocumentNode>).map(lasting),
    edges: (edges as ReadonlyArray<DocumentEdge>).map(lasting),
  }
  return copied(fragment, document, at)
}
