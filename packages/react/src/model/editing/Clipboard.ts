/**
 * Nodes and edges as text, for the clipboard, for another window, and for duplicates.
 *
 * Guarantees: the text is JSON, and no other text is read: never HTML. It has what the drawing has,
 * and nothing of runs. What is read gets ids of its own; text that is wrong, foreign or too large
 * is a problem, and nothing else happens. Pure. Leaves out: reading the clipboard.
 */
import type { DocumentEdge, DocumentNode, Place, WorkflowDocument } from "./Document.ts"
import { isRecord } from "./Document.ts"
import type { DocumentProblem } from "./DocumentCheck.ts"
import { isElementId, problemOfGraph } from "./DocumentCheck.ts"
import { freeId, freeName, renamedEdge, renamedNode } from "./ElementId.ts"
import { allParents, parentsOf, placedIn, placesOn, withContent } from "./internal/Parents.ts"

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

/** The selected nodes, what lies in them, and the edges between all of these. */
export const fragmentOf = (
  document: WorkflowDocument,
  selection: Pick<Selection, "nodeIds">,
): Fragment => {
  const nodeIds = withContent(document.nodes, selection.nodeIds)
  return {
    nodes: document.nodes.filter(({ id }) => nodeIds.has(id)).map(lasting),
    edges: document.edges
      .filter(({ source, target }) => nodeIds.has(source) && nodeIds.has(target))
      .map(lasting),
  }
}

/** The nodes that lie in none of the others. */
const outermost = (nodes: ReadonlyArray<DocumentNode>): ReadonlySet<string> => {
  const parents = parentsOf(nodes)
  return new Set(nodes.flatMap(({ id }) => (parents.has(id) ? [] : [id])))
}

/** Each of the outermost nodes at its place on the canvas, in this node or in none. */
const placed = (
  { edges, nodes }: Fragment,
  place: (node: DocumentNode) => Place,
  parentId?: string,
): Fragment => {
  const outer = outermost(nodes)
  const to = (node: DocumentNode) =>
    outer.has(node.id) ? placedIn(node, parentId, place(node)) : node
  return { edges, nodes: nodes.map(to) }
}

/** The selected nodes and the edges between them as JSON. A loop around all of them is left out. */
export const clipboardText = (
  document: WorkflowDocument,
  selection: Pick<Selection, "nodeIds">,
): string => {
  const placeOf = placesOn(document.nodes)
  const fragment = placed(fragmentOf(document, selection), ({ id }) => placeOf(id))
  return JSON.stringify({ millrace: "nodes", ...fragment }, null, 2)
}

const leftTop = (nodes: ReadonlyArray<DocumentNode>): Place => ({
  x: nodes.reduce((least, { position }) => Math.min(least, position.x), Number.POSITIVE_INFINITY),
  y: nodes.reduce((least, { position }) => Math.min(least, position.y), Number.POSITIVE_INFINITY),
})

/**
 * The same nodes and edges with ids of their own, the left upper corner of those that lie in no
 * other one at a place.
 */
export const copied = (
  { edges, nodes }: Fragment,
  document: Pick<WorkflowDocument, "nodes" | "edges">,
  at?: Place,
): Fragment => {
  const outer = outermost(nodes)
  const corner = leftTop(nodes.filter(({ id }) => outer.has(id)))
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
      const [right, down] = outer.has(node.id) ? [x, y] : [0, 0]
      const moved = { x: position.x + right, y: position.y + down }
      return { ...renamedNode(node, ids), position: moved }
    }),
    edges: edges.map((edge) => {
      const id = freeName(edge.id, known)
      known.add(id)
      return { ...renamedEdge(edge, ids), id }
    }),
  }
}

/**
 * Selected nodes, what lies in them, and the edges between them once more, a little aside and in
 * the same loops.
 */
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
 * their left upper corner goes; without it they stand a little aside from where they were. `into`
 * is the loop in which they are to lie, unless it is one of those that were copied: then what is
 * around it; they keep their places on the canvas.
 */
export const pasted = (
  text: string,
  document: WorkflowDocument,
  at?: Place,
  into?: string,
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
  const known = new Set((nodes as ReadonlyArray<DocumentNode>).map(({ id }) => id))
  // A request node lies in no loop.
  const isFree = into === undefined || nodes.some(({ type }: DocumentNode) => type === "request")
  const chain = isFree ? [] : [into, ...allParents(parentsOf(document.nodes), into)]
  const parent = chain.slice(chain.findLastIndex((id) => known.has(id)) + 1)[0]
  const from = parent === undefined ? { x: 0, y: 0 } : placesOn(document.nodes)(parent)
  const fragment = {
    nodes: (nodes as ReadonlyArray<DocumentNode>).map(lasting),
    edges: (edges as ReadonlyArray<DocumentEdge>).map(lasting),
  }
  const inPlace = ({ position }: DocumentNode) => ({
    x: position.x - from.x,
    y: position.y - from.y,
  })
  return copied(placed(fragment, inPlace, parent), document, at)
}
