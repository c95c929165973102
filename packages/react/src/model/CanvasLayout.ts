/**
 * A graph as the canvas draws it: boxes with their ports, lines between ports, and their states.
 *
 * Guarantees: every edge has a port to begin and to end at, also of unknown node types. Pure,
 * linear in nodes and edges. Leaves out: drawing.
 */
import type { NodeTypeItem, RunDefinition } from "@millrace/api/PromiseClient"
import { emptyFrameHeight, placeFrames } from "./internal/BoxFrames.ts"
import type { BoxPort, CanvasBox, NodeState } from "./CanvasBox.ts"
import { boxWidth, headHeight, portHeight } from "./CanvasBox.ts"
import { framedBy, inputsOf } from "./editing/Document.ts"
import type { LoopBodies } from "./editing/internal/LoopBodies.ts"
import { loopBodiesOf } from "./editing/internal/LoopBodies.ts"
import { typesOf } from "./internal/NodeVersions.ts"
import { drawnGraph } from "./internal/DrawnGraph.ts"
import { placesOn } from "./editing/internal/Parents.ts"

/** A drawing to show: a workflow, the definition of a run, or a draft. */
export interface CanvasValue {
  readonly nodes: ReadonlyArray<CanvasNode>
  readonly edges: ReadonlyArray<CanvasEdge>
  /** The ports of nodes, as the definition of a run tells them; those of the types by default. */
  readonly ports?: RunDefinition["ports"]
}

/** What the canvas reads of a node. */
export interface CanvasNode {
  readonly id: string
  readonly type: string
  readonly position: { readonly x: number; readonly y: number }
  readonly data?: unknown
  /** The node in which it lies; its place counts from there. */
  readonly parentId?: unknown
}

/** What the canvas reads of an edge. */
export interface CanvasEdge {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly sourceHandle?: string | null
  readonly targetHandle?: string | null
}

/** `taken`: a value went over it. `active`: its target runs. `idle`: nothing was decided. */
export type LineState = "idle" | "taken" | "active" | "skipped"

/** An edge as it is drawn. */
export interface CanvasLine {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly sourcePort: string
  readonly targetPort: string
  readonly state: LineState
}

/** All that is drawn. */
export interface CanvasLayout {
  readonly boxes: ReadonlyArray<CanvasBox>
  readonly lines: ReadonlyArray<CanvasLine>
}

const defaultInput = "input"
const defaultOutput = "output"
const errorOutput = "error"

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {}

const kindOf = (schema: unknown): string => {
  const { type } = recordOf(schema)
  if (typeof type === "string") return type
  return Array.isArray(type) ? type.filter((each) => each !== "null").join(" | ") : ""
}

interface Port {
  readonly name: string
  readonly required?: boolean
  readonly schema?: unknown
}

const portOf = ({ name, required = false, schema }: Port): BoxPort => ({
  name,
  required,
  kind: kindOf(schema),
})

/** The declared ports, and after them those that edges name all the same. */
const portsOf = (
  declared: ReadonlyArray<Port>,
  named: Iterable<string>,
): ReadonlyArray<BoxPort> => {
  const known = new Set(declared.map(({ name }) => name))
  const others = [...new Set(named)].filter((name) => !known.has(name))
  return [...declared.map(portOf), ...others.map((name) => portOf({ name }))]
}

const handles = (edges: ReadonlyArray<CanvasEdge>) => {
  const ins = new Map<string, Array<string>>()
  const outs = new Map<string, Array<string>>()
  const add = (to: Map<string, Array<string>>, id: string, name: string) => {
    const known = to.get(id)
    if (known === undefined) to.set(id, [name])
    else known.push(name)
  }
  for (const { source, sourceHandle, target, targetHandle } of edges) {
    add(outs, source, sourceHandle || defaultOutput)
    add(ins, target, targetHandle || defaultInput)
  }
  return { ins, outs }
}

const settledStates: ReadonlySet<NodeState> = new Set(["COMPLETED", "FAILED"])

/** What a line shows, from the states of the nodes at its ends. */
export const lineState = (
  source: NodeState | undefined,
  target: NodeState | undefined,
  isError: boolean,
): LineState => {
  if (source === undefined) return "idle"
  if (source === "SKIPPED" || (settledStates.has(source) && target === "SKIPPED")) return "skipped"
  if (source === "FAILED" && !isError) return "skipped"
  if (source !== "COMPLETED") return "idle"
  if (target === "RUNNING" || target === "WAITING") return "active"
  return target === "COMPLETED" || target === "FAILED" ? "taken" : "idle"
}

/** Where the type says which icon it has. */
const iconOf = (type: NodeTypeItem | undefined): string | undefined => {
  const { icon } = recordOf(type)
  return typeof icon === "string" ? icon : undefined
}

/** More inputs than these are shown only where they are required or something leads to them. */
const inputsShown = 4

interface Rows {
  readonly inputs: ReadonlyArray<BoxPort>
  readonly hiddenInputs: number
  readonly isExpanded: boolean
}

