/**
 * What a user does to the graph of a canvas, as commands.
 *
 * Guarantees: changes nothing itself; the owner of the graph applies the commands.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { Rect } from "@xyflow/react"
import { getViewportForBounds, useReactFlow } from "@xyflow/react"
import type { RefObject } from "react"
import { useRef, useState } from "react"
import type { CanvasLayout, CanvasValue } from "../model/CanvasLayout.ts"
import type { Alignment, Places } from "../model/editing/Arranging.ts"
import { aligned, distributed, tidied } from "../model/editing/Arranging.ts"
import type { Fragment, Selection } from "../model/editing/Clipboard.ts"
import { clipboardText, duplicated, pasted } from "../model/editing/Clipboard.ts"
import type { Command } from "../model/editing/Command.ts"
import { dataOf } from "../model/editing/Document.ts"
import { freeId } from "../model/editing/ElementId.ts"
import type { Wanted } from "./CanvasAdding.ts"
import { addedNode } from "./CanvasAdding.ts"
import { reachableZoom } from "./CanvasContext.ts"
import { idsOf, isFragment, pasteSentence } from "./CanvasCopies.ts"
import { withFramed } from "./FramePlaces.ts"
import { nothingSelected } from "./CanvasSelection.ts"
import { drawnDocument } from "./Joining.ts"
import { useSurroundings } from "./Surroundings.ts"

/** What editing a canvas needs. */
export interface EditingOptions {
  readonly value: CanvasValue
  readonly layout: CanvasLayout
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly contentHeightOf: (type: string) => number
  readonly selection: Selection
  readonly select: (selection: Selection) => void
  readonly onCommand: (command: Command) => void
  readonly say: (sentence: string) => void
  readonly stage: RefObject<HTMLDivElement | null>
}

/** Where nodes can be moved without dragging them. */
export type Direction = "left" | "right" | "up" | "down"

/** As far as the dots of the background are apart. */
const nudges: Readonly<Record<Direction, readonly [x: number, y: number]>> = {
  left: [-24, 0],
  right: [24, 0],
  up: [0, -24],
  down: [0, 24],
}

/** How selected nodes can be arranged. */
export type Arrangement = Alignment | "across" | "down"

/** The element of a node on the canvas. */
const elementOf = (stage: HTMLElement | null, nodeId: string) =>
  stage?.querySelector<HTMLElement>(`.react-flow__node[data-id="${CSS.escape(nodeId)}"]`)

/** What is selected, or else the node or edge that has the focus. */
const targetsOf = ({ selection, stage }: EditingOptions): Selection => {
  if (selection.nodeIds.size + selection.edgeIds.size > 0) return selection
  const focused = stage.current?.contains(document.activeElement) ? document.activeElement : null
  const node = focused?.closest<HTMLElement>(".react-flow__node")?.dataset["id"]
  const edge = focused?.closest<SVGElement>(".react-flow__edge")?.dataset["id"]
  return {
    nodeIds: node === undefined ? nothingSelected.nodeIds : new Set([node]),
    edgeIds: edge === undefined ? nothingSelected.nodeIds : new Set([edge]),
  }
}

const united = (left: Rect, right: Rect): Rect => {
  const [x, y] = [Math.min(left.x, right.x), Math.min(left.y, right.y)]
  const width = Math.max(left.x + left.width, right.x + right.width) - x
  const height = Math.max(left.y + left.height, right.y + right.height) - y
  return { x, y, width, height }
}

/** The part of the canvas that is seen. */
const useView = ({ stage }: EditingOptions) => {
  const { getNodes, getNodesBounds, getViewport, screenToFlowPosition, setViewport } =
    useReactFlow()
  const area = () => {
    const { height, left, top, width } = stage.current!.getBoundingClientRect()
    const from = screenToFlowPosition({ x: left, y: top })
    return { from, to: screenToFlowPosition({ x: left + width, y: top + height }) }
  }
  const middle = () => {
    const { from, to } = area()
    return { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 }
  }
  /** Moves to a box that is not seen: to the whole graph, or to the box where that is too large. */
  const look = (box: Rect) => {
    const { from, to } = area()
    const isSeen =
      box.x >= from.x && box.y >= from.y && box.x + box.width <= to.x && box.y + box.height <= to.y
    if (isSeen) return
    const { height, width } = stage.current!.getBoundingClientRect()
    const { zoom } = getViewport()
    const all = united(getNodesBounds(getNodes()), box)
    const fitted = getViewportForBounds(all, width, height, 0.1, zoom, 0.12)
    const isLegible = fitted.zoom >= Math.min(zoom, reachableZoom)
    void setViewport(
      isLegible ? fitted : getViewportForBounds(box, width, height, zoom, zoom, 0.12),
    )
  }
  return { look, middle }
}

