/**
 * Which nodes are drawn within loops, and what edges mean that cross the border of a loop.
 *
 * Guarantees: linear in nodes and edges, for loops of bounded depth; no recursion; every problem at
 * once. A node within one that is no loop, such as a note, is where that one is. Leaves out: what a
 * body executes, which `Body` has.
 */
import { childDepth } from "../../domain/Limits.ts"
import { type NodeTypesByKey, typeOfNode } from "../../domain/NodeType.ts"
import { plain, quoted } from "../../domain/Quote.ts"
import type { Node } from "../../domain/Workflow.ts"
import { parentOf } from "../../domain/Workflow.ts"
import { cyclesOf } from "./Cycles.ts"
import { type Problem, problemOfNode } from "./Problem.ts"

/** The edges of a drawing as places of nodes; -1 for a node that is missing. */
interface Ends {
  readonly ids: ReadonlyArray<string>
  readonly sources: Int32Array
  readonly targets: Int32Array
}

/** Nodes within nodes. Loops and nodes are places in the drawing; -1 is outside of all loops. */
export interface Nesting {
  /** True if some node is in the body of a loop. */
  readonly hasBodies: boolean
  /** The innermost loop around each node. */
  readonly loopOf: Int32Array
  /** True if the node is in the body of the loop, or in that of a loop within it. */
  readonly isWithin: (node: number, loop: number) => boolean
  /**
   * Each edge as the nodes next to each other whose order it sets: an edge into a body makes its
   * source come before the loop. -1 for an edge that sets none, such as one from the loop itself.
   */
  readonly before: Int32Array
  readonly after: Int32Array
  /** 1 for an edge that starts at a loop and ends in its body: it carries what the body sees. */
  readonly isInner: Uint8Array
}

/** The node in which each node is drawn, and what is wrong with that. */
const parentsOf = (
  nodes: ReadonlyArray<Node>,
  indexOf: ReadonlyMap<string, number>,
  problems: Array<Problem>,
): Int32Array =>
  Int32Array.from(nodes, (node) => {
    const id = parentOf(node)
    if (id === undefined) return -1
    const index = indexOf.get(id)
    if (index !== undefined) return index
    const reason = `its parentId names node ${quoted(id)}, which does not exist`
    problems.push(problemOfNode(node.id, reason))
    return -1
  })

/** The innermost loop around each node: -1 without one, also where nodes contain each other. */
const loopsOf = (
  nodes: ReadonlyArray<Node>,
  parents: Int32Array,
  types: NodeTypesByKey,
  problems: Array<Problem>,
): Int32Array => {
  const own = Int32Array.from(parents.keys())
  for (const cycle of cyclesOf(nodes.length, own, parents)) {
    const ids = cycle.map((index) => quoted(nodes[index]!.id)).join(", ")
    const message = `Nodes contain each other by their parentId: ${ids}`
    problems.push({ message, nodeId: nodes[cycle[0]!]!.id })
    for (const index of cycle) parents[index] = -1
  }
  for (const [index, parent] of parents.entries()) {
    if (parent !== index) continue
    problems.push(problemOfNode(nodes[index]!.id, "its parentId names itself"))
    parents[index] = -1
  }
  const isLoop = nodes.map((node) => typeOfNode(types, node)?.body !== undefined)
  const known = new Int32Array(nodes.length).fill(-2)
  for (const start of nodes.keys()) {
    const path: Array<number> = []
    let at = start
    while (at >= 0 && known[at] === -2) {
      path.push(at)
      at = parents[at]!
      if (at >= 0 && isLoop[at] === true) break
    }
    // The last one of the path lies in a loop, in a node that is known, or nowhere.
    for (const index of path.toReversed()) {
      const parent = parents[index]!
      known[index] = parent < 0 ? -1 : isLoop[parent] === true ? parent : known[parent]!
    }
  }
  return known
}

