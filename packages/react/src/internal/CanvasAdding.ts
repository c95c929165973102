/**
 * Adding nodes to a canvas: where they go, and what they are joined with.
 *
 * Guarantees: a new node covers no other one. Leaves out: choosing the type; the palette does.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { firstInBody, loopAt } from "../model/internal/BoxFrames.ts"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { CanvasLayout } from "../model/CanvasLayout.ts"
import { boxWidth, headHeight } from "../model/CanvasBox.ts"
import { layoutOf } from "../model/CanvasLayout.ts"
import type {
  DocumentEdge,
  DocumentNode,
  Place,
  WorkflowDocument,
} from "../model/editing/Document.ts"
import { canConnect, edgeBetween, portsIn } from "../model/editing/Connecting.ts"
import { freeId } from "../model/editing/ElementId.ts"
import { countedFrom, placedIn, placesOn } from "../model/editing/internal/Parents.ts"
import { dataOfNew } from "../model/internal/NodeVersions.ts"
import { columnWidth, freePlace } from "./NodePlacing.ts"
import type { PortEnd } from "./CanvasContext.ts"
import { endsOf } from "./Joining.ts"

/** Where a node is wanted. */
export interface Wanted {
  /** The middle of the left edge of the node, on the canvas. */
  readonly place?: Place
  /** A port to join the node with. */
  readonly from?: PortEnd
  /** A loop in which it is to lie. */
  readonly into?: string
  /** A node beside which it goes, without an edge; in it, if that is a loop. */
  readonly beside?: CanvasBox
  /** Where the palette is opened, from the corner of the canvas. */
  readonly screen?: Place
}

interface AddingOptions {
  readonly document: WorkflowDocument
  readonly layout: CanvasLayout
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly contentHeightOf: (type: string) => number
  /** The middle of what is seen. */
  readonly middle: Place
}

/** Where a node lies that is joined with a port: an edge never leaves the body of a loop. */
const loopOfJoined = (
  { layout: { boxes } }: AddingOptions,
  from: PortEnd,
  under: CanvasBox | undefined,
): string | undefined => {
  const near = boxes.find(({ id }) => id === from.nodeId)
  const isOutput = from.side === "source"
  const isInner =
    isOutput &&
    near?.body?.ports.some(({ name }) => name === from.port) === true &&
    near.outputs.every(({ name }) => name !== from.port)
  const base = isInner ? near.id : near?.loops[0]
  if (under === undefined) return isOutput ? base : undefined
  const loops = [under.id, ...under.loops]
  const around = [...(isInner ? [near.id] : []), ...(near?.loops ?? [])]
  const isOpen = isOutput ? base === undefined || loops.includes(base) : around.includes(under.id)
  return isOpen ? under.id : base
}

/** The loop in which a new node lies. */
const loopFor = (options: AddingOptions, { beside, from, into, place }: Wanted) => {
  const { boxes } = options.layout
  const under = place === undefined ? undefined : loopAt(boxes, place)
  if (into !== undefined) return into
  if (from !== undefined)
    return loopOfJoined(options, from, under ?? (place === undefined ? nearOf(boxes, from) : under))
  if (place !== undefined) return under?.id
  return beside?.body === undefined ? beside?.loops[0] : beside.id
}

/** The loop around the node with a port, which a node before it shares. */
const nearOf = (boxes: ReadonlyArray<CanvasBox>, { nodeId, side }: PortEnd) => {
  const near = boxes.find(({ id }) => id === nodeId)
  return side === "source" ? undefined : boxes.find(({ id }) => id === near?.loops[0])
}

const positionOf = (
  { layout, middle }: AddingOptions,
  { height, width }: CanvasBox,
  { beside, from, place }: Wanted,
  loopId: string | undefined,
): Place => {
  const isBeside = (box: CanvasBox) => box.framed === undefined && box.loops[0] === loopId
  const boxes = layout.boxes.filter(isBeside)
  const isBefore = from?.side === "target"
  if (place !== undefined) {
    const x = isBefore ? place.x - width : place.x
    return freePlace(boxes, { x, y: place.y - headHeight, width, height })
  }
  const loop = layout.boxes.find(({ id }) => id === loopId)
  const last = boxes.toSorted((one, other) => one.x - other.x).at(-1)
  const known = boxes.find(({ id }) => id === (beside?.id ?? from?.nodeId))
  const near = known ?? (loop === undefined ? undefined : last)
  if (near !== undefined) {
    const x = isBefore ? near.x - columnWidth : near.x + near.width + columnWidth - boxWidth
    return freePlace(boxes, { x, y: near.y, width, height })
  }
  if (loop?.body !== undefined)
    return freePlace(boxes, { ...firstInBody({ ...loop, body: loop.body }), width, height })
  return freePlace(boxes, { x: middle.x - width / 2, y: middle.y - height / 2, width, height })
}

/** The edge from a port to the first port of a new node that takes it; required ones come first. */
const edgeTo = (
  { nodeTypes }: AddingOptions,
  document: WorkflowDocument,
  box: CanvasBox,
  from: PortEnd,
): ReadonlyArray<DocumentEdge> => {
  const portsOf = portsIn(document, nodeTypes)
  const isOutput = from.side === "source"
  const known = portsOf(box.id)
  const inputs = (known?.inputPorts ?? []).toSorted(
    (left, right) => Number(right.required) - Number(left.required),
  )
  for (const { name } of isOutput ? inputs : (known?.outputPorts ?? [])) {
    const ends = endsOf(from, { nodeId: box.id, port: name, side: isOutput ? "target" : "source" })
    if (ends !== undefined && canConnect(document, portsOf, ...ends).ok)
      return [edgeBetween(document, ...ends)]
  }
  return []
}

/** A node that is added, with its edge, if it gets one. */
interface Added {
  readonly node: DocumentNode
  readonly edges: ReadonlyArray<DocumentEdge>
  readonly box: CanvasBox
}

/** A node of a type at its place, with its edge. */
export const addedNode = (options: AddingOptions, type: NodeTypeItem, wanted: Wanted): Added => {
  const { contentHeightOf, document, nodeTypes } = options
  const data = dataOfNew(nodeTypes, type)
  const draft = { id: freeId(document, type.key), type: type.key, data }
  const alone = { nodes: [{ ...draft, position: { x: 0, y: 0 } }], edges: [] }
  const box = layoutOf(alone, nodeTypes, { contentHeightOf, hasEmptyBodies: true }).boxes[0]!
  // A request node lies in no loop.
  const loopId = type.key === "request" ? undefined : loopFor(options, wanted)
  const place = positionOf(options, box, wanted, loopId)
  const position = countedFrom(loopId, place, placesOn(document.nodes))
  const node = placedIn({ ...draft, position: { x: 0, y: 0 } }, loopId, position)
  const whole = { ...document, nodes: [...document.nodes, node] }
  const edges = wanted.from === undefined ? [] : edgeTo(options, whole, box, wanted.from)
  return { node, edges, box: { ...box, ...place } }
}
