/**
 * A graph in which some nodes are drawn in the place of others: a loop stands for the nodes in it.
 *
 * Guarantees: pure; the same object where all nodes are drawn.
 */
interface Graph {
  readonly nodes: ReadonlyArray<{ readonly id: string }>
  readonly edges: ReadonlyArray<{
    readonly source: string
    readonly target: string
    readonly targetHandle?: string | null | undefined
  }>
}

/**
 * The same without the nodes for which another one stands. An edge to such a node leads to no
 * certain input of the other one, and an edge between two of one place is gone.
 */
export const drawnGraph = <G extends Graph>(
  graph: G,
  standInOf: (nodeId: string) => string | undefined,
): G => {
  const nodes = graph.nodes.filter(({ id }) => standInOf(id) === undefined)
  if (nodes.length === graph.nodes.length) return graph
  const edges = graph.edges.flatMap((edge) => {
    const source = standInOf(edge.source) ?? edge.source
    const target = standInOf(edge.target) ?? edge.target
    if (source === target) return []
    if (target === edge.target) return [source === edge.source ? edge : { ...edge, source }]
    const { targetHandle: _, ...rest } = edge
    return [{ ...rest, source, target }]
  })
  return { ...graph, nodes, edges }
}