const depthsOf = (
  nodes: ReadonlyArray<Node>,
  loopOf: Int32Array,
  problems: Array<Problem>,
): void => {
  for (const index of nodes.keys()) {
    let depth = 0
    for (let at = loopOf[index]!; at >= 0 && depth <= childDepth; at = loopOf[at]!) depth++
    if (depth !== childDepth + 1) continue
    const reason = `it lies in more than ${childDepth} loops, one in the other`
    problems.push(problemOfNode(nodes[index]!.id, reason))
  }
}

/** The node next to `place`, on its level, that contains `node` or is it; -1 for none. */
const nextTo = (loopOf: Int32Array, node: number, level: number): number => {
  let at = node
  while (at >= 0 && loopOf[at] !== level) at = loopOf[at]!
  return at
}

const problemOfLeaving = (
  nodes: ReadonlyArray<Node>,
  edgeId: string,
  loop: Node,
  source: number,
): Problem => ({
  message:
    `Edge ${quoted(edgeId)}: it leaves the body of loop ${quoted(loop.id)}; ` +
    `only the outputs of ${quoted(loop.id)} itself lead out of it`,
  edgeId,
  nodeId: nodes[source]!.id,
})

/** How a drawing without any body is nested. */
const flat = (nodes: ReadonlyArray<Node>, { ids, sources, targets }: Ends): Nesting => ({
  hasBodies: false,
  loopOf: new Int32Array(nodes.length).fill(-1),
  isWithin: () => false,
  before: sources,
  after: targets,
  isInner: new Uint8Array(ids.length),
})

/** Reads which nodes lie in loops, adding what is wrong with that to `problems`. */
export const nestingOf = (
  nodes: ReadonlyArray<Node>,
  indexOf: ReadonlyMap<string, number>,
  ends: Ends,
  types: NodeTypesByKey,
  problems: Array<Problem>,
): Nesting => {
  if (nodes.every((node) => parentOf(node) === undefined)) return flat(nodes, ends)
  const parents = parentsOf(nodes, indexOf, problems)
  const loopOf = loopsOf(nodes, parents, types, problems)
  if (loopOf.every((loop) => loop < 0)) return flat(nodes, ends)
  depthsOf(nodes, loopOf, problems)
  const isWithin = (node: number, loop: number): boolean => {
    let at = loopOf[node]!
    while (at >= 0 && at !== loop) at = loopOf[at]!
    return at === loop
  }
  const { ids, sources, targets } = ends
  const [before, after] = [sources.slice(), targets.slice()]
  const isInner = new Uint8Array(ids.length)
  for (const [edge, edgeId] of ids.entries()) {
    const [source, target] = [sources[edge]!, targets[edge]!]
    if (source < 0 || target < 0 || loopOf[source] === loopOf[target]) continue
    if (isWithin(target, source)) isInner[edge] = 1
    after[edge] = isInner[edge] === 1 ? -1 : nextTo(loopOf, target, loopOf[source]!)
    if (after[edge] >= 0) continue
    before[edge] = -1
    if (isInner[edge] === 1) continue
    const loop = nodes[loopOf[source]!]!
    problems.push(problemOfLeaving(nodes, edgeId, loop, source))
  }
  const nesting = { hasBodies: true, loopOf, isWithin, before, after, isInner }
  problems.push(...problemsOfOrder(nodes, ends, nesting))
  return nesting
}

/** Cycles that exist only because an edge into a body makes the whole loop wait. */
const problemsOfOrder = (
  nodes: ReadonlyArray<Node>,
  { sources, targets }: Ends,
  { after, before }: Nesting,
): ReadonlyArray<Problem> => {
  // A node that is joined to itself, and a cycle of edges, are told as such.
  const isSame = (edge: number) => sources[edge] === targets[edge]
  const [plainEnds, ends] = [targets, after].map((all) =>
    all.map((node, edge) => (isSame(edge) ? -1 : node)),
  )
  if (cyclesOf(nodes.length, sources, plainEnds!).length > 0) return []
  return cyclesOf(nodes.length, before, ends!).map((cycle) => {
    const ids = [...cycle, cycle[0]!].map((index) => plain(nodes[index]!.id))
    return {
      message: `The graph has a cycle, with the body of a loop in it: ${ids.join(" -> ")}`,
      nodeId: nodes[cycle[0]!]!.id,
    }
  })
}
