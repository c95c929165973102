/**
 * Places for the boxes of a graph, from left to right, so that no two cover each other.
 *
 * Loads the library that computes them when it is first called. Leaves out: storing the places.
 */
import type { CanvasLayout } from "./CanvasLayout.ts"
import { placeFrames } from "./CanvasLayout.ts"

const columnGap = 90
const rowGap = 40

/** The same boxes and lines with places of their own. */
export const arranged = async (layout: CanvasLayout): Promise<CanvasLayout> => {
  const { Graph, layout: place } = await import("@dagrejs/dagre")
  const graph = new Graph()
  graph.setGraph({ rankdir: "LR", ranksep: columnGap, nodesep: rowGap })
  graph.setDefaultEdgeLabel(() => ({}))
  const free = layout.boxes.filter(({ framed }) => framed === undefined)
  for (const { height, id, width } of free) graph.setNode(id, { width, height })
  for (const { source, target } of layout.lines) graph.setEdge(source, target)
  place(graph)
  const boxes = layout.boxes.map((box) => {
    if (box.framed !== undefined) return box
    const { x, y } = graph.node(box.id) as { readonly x: number; readonly y: number }
    return { ...box, x: x - box.width / 2, y: y - box.height / 2 }
  })
  return { ...layout, boxes: placeFrames(boxes) }
}
