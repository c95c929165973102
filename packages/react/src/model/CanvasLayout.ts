/**
 * A graph as the canvas draws it: boxes with their ports, lines between ports, and their states.
 *
 * Guarantees: every edge has a port to begin and to end at, also of unknown node types. Pure,
 * linear in nodes and edges. Leaves out: drawing.
 */
import type { NodeRun, NodeTypeItem, RunDefinition } from "@millrace/api/PromiseClient"
import { framedBy } from "./editing/Document.ts"

/** The state of a node. */
export type NodeState = NodeRun["status"]

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
}

/** What the canvas reads of an edge. */
export interface CanvasEdge {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly sourceHandle?: string | null
  readonly targetHandle?: string | null
}

/** A port of a box. */
export interface BoxPort {
  readonly name: string
  readonly required: boolean
  /** The type that its JSON Schema names, such as `string`; empty where it names none. */
  readonly kind: string
}

/** A node as it is drawn. */
export interface CanvasBox {
  readonly id: string
  readonly type: string
  /** The name that the user gave it, or that of its type. */
  readonly label: string
  readonly typeName: string
  /** The name of a lucide icon, if the type says one. */
  readonly icon: string | undefined
  readonly category: string | undefined
  /** False if there is a catalogue and the type is not in it. */
  readonly isKnown: boolean
  readonly isDisabled: boolean
  /** True if a past output stands for it. */
  readonly isPinned: boolean
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
  /** Those with a row. Of many inputs, some that nothing leads to have none. */
  readonly inputs: ReadonlyArray<BoxPort>
  readonly outputs: ReadonlyArray<BoxPort>
  /** Inputs without a row. */
  readonly hiddenInputs: number
  /** True if all inputs have a row because somebody wants to see them. */
  readonly isExpanded: boolean
  /** What a note says; nothing for other nodes. */
  readonly note: string | undefined
  /** Of a frame: the drawn nodes that it stands around; nothing for other nodes. */
  readonly framed: ReadonlyArray<string> | undefined
  /** The height of what is drawn below the ports. */
  readonly contentHeight: number
  readonly state: NodeState | undefined
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

/** Pixels of a box. A port has a row of its own, high enough to be hit with a finger. */
export const boxWidth = 240
export const headHeight = 56
export const portHeight = 36

/** Pixels of the square in which a port can be hit, and how far it stands out of its box. */
export const handleSize = 28
export const handleOverhang = 8

/** How far below the top of its box a port is. */
export const handleAt = (index: number): number => headHeight + 4 + (index + 0.5) * portHeight

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

/** Pixels between a frame and what it stands around, and of a frame around nothing. */
const frameGap = 24
const emptyFrameHeight = 120

/** The same boxes, each frame around those of its nodes. */
export const placeFrames = (boxes: ReadonlyArray<CanvasBox>): ReadonlyArray<CanvasBox> => {
  if (boxes.every(({ framed }) => framed === undefined)) return boxes
  const byId = new Map(boxes.map((box) => [box.id, box]))
  return boxes.map((box) => {
    const inside = box.framed?.flatMap((id) => byId.get(id) ?? []) ?? []
    if (inside.length === 0) return box
    const x = Math.min(...inside.map((each) => each.x)) - frameGap
    const y = Math.min(...inside.map((each) => each.y)) - frameGap - headHeight
    const right = Math.max(...inside.map((each) => each.x + each.width)) + frameGap
    const bottom = Math.max(...inside.map((each) => each.y + each.height)) + frameGap
    return { ...box, x, y, width: right - x, height: bottom - y }
  })
}

/** Lays a graph out as it was drawn. */
export const layoutOf = (
  value: CanvasValue,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
  {
    contentHeightOf = noHeight,
    expanded,
    pinned = noStates,
    states = noStates,
  }: LayoutOptions = {},
): CanvasLayout => {
  const types = new Map(nodeTypes.map((type) => [type.key, type]))
  const told = new Map(value.ports?.map((ports) => [ports.nodeId, ports]))
  const ids = new Set(value.nodes.map(({ id }) => id))
  // A draft may have edges whose nodes are gone.
  const edges = value.edges.filter(({ source, target }) => ids.has(source) && ids.has(target))
  const { ins, outs } = handles(edges)
  const frames = new Map(value.nodes.map((node) => [node.id, framedBy(node)]))
  const boxes = value.nodes.map((node): CanvasBox => {
    const { data, id, position, type } = node
    const known = types.get(type)
    const { disabled, label, onError } = recordOf(data)
    const note = noteOf(type, data)
    // A frame around frames would have no end.
    const framed = frames.get(id)?.filter((each) => ids.has(each) && !frames.get(each))
    const ports = note === undefined ? (told.get(id) ?? known) : undefined
    const joined = ins.get(id) ?? []
    const shown = rowsOf(
      portsOf(ports?.inputPorts ?? [], joined),
      joined,
      expanded?.has(id) === true,
    )
    const errors = onError === "route" ? [errorOutput] : []
    const outputs = portsOf(ports?.outputPorts ?? [], [...(outs.get(id) ?? []), ...errors])
    const isSwitch = shown.isExpanded || shown.hiddenInputs > 0
    const rows = Math.max(shown.inputs.length + (isSwitch ? 1 : 0), outputs.length)
    const typeName = known?.name ?? type
    const contentHeight = contentHeightOf(type) + (note === undefined ? 0 : heightOfNote(note))
    return {
      id,
      type,
      label: typeof label === "string" && label.trim() !== "" ? label : typeName,
      typeName,
      icon: iconOf(known),
      category: known?.category,
      isKnown: known !== undefined || nodeTypes.length === 0,
      isDisabled: disabled === true,
      isPinned: Object.hasOwn(pinned, id),
      ...position,
      width: boxWidth,
      height:
        framed === undefined
          ? headHeight + rows * portHeight + (rows === 0 ? 0 : 8) + contentHeight
          : emptyFrameHeight,
      ...shown,
      outputs,
      note,
      framed,
      contentHeight,
      state: states[id],
    }
  })
  const lines = edges.map((edge): CanvasLine => {
    const { id, source, target } = edge
    const sourcePort = edge.sourceHandle || defaultOutput
    const targetPort = edge.targetHandle || defaultInput
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
      if (next.y < box.y + box.height && box.y < next.y + next.height) return true
    }
    return false
  })
}
