/**
 * Which ports can be joined.
 *
 * Guarantees: refuses what a save or a start would refuse, as far as a drawing tells, and nothing
 * else: what a port does not say fits. Pure. Leaves out: values that nobody knows before a run.
 */
import type { NodeTypeItem, RunDefinition, WorkflowValidation } from "@millrace/api/PromiseClient"
import { wayBetween } from "./internal/Cycle.ts"
import type { LoopEdgeRefusal, LoopBodies, LoopPorts } from "./internal/LoopBodies.ts"
import { loopEdgeRefusal, loopBodies, orderOf } from "./internal/LoopBodies.ts"
import type { DocumentEdge, WorkflowDocument } from "./Document.ts"
import { dataOf, sourcePortOf, targetPortOf } from "./Document.ts"
import { typesOf } from "../internal/NodeVersions.ts"
import { typesOfSchema } from "./internal/SchemaTypes.ts"

/** The ports of a node. */
export type PortLists = Pick<RunDefinition["ports"][number], "inputPorts" | "outputPorts"> &
  Pick<NodeTypeItem, "bodyPorts">

/** The ports of a node by its id; `undefined` if nobody knows them. */
export type PortsOfNode = (nodeId: string) => PortLists | undefined

/** One end of an edge. */
export interface LinkEnd {
  readonly nodeId: string
  readonly port: string
}

/** Why two ports cannot be joined. */
export type ConnectRefusal =
  /** The edge would close a cycle through these nodes. */
  | { readonly reason: "cycle"; readonly nodeIds: ReadonlyArray<string> }
  /** Both ends are of one node. */
  | { readonly reason: "self" }
  /** The input takes one value, and this edge may bring one already. */
  | { readonly reason: "taken"; readonly edgeId: string }
  /** No value is of both types. */
  | { readonly reason: "types"; readonly gives: string; readonly takes: string }
  /** There is no such node or port. */
  | { readonly reason: "noPort"; readonly nodeId: string; readonly port: string }
  /** They are joined already. */
  | { readonly reason: "exists"; readonly edgeId: string }
  /** The edge may not cross the border of a loop. */
  | LoopEdgeRefusal

/** Whether two ports can be joined, and why not. */
export type Connectable =
  | { readonly ok: true }
  | { readonly ok: false; readonly refusal: ConnectRefusal }

/**
 * The ports of the nodes of a document: as the server has told after mode and literals, or else as
 * the type of the node says.
 */
export const portsIn = (
  document: WorkflowDocument,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
  validation?: Pick<WorkflowValidation, "nodes">,
): PortsOfNode => {
  const typeOfNode = typesOf(nodeTypes)
  const told = new Map(validation?.nodes.map((node) => [node.nodeId, node]))
  const nodes = new Map(document.nodes.map((node) => [node.id, node]))
  return (nodeId) => {
    const node = nodes.get(nodeId)
    return told.get(nodeId) ?? (node === undefined ? undefined : typeOfNode(node))
  }
}

const errorOutput = "error"
const unknownPorts: PortLists = { inputPorts: [], outputPorts: [] }

/** The outputs that lead to an edge, by node. */
type Way = ReadonlyMap<string, ReadonlySet<string>>

const wayTo = (
  into: ReadonlyMap<string, ReadonlyArray<DocumentEdge>>,
  { nodeId, port }: LinkEnd,
): Way => {
  const way = new Map([[nodeId, new Set([port])]])
  const open = [nodeId]
  for (const id of open) {
    for (const edge of into.get(id) ?? []) {
      const known = way.get(edge.source)
      if (known !== undefined) known.add(sourcePortOf(edge))
      else {
        way.set(edge.source, new Set([sourcePortOf(edge)]))
        open.push(edge.source)
      }
    }
  }
  return way
}

/** True if at most one of two ways carries a value: the arms of a branch. */
const areArms = (one: Way, other: Way): boolean =>
  [...one].some(([id, outputs]) => {
    const others = other.get(id)
    return others !== undefined && ![...outputs].some((output) => others.has(output))
  })

/** The first edge that may bring the input a value together with the new one. */
const rivalOf = (
  edges: ReadonlyArray<DocumentEdge>,
  from: LinkEnd,
  to: LinkEnd,
): DocumentEdge | undefined => {
  const ending = edges.filter((each) => each.target === to.nodeId && targetPortOf(each) === to.port)
  if (ending.length === 0) return undefined
  const into = Map.groupBy(edges, ({ target }) => target)
  const way = wayTo(into, from)
  return ending.find(
    (each) => !areArms(way, wayTo(into, { nodeId: each.source, port: sourcePortOf(each) })),
  )
}

/** The loops of a document, as far as the ports of their nodes tell. */
export const loopsIn = ({ nodes }: WorkflowDocument, portsOf: PortsOfNode): LoopBodies =>
  loopBodies(nodes, (nodeId) => portsOf(nodeId)?.bodyPorts !== undefined)

const namesOf = (ports: ReadonlyArray<{ readonly name: string }> = []) =>
  ports.map(({ name }) => name)