type View = ReturnType<typeof useView>

/** Adds nodes: the palette, and what is chosen in it. */
const useAdding = (options: EditingOptions, { look, middle }: View) => {
  const { layout, onCommand, say, select, selection, stage, value } = options
  const { messages } = useSurroundings()
  const [wanted, setWanted] = useState<Wanted>()
  const toFocus = useRef<string | undefined>(undefined)
  const paletteButton = useRef<HTMLButtonElement>(null)
  /** The node beside which one goes that is wanted nowhere: the only one that is selected. */
  const beside = () => {
    const [only] = selection.nodeIds.size === 1 ? selection.nodeIds : []
    const box = layout.boxes.find(({ id }) => id === only)
    return box === undefined ? {} : { beside: box }
  }
  const add = (type: NodeTypeItem) => {
    const asked = wanted?.from !== undefined || wanted?.place !== undefined ? wanted : beside()
    const document = drawnDocument(value)
    const made = addedNode({ ...options, document, middle: middle() }, type, asked)
    onCommand({ type: "add", nodes: [made.node], edges: made.edges })
    setWanted(undefined)
    toFocus.current = made.node.id
    select({ nodeIds: new Set([made.node.id]), edgeIds: nothingSelected.edgeIds })
    look(made.box)
    say(messages.added(made.box.label))
  }
  const closePalette = () => {
    setWanted(undefined)
    const back = wanted?.from === undefined ? paletteButton.current : stage.current
    back?.focus({ preventScroll: true })
  }
  const openPalette = (next: Wanted = {}) => setWanted(next)
  return { add, closePalette, openPalette, paletteButton, toFocus, wanted }
}

/** Names of nodes. */
const useRenaming = (options: EditingOptions) => {
  const { layout, onCommand, stage, value } = options
  const [renaming, setRenaming] = useState<string>()
  const endRenaming = (nodeId: string, label?: string) => {
    const isHere = stage.current?.contains(document.activeElement) === true
    if (isHere) elementOf(stage.current, nodeId)?.focus({ preventScroll: true })
    setRenaming(undefined)
    const node = drawnDocument(value).nodes.find(({ id }) => id === nodeId)
    if (node === undefined || label === undefined) return
    if (label.trim() === layout.boxes.find(({ id }) => id === nodeId)?.label) return
    const name = label.trim() === "" ? undefined : label.trim()
    onCommand({ type: "setData", nodeId, key: "label", value: name })
  }
  const rename = () => {
    const [nodeId, ...others] = targetsOf(options).nodeIds
    if (nodeId !== undefined && others.length === 0) setRenaming(nodeId)
  }
  return { renaming, beginRenaming: setRenaming, endRenaming, rename }
}

/** Copies of nodes. */
const useCopies = (options: EditingOptions, { look }: View) => {
  const { layout, onCommand, say, select, value } = options
  const { messages } = useSurroundings()
  const insert = ({ edges, nodes }: Fragment) => {
    const [first] = nodes
    if (first === undefined) return
    onCommand({ type: "add", nodes, edges })
    select({ nodeIds: idsOf(nodes), edgeIds: idsOf(edges) })
    const [size] = layout.boxes
    look({ ...first.position, width: size?.width ?? 0, height: size?.height ?? 0 })
    say(messages.copiesAdded(nodes.length))
  }
  const paste = (text: string) => {
    const found = pasted(text, drawnDocument(value))
    if (isFragment(found)) insert(found)
    else say(pasteSentence(messages, found.problem))
  }
  const copyText = () => {
    const chosen = targetsOf(options)
    return chosen.nodeIds.size === 0 ? undefined : clipboardText(drawnDocument(value), chosen)
  }
  const duplicate = () => insert(duplicated(drawnDocument(value), targetsOf(options)))
  return { copyText, duplicate, paste }
}

