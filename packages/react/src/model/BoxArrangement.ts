/**
 * Places for the boxes of a graph, from left to right, so that no two cover each other: within each
 * loop first, and then the loops themselves.
 *
 * Loads the library that computes them when it is first called. Leaves out: storing the places.
 */
import type * as Library from "@dagrejs/dagre"
import { firstInBody, placeFrames } from "./internal/BoxFrames.ts"
import type { CanvasBox } from "./CanvasBox.ts"
import type { CanvasLayout, CanvasLine } from "./CanvasLayout.ts"

const columnGap = 90
const rowGap = 40

type Dagre = Pick<typeof Library, "Graph" | "layout">

/** Boxes beside each other, with their corner at a place. Edges join those that they lead to. */
const beside = (
  { Graph, layout }: Dagre,
  boxes: ReadonlyArray<CanvasBox>,
  ends: ReadonlyArray<readonly [source: string, target: string]>,
): ReadonlyArray<readonly [box: CanvasBox, x: number, y: number]> => {
  const graph = new Graph()
  graph.setGraph({ rankdir: "LR", ranksep: columnGap, nodesep: rowGap })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { height, id, width } of boxes) graph.setNode(id, { width, height })
  for (const [source, target] of ends) graph.setEdge(source, target)
  layout(graph)
  return boxes.map((box) => {
    const { x, y } = graph.node(box.id) as { readonly x: number; readonly y: number }
    return [box, x - box.width / 2, y - box.height / 2]
  })
}

/** The box moved, and with a loop all that lies in it. */
const moveBy = (boxes: Map<string, CanvasBox>, moved: string, x: number, y: number): void => {
  for (const [id, box] of boxes) {
    if (id !== moved && !box.loops.includes(moved)) continue
    const { body } = box
    const origin = body && { x: body.origin.x + x, y: body.origin.y + y }
    const next = body && { ...body, origin: origin! }
    boxes.set(id, { ...box, x: box.x + x, y: box.y + y, body: next })
  }
}

/** The edges between boxes of one loop; one into a loop among them leads to that loop. */
const endsIn = (
  lines: ReadonlyArray<CanvasLine>,
  boxes: ReadonlyMap<string, CanvasBox>,
  loop: string | undefined,
) => {
  const next = (id: string): string | undefined => {
    const path = [id, ...(boxes.get(id)?.loops ?? [])]
    const at = loop === undefined ? path.length - 1 : path.indexOf(loop) - 1
    return path[at]
  }
  return lines.flatMap(({ source, target }) => {
    const [from, to] = [next(source), next(target)]
    return from === undefined || to === undefined || from === to ? [] : [[from, to] as const]
  })
}

/** The same boxes and lines with places of their own. */
export const arranged = async (layout: CanvasLayout): Promise<CanvasLayout> => {
  const dagre = await import("@dagrejs/dagre")
  const boxes = new Map(layout.boxes.map((box) => [box.id, box]))
  const isFree = (box: CanvasBox) => box.framed === undefined
  const loops = layout.boxes.filter(({ body }) => body !== undefined)
  const inner = loops.toSorted((one, other) => other.loops.length - one.loops.length)
  for (const loop of [...inner.map(({ id }) => id), undefined]) {
    const own = [...boxes.values()].filter((box) => isFree(box) && box.loops[0] === loop)
    const placed = beside(dagre, own, endsIn(layout.lines, boxes, loop))
    const frame = loop === undefined ? undefined : boxes.get(loop)
    const { body } = frame ?? {}
    const corner = body && firstInBody({ ...frame!, ...body.origin, body })
    for (const [box, x, y] of placed) {
      const to = { x: x + (corner?.x ?? 0), y: y + (corner?.y ?? 0) }
      moveBy(boxes, box.id, to.x - box.x, to.y - box.y)
    }
    for (const box of placeFrames([...boxes.values()])) boxes.set(box.id, box)
  }
  return { ...layout, boxes: [...boxes.values()] }
}