/** The names that decide which edges may cross the border of a loop. */
export const loopPortsIn =
  (portsOf: PortsOfNode) =>
  (loopId: string): LoopPorts => {
    const { bodyPorts, outputPorts } = portsOf(loopId) ?? unknownPorts
    return { outputs: namesOf(outputPorts), body: namesOf(bodyPorts) }
  }

/** The way back along which an edge would close a circle, also through the body of a loop. */
const wayBack = (
  bodies: LoopBodies,
  edges: ReadonlyArray<DocumentEdge>,
  edge: { readonly source: string; readonly target: string },
): ReadonlyArray<{ readonly target: string }> | undefined => {
  const plain = wayBetween(edges, edge.target, edge.source)
  const order = orderOf(bodies, edge)
  if (plain !== undefined || order === undefined) return plain
  const orders = edges.flatMap((each) => orderOf(bodies, each) ?? [])
  return wayBetween(orders, order.target, order.source)
}

const refused = (refusal: ConnectRefusal): Connectable => ({ ok: false, refusal })

/** Why the ports do not fit each other, whatever else the document has. */
const refusalOfPorts = (
  document: WorkflowDocument,
  portsOf: PortsOfNode,
  from: LinkEnd,
  to: LinkEnd,
): ConnectRefusal | undefined => {
  const source = document.nodes.find(({ id }) => id === from.nodeId)
  if (source === undefined) return { reason: "noPort", ...from }
  if (document.nodes.every(({ id }) => id !== to.nodeId)) return { reason: "noPort", ...to }
  const [gives, takes] = [portsOf(from.nodeId), portsOf(to.nodeId)]
  const { bodyPorts = [], outputPorts } = gives ?? unknownPorts
  // Which of them may lead where says the border of the loop.
  const output = [...outputPorts, ...bodyPorts].find(({ name }) => name === from.port)
  const input = (takes ?? unknownPorts).inputPorts.find(({ name }) => name === to.port)
  const isError = from.port === errorOutput && dataOf(source)["onError"] === "route"
  if (gives !== undefined && output === undefined && !isError) return { reason: "noPort", ...from }
  // Expressions of a node may use what comes to `input`, whether its type has such a port or not.
  if (takes !== undefined && input === undefined && to.port !== "input")
    return { reason: "noPort", ...to }
  if (input?.convertsTypes === true) return undefined
  const taken = input?.multiple === true ? input.schema["items"] : input?.schema
  const types = typesOfSchema(output?.schema)
  const others = typesOfSchema(taken)
  if (types === undefined || others === undefined || types.some((each) => others.includes(each)))
    return undefined
  return { reason: "types", gives: types.join(", "), takes: others.join(", ") }
}

/**
 * Whether an edge can be drawn from an output to an input. `without` is an edge that is taken away
 * for it, where one of its ends is moved.
 */
export const canConnect = (
  document: WorkflowDocument,
  portsOf: PortsOfNode,
  from: LinkEnd,
  to: LinkEnd,
  without?: string,
): Connectable => {
  const edges = document.edges.filter(({ id }) => id !== without)
  if (from.nodeId === to.nodeId) return refused({ reason: "self" })
  const ends = { source: from.nodeId, target: to.nodeId }
  const bodies = loopsIn(document, portsOf)
  const border = loopEdgeRefusal(bodies, loopPortsIn(portsOf), ends, from.port)
  if (border !== undefined) return refused(border)
  const ofPorts = refusalOfPorts(document, portsOf, from, to)
  if (ofPorts !== undefined && ofPorts.reason !== "types") return refused(ofPorts)
  const twin = edges.find(
    (each) =>
      each.source === from.nodeId &&
      each.target === to.nodeId &&
      sourcePortOf(each) === from.port &&
      targetPortOf(each) === to.port,
  )
  if (twin !== undefined) return refused({ reason: "exists", edgeId: twin.id })
  const way = wayBack(bodies, edges, ends)
  if (way !== undefined) {
    const nodeIds = [to.nodeId, ...way.map(({ target }) => target), to.nodeId]
    return refused({ reason: "cycle", nodeIds })
  }
  if (ofPorts !== undefined) return refused(ofPorts)
  const input = portsOf(to.nodeId)?.inputPorts.find(({ name }) => name === to.port)
  const rival = input === undefined || input.multiple ? undefined : rivalOf(edges, from, to)
  return rival === undefined ? { ok: true } : refused({ reason: "taken", edgeId: rival.id })
}

/** The edge between two ports, with an id that the document does not have. */
export const edgeBetween = (
  document: Pick<WorkflowDocument, "edges">,
  from: LinkEnd,
  to: LinkEnd,
): DocumentEdge => {
  const ids = new Set(document.edges.map(({ id }) => id))
  const name = `${from.nodeId}-${to.nodeId}`.slice(0, 110)
  let id = name
  for (let count = 2; ids.has(id); count++) id = `${name}-${count}`
  return {
    id,
    source: from.nodeId,
    target: to.nodeId,
    sourceHandle: from.port,
    targetHandle: to.port,
  }
}