const rowsOf = (
  all: ReadonlyArray<BoxPort>,
  joined: ReadonlyArray<string>,
  isExpanded: boolean,
): Rows => {
  if (all.length <= inputsShown) return { inputs: all, hiddenInputs: 0, isExpanded: false }
  if (isExpanded) return { inputs: all, hiddenInputs: 0, isExpanded }
  const used = all.filter(({ name, required }) => required || joined.includes(name))
  const inputs = used.length === 0 ? all.slice(0, 1) : used
  return { inputs, hiddenInputs: all.length - inputs.length, isExpanded }
}

/** How a graph is laid out. */
export interface LayoutOptions {
  /** The states of nodes by id. */
  readonly states?: Readonly<Record<string, NodeState | undefined>>
  /** What nodes of a type need below their ports, in pixels. */
  readonly contentHeightOf?: (type: string) => number
  /** Nodes for which past outputs stand, by their ids. */
  readonly pinned?: Readonly<Record<string, unknown>>
  /** Nodes that show all of their inputs. */
  readonly expanded?: ReadonlySet<string>
  /** Loops that are drawn without the nodes in them. */
  readonly collapsed?: ReadonlySet<string>
  /** True if a loop without nodes in it is drawn as a frame, too, to put some there. */
  readonly hasEmptyBodies?: boolean
}

const noteType = "note"
const noteLine = 20
const charactersInLine = 34

/** What a note says. It has no ports: edges to it would mean nothing. */
const noteOf = (type: string, data: unknown): string | undefined => {
  if (type !== noteType) return undefined
  const { text } = recordOf(recordOf(data)["inputs"])
  return typeof text === "string" ? text : ""
}

/** The height of a text, as far as its characters tell. */
const heightOfNote = (text: string): number => {
  const lines = text
    .split("\n")
    .reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / charactersInLine)), 0)
  return Math.min(12, lines) * noteLine + 16
}

const noStates: NonNullable<LayoutOptions["states"]> = {}
const noHeight = () => 0

/** What boxes are made of. */
interface Drawn extends Required<Omit<LayoutOptions, "collapsed" | "expanded">> {
  readonly nodes: ReadonlyArray<CanvasNode>
  readonly edges: ReadonlyArray<CanvasEdge>
  /** The nodes in each loop that is collapsed. */
  readonly hidden: ReadonlyMap<string, ReadonlyArray<string>>
  readonly expanded: ReadonlySet<string> | undefined
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly typeOfNode: (node: CanvasNode) => NodeTypeItem | undefined
  readonly told: ReadonlyMap<string, RunDefinition["ports"][number]>
  readonly frames: ReadonlyMap<string, ReadonlyArray<string> | undefined>
  readonly bodies: LoopBodies
  readonly placeOf: (id: string) => { readonly x: number; readonly y: number }
  readonly ins: ReadonlyMap<string, ReadonlyArray<string>>
  readonly outs: ReadonlyMap<string, ReadonlyArray<string>>
  /** What edges from loops to nodes in them begin at. */
  readonly inner: ReadonlyMap<string, ReadonlyArray<string>>
  /** How many nodes lie in each loop. */
  readonly counts: ReadonlyMap<string, number>
}

/** The same without the nodes in loops that are collapsed, and which these are. */
const collapsedIn = (
  value: Pick<CanvasValue, "nodes" | "edges">,
  { loopsAround }: LoopBodies,
  collapsed: ReadonlySet<string>,
) => {
  const loopOf = (id: string) => loopsAround(id).findLast((loop) => collapsed.has(loop))
  const inside = value.nodes.flatMap(({ id }) => {
    const loop = loopOf(id)
    return loop === undefined ? [] : [{ id, loop }]
  })
  const grouped = Map.groupBy(inside, ({ loop }) => loop)
  const hidden = new Map([...grouped].map(([loop, all]) => [loop, all.map(({ id }) => id)]))
  return { ...drawnGraph(value, loopOf), hidden }
}

const drawnOf = (
  value: CanvasValue,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
  { collapsed = new Set(), ...options }: LayoutOptions,
): Drawn => {
  const bodies = loopBodiesOf(value.nodes, nodeTypes)
  const { edges, hidden, nodes } = collapsedIn(value, bodies, collapsed)
  const isInner = ({ source, target }: CanvasEdge) =>
    bodies.isLoop(source) && bodies.loopsAround(target).includes(source)
  const [within, beside] = [edges.filter(isInner), edges.filter((edge) => !isInner(edge))]
  const counts = new Map<string, number>()
  for (const { id } of value.nodes) {
    const [loop] = bodies.loopsAround(id)
    if (loop !== undefined) counts.set(loop, (counts.get(loop) ?? 0) + 1)
  }
  return {
    contentHeightOf: noHeight,
    pinned: noStates,
    states: noStates,
    hasEmptyBodies: false,
    expanded: undefined,
    ...options,
    nodes,
    edges,
    hidden,
    nodeTypes,
    typeOfNode: typesOf(nodeTypes),
    told: new Map(value.ports?.map((each) => [each.nodeId, each])),
    frames: new Map(value.nodes.map((node) => [node.id, framedBy(node)])),
    bodies,
    placeOf: placesOn(value.nodes),
    ins: handles(edges).ins,
    outs: handles(beside).outs,
    inner: handles(within).outs,
    counts,
  }
}

