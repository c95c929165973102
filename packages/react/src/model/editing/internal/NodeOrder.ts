/**
 * Nodes in the order of the graph: a node comes after all from which edges lead to it.
 *
 * Guarantees: linear in nodes and edges; among those that could come next, the one that was drawn
 * first comes first. Nodes of a cycle come last, as they were drawn.
 */
import type { DocumentNode, WorkflowDocument } from "../Document.ts"

/** The nodes in the order of the graph. */
export const nodesInOrder = ({
  edges,
  nodes,
}: Pick<WorkflowDocument, "nodes" | "edges">): ReadonlyArray<DocumentNode> => {
  const known = new Map(nodes.map((node) => [node.id, node]))
  const waits = new Map(nodes.map(({ id }) => [id, 0]))
  const drawn = edges.filter(({ source, target }) => known.has(source) && known.has(target))
  const next = Map.groupBy(drawn, ({ source }) => source)
  for (const { target } of drawn) waits.set(target, waits.get(target)! + 1)
  const order = nodes.filter(({ id }) => waits.get(id) === 0)
  for (const { id } of order) {
    for (const { target } of next.get(id) ?? []) {
      const left = waits.get(target)! - 1
      waits.set(target, left)
      if (left === 0) order.push(known.get(target)!)
    }
  }
  const done = new Set(order.map(({ id }) => id))
  return [...order, ...nodes.filter(({ id }) => !done.has(id))]
}
