/**
 * Adding nodes to a canvas: where they go, and what they are joined with.
 *
 * Guarantees: a new node covers no other one. Leaves out: choosing the type; the palette does.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { CanvasBox, CanvasLayout } from "../model/CanvasLayout.ts"
import { headHeight, layoutOf } from "../model/CanvasLayout.ts"
import type { Place } from "../model/editing/Command.ts"
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "../model/editing/Document.ts"
import { canConnect, edgeBetween, portsIn } from "../model/editing/Connecting.ts"
import { freeId } from "../model/editing/ElementId.ts"
import { columnWidth, freePlace } from "./NodePlacing.ts"
import type { PortEnd } from "./CanvasContext.ts"
import { endsOf } from "./Joining.ts"

/** Where a node is wanted. */
export interface Wanted {
  /** The middle of the left edge of the node, on the canvas. */
  readonly place?: Place
  /** A port to join the node with. */
  readonly from?: PortEnd
  /** A node beside which it goes, without an edge. */
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

const positionOf = (
  { layout, middle }: AddingOptions,
  { height, width }: CanvasBox,
  { beside, from, place }: Wanted,
): Place => {
  const boxes = layout.boxes.filter(({ framed }) => framed === undefined)
  const isBefore = from?.side === "target"
  if (place !== undefined) {
    const x = isBefore ? place.x - width : place.x
    return freePlace(boxes, { x, y: place.y - headHeight, width, height })
  }
  const near = beside ?? boxes.find(({ id }) => id === from?.nodeId)
  if (near === undefined)
    return freePlace(boxes, { x: middle.x - width / 2, y: middle.y - height / 2, width, height })
  const x = near.x + (isBefore ? -columnWidth : columnWidth)
  return freePlace(boxes, { x, y: near.y, width, height })
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
  const draft = { id: freeId(document, type.key), type: type.key, data: {} }
  const alone = { nodes: [{ ...draft, position: { x: 0, y: 0 } }], edges: [] }
  const box = layoutOf(alone, nodeTypes, { contentHeightOf }).boxes[0]!
  const { x, y } = positionOf(options, box, wanted)
  const position = { x, y }
  const node: DocumentNode = { ...draft, position }
  const whole = { ...document, nodes: [...document.nodes, node] }
  const edges = wanted.from === undefined ? [] : edgeTo(options, whole, box, wanted.from)
  return { node, edges, box: { ...box, ...position } }
}