/** The input that a loop has in the place of a body: a workflow for each item. */
const workflowInput = "workflowId"

/** The box of a loop as a frame, where nodes lie in it, or may be put there. */
const withBody = (box: CanvasBox, node: CanvasNode, drawn: Drawn): CanvasBox => {
  const { bodies, counts, hasEmptyBodies, inner, typeOfNode } = drawn
  const { contentHeight, height, id, x, y } = box
  const count = counts.get(id) ?? 0
  const callsWorkflow =
    Object.hasOwn(inputsOf(node as never), workflowInput) ||
    drawn.ins.get(id)?.includes(workflowInput) === true
  if (box.collapsed.length > 0 || !bodies.isLoop(id)) return box
  if (count === 0 && (!hasEmptyBodies || callsWorkflow)) return box
  const ports = portsOf(typeOfNode(node)?.bodyPorts ?? [], inner.get(id) ?? [])
  return { ...box, body: { ports, count, top: height - contentHeight, origin: { x, y } } }
}

const boxOf = (node: CanvasNode, drawn: Drawn): CanvasBox => {
  const { contentHeightOf, expanded, frames, ins, nodeTypes, outs, pinned, states } = drawn
  const { data, id, type } = node
  const known = drawn.typeOfNode(node)
  const { disabled, label, onError } = recordOf(data)
  const note = noteOf(type, data)
  // A frame around frames would have no end.
  const framed = frames.get(id)?.filter((each) => frames.has(each) && !frames.get(each))
  const ports = note === undefined ? (drawn.told.get(id) ?? known) : undefined
  const joined = ins.get(id) ?? []
  const shown = rowsOf(portsOf(ports?.inputPorts ?? [], joined), joined, expanded?.has(id) === true)
  const errors = onError === "route" ? [errorOutput] : []
  const outputs = portsOf(ports?.outputPorts ?? [], [...(outs.get(id) ?? []), ...errors])
  const isSwitch = shown.isExpanded || shown.hiddenInputs > 0
  const rows = Math.max(shown.inputs.length + (isSwitch ? 1 : 0), outputs.length)
  const typeName = known?.name ?? type
  const contentHeight = contentHeightOf(type) + (note === undefined ? 0 : heightOfNote(note))
  const box = {
    id,
    type,
    label: typeof label === "string" && label.trim() !== "" ? label : typeName,
    typeName,
    icon: iconOf(known),
    category: known?.category,
    isKnown: known !== undefined || nodeTypes.length === 0,
    isDisabled: disabled === true,
    isPinned: Object.hasOwn(pinned, id),
    ...drawn.placeOf(id),
    width: boxWidth,
    height:
      framed === undefined
        ? headHeight + rows * portHeight + (rows === 0 ? 0 : 8) + contentHeight
        : emptyFrameHeight,
    ...shown,
    outputs,
    note,
    framed,
    loops: drawn.bodies.loopsAround(id),
    body: undefined,
    collapsed: drawn.hidden.get(id) ?? [],
    contentHeight,
    state: states[id],
  }
  return withBody(box, node, drawn)
}

/** Lays a graph out as it was drawn. */
export const layoutOf = (
  value: CanvasValue,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
  options: LayoutOptions = {},
): CanvasLayout => {
  const ids = new Set(value.nodes.map(({ id }) => id))
  // A draft may have edges whose nodes are gone.
  const edges = value.edges.filter(({ source, target }) => ids.has(source) && ids.has(target))
  const drawn = drawnOf({ ...value, edges }, nodeTypes, options)
  const boxes = drawn.nodes.map((node) => boxOf(node, drawn))
  const lines = drawn.edges.map((edge): CanvasLine => {
    const { id, source, target } = edge
    const sourcePort = edge.sourceHandle || defaultOutput
    const targetPort = edge.targetHandle || defaultInput
    const { states } = drawn
    const state = lineState(states[source], states[target], sourcePort === errorOutput)
    return { id, source, target, sourcePort, targetPort, state }
  })
  return { boxes: placeFrames(boxes), lines }
}

/** True if two boxes cover each other as they were drawn. Looks at neighbours only. */
export const hasOverlaps = ({ boxes }: CanvasLayout): boolean => {
  const sorted = boxes
    .filter(({ framed }) => framed === undefined)
    .toSorted((left, right) => left.x - right.x)
  return sorted.some((box, index) => {
    for (const next of sorted.slice(index + 1, index + 50)) {
      if (next.x >= box.x + box.width) return false
      // What lies in a loop is meant to cover its frame.
      const isBeside = next.loops[0] === box.loops[0]
      if (isBeside && next.y < box.y + box.height && box.y < next.y + next.height) return true
    }
    return false
  })
}
