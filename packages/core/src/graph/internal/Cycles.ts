/**
 * Cycles of a directed graph.
 *
 * Guarantees: exactly one cycle for every strongly connected component of more than one node, the
 * shortest through the component's first node; O(nodes + edges), without recursion. Leaves out:
 * edges from a node to itself, which the caller must not hand in.
 */
import { type Adjacency, groupBy } from "./Adjacency.ts"

/**
 * One cycle per tangle, as node numbers in the order of the edges, each starting with its lowest
 * node; tangles in the order of those. An edge with a negative end is left out.
 */
export const cyclesOf = (
  nodeCount: number,
  sources: Int32Array,
  targets: Int32Array,
): ReadonlyArray<ReadonlyArray<number>> => {
  const out = groupBy(nodeCount, sources)
  const component = componentsOf(nodeCount, out, targets)
  const size = new Int32Array(nodeCount)
  for (const each of component) size[each]!++
  const parent = new Int32Array(nodeCount).fill(-1)
  const cycles: Array<ReadonlyArray<number>> = []
  for (let node = 0; node < nodeCount; node++) {
    if (size[component[node]!]! < 2) continue
    size[component[node]!] = 0
    cycles.push(cycleThrough(node, component, out, targets, parent))
  }
  return cycles
}

/** Breadth first from `start` within its component until an edge leads back to it. */
const cycleThrough = (
  start: number,
  component: Int32Array,
  out: Adjacency,
  targets: Int32Array,
  parent: Int32Array,
): ReadonlyArray<number> => {
  const queue = [start]
  for (const node of queue) {
    for (let at = out.start[node]!; at < out.start[node + 1]!; at++) {
      const target = targets[out.edges[at]!]!
      if (target === start) return pathTo(node, parent)
      if (target < 0 || component[target] !== component[start] || parent[target] !== -1) continue
      parent[target] = node
      queue.push(target)
    }
  }
  throw new Error("A component of several nodes has a cycle through each of them")
}

const pathTo = (last: number, parent: Int32Array): ReadonlyArray<number> => {
  const path = [last]
  for (let node = parent[last]!; node !== -1; node = parent[node]!) path.push(node)
  return path.toReversed()
}

/**
 * Tarjan's strongly connected components: a number per node, the same for nodes that reach each
 * other. `order` counts nodes as they are entered; `low` is the lowest order that a node is known
 * to reach among the open ones, 0 for a node not entered yet and `closed` for one that is done.
 */
const componentsOf = (nodeCount: number, out: Adjacency, targets: Int32Array): Int32Array => {
  const closed = nodeCount + 1
  const component = new Int32Array(nodeCount)
  const order = new Int32Array(nodeCount)
  const low = new Int32Array(nodeCount)
  const cursor = out.start.slice(0, nodeCount)
  const open: Array<number> = []
  const path: Array<number> = []
  let seen = 0
  let components = 0
  const enter = (node: number) => {
    order[node] = low[node] = ++seen
    open.push(node)
    path.push(node)
  }
  const leave = (node: number) => {
    path.pop()
    const parent = path.at(-1)
    if (parent !== undefined) low[parent] = Math.min(low[parent]!, low[node]!)
    if (low[node] !== order[node]) return
    for (let member = -1; member !== node;) {
      member = open.pop()!
      low[member] = closed
      component[member] = components
    }
    components++
  }
  for (let root = 0; root < nodeCount; root++) {
    if (low[root] === 0) enter(root)
    while (path.length > 0) {
      const node = path.at(-1)!
      if (cursor[node] === out.start[node + 1]) {
        leave(node)
        continue
      }
      const target = targets[out.edges[cursor[node]!++]!]!
      if (target < 0) continue
      if (low[target] === 0) enter(target)
      else low[node] = Math.min(low[node]!, low[target]!)
    }
  }
  return component
}
