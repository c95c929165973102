/**
 * Moving nodes into loops and out of them.
 *
 * Guarantees: pure. Where a node is on the canvas does not change by where it lies. Edges that
 * would cross the border of a loop, or let it wait for itself, go along with the move. What cannot
 * lie in a loop is refused, and then nothing moves. Leaves out: finding the loop under a pointer.
 */
import type { Command, ParentPlace } from "../Command.ts"
import type { PortsOfNode } from "../Connecting.ts"
import { loopPortsIn, loopsIn } from "../Connecting.ts"
import type { DocumentEdge, Place, WorkflowDocument } from "../Document.ts"
import { sourcePortOf } from "../Document.ts"
import { closesCycle } from "./Cycle.ts"
import type { LoopBodies } from "./LoopBodies.ts"
import { loopEdgeRefusal, orderOf } from "./LoopBodies.ts"
import { countedFrom, parentsOf, placedIn, placesOn, withContent } from "./Parents.ts"

/** Where a node goes: its place on the canvas, and the loop in which it is to lie. */
export interface LoopMove {
  readonly place: Place
  readonly loopId: string | undefined
}

/** Why nodes cannot lie in a loop. */
export interface MoveRefusal {
  /** `request`: a request node lies in no loop. `depth`: loops lie in so many others at most. */
  readonly reason: "request" | "depth"
  readonly nodeId: string
}

/** A command that moves nodes, and the edges that go along with it. */
export interface MovedNodes {
  readonly command: Command
  readonly removed: ReadonlyArray<DocumentEdge>
}

/** So many loops lie in each other at most. */
export const loopDepth = 10

const refusalOf = (
  { nodes }: WorkflowDocument,
  bodies: LoopBodies,
  moved: ReadonlySet<string>,
): MoveRefusal | undefined => {
  for (const { id, type } of nodes) {
    if (!moved.has(id)) continue
    const { length } = bodies.loopsAround(id)
    if (length > 0 && type === "request") return { reason: "request", nodeId: id }
    if (length > loopDepth) return { reason: "depth", nodeId: id }
  }
  return undefined
}

/** The edges of moved nodes that are none any more. */
const brokenBy = (
  document: WorkflowDocument,
  bodies: LoopBodies,
  portsOf: PortsOfNode,
  moved: ReadonlySet<string>,
): ReadonlyArray<DocumentEdge> => {
  const isMoved = ({ source, target }: DocumentEdge) => moved.has(source) || moved.has(target)
  const kept = document.edges.filter((edge) => !isMoved(edge))
  const orders = kept.flatMap((edge) => orderOf(bodies, edge) ?? [])
  const ports = loopPortsIn(portsOf)
  return document.edges.filter(isMoved).filter((edge) => {
    if (loopEdgeRefusal(bodies, ports, edge, sourcePortOf(edge)) !== undefined) return true
    const order = orderOf(bodies, edge)
    if (order === undefined) return false
    if (closesCycle(orders, order)) return true
    orders.push(order)
    return false
  })
}

/** What moves nodes to places on the canvas, and into loops or out of them. */
export const moveNodes = (
  document: WorkflowDocument,
  portsOf: PortsOfNode,
  moves: ReadonlyMap<string, LoopMove>,
): MovedNodes | MoveRefusal => {
  const placeOf = placesOn(document.nodes)
  const parents = parentsOf(document.nodes)
  const before = loopsIn(document, portsOf)
  const nodes = new Map<string, ParentPlace>()
  for (const [id, { loopId, place }] of moves) {
    const isSame = before.loopsAround(id)[0] === loopId
    const parentId = isSame ? parents.get(id) : loopId
    const position = countedFrom(parentId, place, (each) => moves.get(each)?.place ?? placeOf(each))
    nodes.set(id, { parentId, position })
  }
  const next: WorkflowDocument = {
    ...document,
    nodes: document.nodes.map((node) => {
      const to = nodes.get(node.id)
      return to === undefined ? node : placedIn(node, to.parentId, to.position)
    }),
  }
  const crossed = [...moves].filter(([id, { loopId }]) => before.loopsAround(id)[0] !== loopId)
  const moved = withContent(
    next.nodes,
    crossed.map(([id]) => id),
  )
  const bodies = loopsIn(next, portsOf)
  const refusal = refusalOf(next, bodies, moved)
  if (refusal !== undefined) return refusal
  const removed = brokenBy(next, bodies, portsOf, moved)
  const edgeIds = removed.map(({ id }) => id)
  return { command: { type: "nest", nodes: Object.fromEntries(nodes), edgeIds }, removed }
}
