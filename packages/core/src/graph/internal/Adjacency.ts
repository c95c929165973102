/**
 * Which edges touch which node, in two flat arrays.
 *
 * Guarantees: O(nodes + edges), and the edges of one node keep their order. Leaves out: what an
 * edge or a node is; both are numbers here.
 */

/** The edges of node `n` are `edges[start[n]]` up to, not including, `edges[start[n + 1]]`. */
export interface Adjacency {
  readonly start: Int32Array
  readonly edges: Int32Array
}

/** Groups edges by the node at one of their ends. An edge with a negative end is left out. */
export const groupBy = (nodeCount: number, ends: Int32Array): Adjacency => {
  const start = new Int32Array(nodeCount + 1)
  for (const end of ends) if (end >= 0) start[end + 1]!++
  for (let node = 0; node < nodeCount; node++) start[node + 1]! += start[node]!
  const next = start.slice(0, nodeCount)
  const edges = new Int32Array(start[nodeCount]!)
  for (const [edge, end] of ends.entries()) if (end >= 0) edges[next[end]!++] = edge
  return { start, edges }
}
