/**
 * Nodes that lie in others: by their `parentId`, as React Flow groups nodes. The place of such a
 * node counts from that of its parent.
 *
 * Guarantees: pure; what names no node, itself, or nodes that contain each other, lies in nothing.
 * Leaves out: which nodes are loops; see `LoopBodies.ts`.
 */
import type { DocumentNode, Place, WorkflowDocument } from "../Document.ts"
import { isSame, own } from "../Document.ts"

/** What is read of a node. */
export interface WithParent {
  readonly id: string
  readonly parentId?: unknown
}

/** The id of the node in which each node lies, by its own id. */
export type Parents = ReadonlyMap<string, string>

const namedBy = ({ parentId }: Omit<WithParent, "id">): string | undefined =>
  typeof parentId === "string" && parentId !== "" ? parentId : undefined

/** Reads which nodes lie in which. */
export const parentsOf = (nodes: ReadonlyArray<WithParent>): Parents => {
  const parents = new Map<string, string>()
  for (const node of nodes) {
    const parent = namedBy(node)
    if (parent !== undefined && parent !== node.id) parents.set(node.id, parent)
  }
  if (parents.size === 0) return parents
  const ids = new Set(nodes.map(({ id }) => id))
  for (const [id, parent] of parents) if (!ids.has(parent)) parents.delete(id)
  const seen = new Set<string>()
  for (const start of parents.keys()) {
    const path: Array<string> = []
    let at: string | undefined = start
    while (at !== undefined && !seen.has(at)) {
      seen.add(at)
      path.push(at)
      at = parents.get(at)
    }
    const from = at === undefined ? -1 : path.indexOf(at)
    if (from >= 0) for (const id of path.slice(from)) parents.delete(id)
  }
  return parents
}

/** The nodes around one, from the inside to the outside. */
export const allParents = (parents: Parents, id: string): ReadonlyArray<string> => {
  const all: Array<string> = []
  for (let at = parents.get(id); at !== undefined; at = parents.get(at)) all.push(at)
  return all
}

/** The nodes with these ids and all that lie in them. */
export const withContent = (
  nodes: ReadonlyArray<WithParent>,
  ids: Iterable<string>,
): ReadonlySet<string> => {
  const all = new Set(ids)
  const inside = Map.groupBy(parentsOf(nodes), ([, parent]) => parent)
  for (const id of all) for (const [inner] of inside.get(id) ?? []) all.add(inner)
  return all
}

type Placed = WithParent & { readonly position: Place }

/** Where nodes are on the canvas, by their ids. */
export const placesOn = (nodes: ReadonlyArray<Placed>): ((id: string) => Place) => {
  const parents = parentsOf(nodes)
  const byId = new Map(nodes.map((node) => [node.id, node]))
  return (id) => {
    const chain = [id, ...allParents(parents, id)].flatMap((each) => byId.get(each)?.position ?? [])
    return chain.reduce((sum, { x, y }) => ({ x: sum.x + x, y: sum.y + y }), { x: 0, y: 0 })
  }
}

/** A place on the canvas, counted from the node in which something lies. */
export const countedFrom = (
  parentId: string | undefined,
  { x, y }: Place,
  placeOf: (id: string) => Place,
): Place => {
  const from = parentId === undefined ? { x: 0, y: 0 } : placeOf(parentId)
  return { x: x - from.x, y: y - from.y }
}

/** Places on the canvas as nodes have them, of those that move. */
export const storedPlaces = (
  nodes: ReadonlyArray<Placed>,
  places: Readonly<Record<string, Place>>,
): Readonly<Record<string, Place>> => {
  const [parents, known] = [parentsOf(nodes), placesOn(nodes)]
  const placeOf = (id: string) => (own(places, id) as Place | undefined) ?? known(id)
  return Object.fromEntries(
    nodes.flatMap(({ id, position }) => {
      if (!Object.hasOwn(places, id)) return []
      const place = countedFrom(parents.get(id), places[id]!, placeOf)
      return isSame(place, { x: position.x, y: position.y }) ? [] : [[id, place]]
    }),
  )
}

/** The node in another one, or in none, at a place that counts from it. */
export const placedIn = (
  node: DocumentNode,
  parentId: string | undefined,
  { x, y }: Place,
): DocumentNode => {
  const { parentId: _, ...rest } = node
  const position = { x, y }
  return parentId === undefined ? { ...rest, position } : { ...node, parentId, position }
}

/**
 * The document without parents that are gone or contain each other since `before`: what lay in them
 * stays where it is on the canvas, in what is left around them.
 */
export const withoutLooseParents = (
  document: WorkflowDocument,
  before: Pick<WorkflowDocument, "nodes">,
): WorkflowDocument => {
  const { nodes } = document
  const named = nodes.filter((node) => namedBy(node) !== undefined)
  if (named.length === 0) return document
  const parents = parentsOf(nodes)
  const known = parentsOf(before.nodes)
  const old = new Map(before.nodes.map((node) => [node.id, node]))
  const ids = new Set(nodes.map(({ id }) => id))
  const placeOf = placesOn(before.nodes)
  const isLoose = (node: DocumentNode) =>
    namedBy(node) !== undefined &&
    !parents.has(node.id) &&
    (known.has(node.id) || namedBy(old.get(node.id) ?? {}) !== namedBy(node))
  const loose = new Set(named.filter(isLoose).map(({ id }) => id))
  if (loose.size === 0) return document
  const isLeft = (id: string) =>
    ids.has(id) && [id, ...allParents(parents, id)].every((each) => !loose.has(each))
  const freed = (node: DocumentNode): DocumentNode => {
    const gone = namedBy(node)!
    const left = allParents(known, gone).find(isLeft)
    const [from, to] = [placeOf(gone), left === undefined ? { x: 0, y: 0 } : placeOf(left)]
    const { x, y } = node.position
    return placedIn(node, left, { x: x + from.x - to.x, y: y + from.y - to.y })
  }
  return { ...document, nodes: nodes.map((node) => (loose.has(node.id) ? freed(node) : node)) }
}