/** A frame around the selected nodes: a new one, or the only one that is selected with them. */
const useFrames = ({
  layout,
  nodeTypes,
  onCommand,
  say,
  select,
  selection,
  value,
}: EditingOptions) => {
  const { messages } = useSurroundings()
  return () => {
    const chosen = layout.boxes.filter(({ id }) => selection.nodeIds.has(id))
    const inside = chosen.filter(({ framed }) => framed === undefined)
    const [first] = inside
    const isKnown = nodeTypes.length === 0 || nodeTypes.some(({ key }) => key === "note")
    if (first === undefined || !isKnown) return
    const ids = inside.map(({ id }) => id)
    const [known, ...others] = chosen.filter(({ framed }) => framed !== undefined)
    if (known !== undefined && others.length === 0) {
      onCommand({ type: "setData", nodeId: known.id, key: "frame", value: ids })
    } else {
      const id = freeId(drawnDocument(value), "frame")
      const data = { label: messages.frameName, frame: ids }
      const position = { x: first.x, y: first.y }
      onCommand({ type: "add", nodes: [{ id, type: "note", position, data }], edges: [] })
      select({ nodeIds: new Set([id]), edgeIds: nothingSelected.edgeIds })
    }
    say(messages.framed(ids.length))
  }
}

/** Everything that a user can do to the graph. */
export const useCanvasEditing = (options: EditingOptions) => {
  const { layout, onCommand, say, select, selection, stage, value } = options
  const { messages } = useSurroundings()
  const view = useView(options)
  const remove = () => {
    const { edgeIds, nodeIds } = targetsOf(options)
    if (nodeIds.size + edgeIds.size === 0) return
    onCommand({ type: "remove", nodeIds: [...nodeIds], edgeIds: [...edgeIds] })
    select(nothingSelected)
    stage.current?.focus({ preventScroll: true })
    say(messages.removed(nodeIds.size, edgeIds.size))
  }
  const disable = () => {
    const { nodeIds } = targetsOf(options)
    const nodes = drawnDocument(value).nodes.filter(({ id }) => nodeIds.has(id))
    const isDisabled = nodes.some((node) => dataOf(node)["disabled"] !== true)
    onCommand({ type: "disable", nodeIds: nodes.map(({ id }) => id), isDisabled })
  }
  const move = (places: Places) => {
    const all = withFramed(layout.boxes, places)
    if (Object.keys(all).length > 0) onCommand({ type: "move", places: all })
  }
  const arrange = (how: Arrangement) => {
    const chosen = layout.boxes.filter(({ id }) => selection.nodeIds.has(id))
    if (how === "across" || how === "down") move(distributed(chosen, how))
    else move(aligned(chosen, how))
  }
  const nudge = (direction: Direction) => {
    const [x, y] = nudges[direction]
    const chosen = layout.boxes.filter(({ id }) => selection.nodeIds.has(id))
    move(Object.fromEntries(chosen.map((box) => [box.id, { x: box.x + x, y: box.y + y }])))
  }
  return {
    ...useAdding(options, view),
    ...useRenaming(options),
    ...useCopies(options, view),
    /** Moves to the chosen node if it is not seen: the canvas may have become smaller. */
    lookAtChosen: () => {
      const [only, ...others] = selection.nodeIds
      const box = layout.boxes.find(({ id }) => id === only)
      if (box !== undefined && others.length === 0) view.look(box)
    },
    selection,
    arrange,
    disable,
    frame: useFrames(options),
    move,
    nudge,
    remove,
    selectAll: () => select({ nodeIds: idsOf(layout.boxes), edgeIds: idsOf(layout.lines) }),
    tidy: () => void tidied(layout).then(move),
  }
}

/** What the canvas and its controls use. */
export type CanvasEditing = ReturnType<typeof useCanvasEditing>
