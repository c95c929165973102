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
import { firstInBody, loopAt } from "../model/internal/BoxFrames.ts"
import type { CanvasLayout, CanvasValue } from "../model/CanvasLayout.ts"
import type { Alignment, Places } from "../model/editing/Arranging.ts"
import { aligned, distributed, tidied } from "../model/editing/Arranging.ts"
import type { Fragment, Selection } from "../model/editing/Clipboard.ts"
import { clipboardText, duplicated, pasted } from "../model/editing/Clipboard.ts"
import type { Command } from "../model/editing/Command.ts"
import { dataOf } from "../model/editing/Document.ts"
import { portsIn } from "../model/editing/Connecting.ts"
import { freeId } from "../model/editing/ElementId.ts"
import { loopDepth, moveNodes } from "../model/editing/internal/LoopMoves.ts"
import { placesOn, storedPlaces, withContent } from "../model/editing/internal/Parents.ts"
import type { Wanted } from "./CanvasAdding.ts"
import { addedNode } from "./CanvasAdding.ts"
import { reachableZoom } from "./CanvasContext.ts"
import { idsOf, isFragment, pasteSentence } from "./CanvasCopies.ts"
import { originsAt, withFramed } from "./FramePlaces.ts"
import type { LoopMoves } from "./LoopPlaces.ts"
import { movesTo, movesAt } from "./LoopPlaces.ts"
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
    const { from, into, place } = wanted ?? {}
    const isAsked = [from, into, place].some((each) => each !== undefined)
    const asked = isAsked ? wanted! : beside()
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

/**
 * What is pasted while a loop is selected, or nodes of one, lies in it: where it was if that is in
 * the frame, or else where the first node of the loop goes.
 */
const pastedInto = ({ layout, selection, value }: EditingOptions, text: string) => {
  const document = drawnDocument(value)
  const chosen = layout.boxes.filter(({ id }) => selection.nodeIds.has(id))
  const [loop, ...others] = new Set(
    chosen.map(({ body, id, loops }) => (body === undefined ? loops[0] : id)),
  )
  const into = others.length === 0 ? layout.boxes.find(({ id }) => id === loop) : undefined
  const found = pasted(text, document, undefined, into?.id)
  if (into?.body === undefined || !isFragment(found)) return found
  const { origin } = into.body
  const isInside = found.nodes.every((node) => {
    if (node["parentId"] !== into.id) return true
    const place = { x: origin.x + node.position.x, y: origin.y + node.position.y }
    return loopAt([{ ...into, loops: [] }], place) !== undefined
  })
  const first = firstInBody({ ...into, body: into.body })
  const at = { x: first.x - origin.x, y: first.y - origin.y }
  return isInside ? found : pasted(text, document, at, into.id)
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
    const place = placesOn([...drawnDocument(value).nodes, ...nodes])(first.id)
    look({ ...place, width: size?.width ?? 0, height: size?.height ?? 0 })
    say(messages.copiesAdded(nodes.length))
  }
  const paste = (text: string) => {
    const found = pastedInto(options, text)
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

/** Moves nodes into loops and out of them. */
const useNesting = (options: EditingOptions, moveTo: (places: Places) => void) => {
  const { layout, nodeTypes, onCommand, say, selection, value } = options
  const { messages } = useSurroundings()
  const { boxes } = layout
  const labelOf = (nodeId: string) => boxes.find(({ id }) => id === nodeId)?.label ?? nodeId
  const nest = (moves: LoopMoves) => {
    const crossed = [...moves].filter(
      ([nodeId, { loopId }]) => boxes.find(({ id }) => id === nodeId)?.loops[0] !== loopId,
    )
    const [first] = crossed
    const places = Object.fromEntries([...moves].map(([id, { place }]) => [id, place]))
    if (first === undefined) return moveTo(places)
    const document = drawnDocument(value)
    const found = moveNodes(document, portsIn(document, nodeTypes), moves)
    if ("reason" in found) {
      moveTo(places)
      say(messages.nestRefusals[found.reason](labelOf(found.nodeId), loopDepth))
      return
    }
    onCommand(found.command)
    const [, { loopId }] = first
    const gone = found.removed.map(({ source, target }) =>
      messages.edgeBetween(labelOf(source), labelOf(target)),
    )
    const told = messages.nested(crossed.length, loopId === undefined ? undefined : labelOf(loopId))
    say(gone.length === 0 ? told : `${told} ${messages.edgesGone(gone)}`)
  }
  return {
    drop: (dragged: ReadonlySet<string>, places: Places) => nest(movesAt(boxes, dragged, places)),
    /** Moves what is selected into a loop, or out of all. */
    into: (loopId: string | undefined) => nest(movesTo(boxes, selection.nodeIds, loopId)),
    /** The loops into which what is selected can go, and the one in which it lies. */
    loops: boxes.filter(
      ({ body, id, loops }) =>
        body !== undefined && ![id, ...loops].some((each) => selection.nodeIds.has(each)),
    ),
    loopOfChosen: boxes.find(({ id }) => selection.nodeIds.has(id))?.loops[0],
  }
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
    say(messages.removed(withContent(drawnDocument(value).nodes, nodeIds).size, edgeIds.size))
  }
  const disable = () => {
    const { nodeIds } = targetsOf(options)
    const nodes = drawnDocument(value).nodes.filter(({ id }) => nodeIds.has(id))
    const isDisabled = nodes.some((node) => dataOf(node)["disabled"] !== true)
    onCommand({ type: "disable", nodeIds: nodes.map(({ id }) => id), isDisabled })
  }
  const moveTo = (places: Places) => {
    const stored = storedPlaces(drawnDocument(value).nodes, places)
    if (Object.keys(stored).length > 0) onCommand({ type: "move", places: stored })
  }
  const move = (places: Places) => moveTo(originsAt(layout.boxes, withFramed(layout.boxes, places)))
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
    ...useNesting(options, moveTo),
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
    tidy: () => void tidied(layout).then(moveTo),
  }
}

/** What the canvas and its controls use. */
export type CanvasEditing = ReturnType<typeof useCanvasEditing>
