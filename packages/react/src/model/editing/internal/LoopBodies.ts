/**
 * Loops, the nodes in their bodies, and the edges that may cross their borders: into a body from
 * outside, never out of it; what a body sees of its loop only inside, its outputs only outside.
 *
 * Guarantees: pure; agrees with what a start makes of the drawing, to which `LoopBodies.test.ts`
 * compares it. A node in one that is no loop is where that one is. Leaves out: types of ports.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { WithParent } from "./Parents.ts"
import { allParents, parentsOf } from "./Parents.ts"
import { type TypedNode, typesOf } from "../../internal/NodeVersions.ts"

/** The loops of a drawing. */
export interface LoopBodies {
  readonly isLoop: (nodeId: string) => boolean
  /** The loops around a node, from the inside to the outside. */
  readonly loopsAround: (nodeId: string) => ReadonlyArray<string>
}

/** Reads the loops of a drawing; `isLoop` knows them by their ids. */
export const loopBodies = (
  nodes: ReadonlyArray<WithParent>,
  isLoop: (nodeId: string) => boolean,
): LoopBodies => {
  const parents = parentsOf(nodes)
  return { isLoop, loopsAround: (nodeId) => allParents(parents, nodeId).filter(isLoop) }
}

/** The same, of nodes whose types are known. */
export const loopBodiesOf = (
  nodes: ReadonlyArray<WithParent & TypedNode>,
  nodeTypes: ReadonlyArray<Pick<NodeTypeItem, "key" | "version" | "bodyPorts">>,
): LoopBodies => {
  const typeOfNode = typesOf(nodeTypes)
  const isLoop = (node: TypedNode) => typeOfNode(node)?.bodyPorts !== undefined
  const loops = new Set(nodes.filter(isLoop).map(({ id }) => id))
  return loopBodies(nodes, (nodeId) => loops.has(nodeId))
}

/** An edge, or one that somebody wants to draw. */
interface Ends {
  readonly source: string
  readonly target: string
}

/** Why an edge may not cross the border of a loop. */
export interface LoopEdgeRefusal {
  /**
   * `leaves`: it leads out of the body. `innerOnly`: its output is for the nodes in the loop.
   * `outerOnly`: its output is known only when the loop has ended.
   */
  readonly reason: "leaves" | "innerOnly" | "outerOnly"
  readonly loopId: string
  /** What can be used in its place. */
  readonly ports: ReadonlyArray<string>
}

/** The names of what a loop puts out, and of what its body sees. */
export interface LoopPorts {
  readonly outputs: ReadonlyArray<string>
  readonly body: ReadonlyArray<string>
}

/** Why an edge from an output may not be drawn; nothing if it may. */
export const loopEdgeRefusal = (
  { isLoop, loopsAround }: LoopBodies,
  portsOf: (loopId: string) => LoopPorts,
  { source, target }: Ends,
  output: string,
): LoopEdgeRefusal | undefined => {
  const [from, to] = [loopsAround(source)[0], loopsAround(target)]
  if (from !== undefined && !to.includes(from))
    return { reason: "leaves", loopId: from, ports: portsOf(from).outputs }
  if (!isLoop(source)) return undefined
  const { body, outputs } = portsOf(source)
  if (to.includes(source))
    return body.includes(output) ? undefined : { reason: "outerOnly", loopId: source, ports: body }
  return body.includes(output) && !outputs.includes(output)
    ? { reason: "innerOnly", loopId: source, ports: outputs }
    : undefined
}

/**
 * The nodes next to each other whose order an edge sets: an edge into a body makes its source come
 * before the loop. Nothing for an edge from a loop to a node in it, and one that leaves a body.
 */
export const orderOf = (
  { loopsAround }: LoopBodies,
  { source, target }: Ends,
): Ends | undefined => {
  const level = loopsAround(source)[0]
  const path = [target, ...loopsAround(target)]
  const at = level === undefined ? path.length : path.indexOf(level)
  const next = path[at - 1]
  return next === undefined || next === source ? undefined : { source, target: next }
}
