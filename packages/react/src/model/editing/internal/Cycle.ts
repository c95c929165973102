/**
 * Ways along edges. A workflow has no cycles.
 *
 * Guarantees: pure, linear in the edges.
 */
import type { DocumentEdge } from "../Document.ts"

/** The ends of an edge. */
export type Ends = Pick<DocumentEdge, "source" | "target">

/** The edges of one way from a node to another; `undefined` if none leads there. */
export const wayBetween = <E extends Ends>(
  edges: ReadonlyArray<E>,
  from: string,
  to: string,
): ReadonlyArray<E> | undefined => {
  if (from === to) return []
  const out = Map.groupBy(edges, ({ source }) => source)
  const cameBy = new Map<string, E>()
  const open = [from]
  for (const id of open) {
    for (const edge of out.get(id) ?? []) {
      if (edge.target === from || cameBy.has(edge.target)) continue
      cameBy.set(edge.target, edge)
      if (edge.target === to) return traced(cameBy, from, to)
      open.push(edge.target)
    }
  }
  return undefined
}

const traced = <E extends Ends>(
  cameBy: ReadonlyMap<string, E>,
  from: string,
  to: string,
): ReadonlyArray<E> => {
  const way: Array<E> = []
  for (let id = to; id !== from; id = way.at(-1)!.source) way.push(cameBy.get(id)!)
  return way.toReversed()
}

/** True if one more edge would make a cycle, or joins a node to itself. */
export const closesCycle = (edges: ReadonlyArray<Ends>, edge: Ends): boolean =>
  wayBetween(edges, edge.target, edge.source) !== undefined
