/**
 * Frames that are moved: what they stand around moves with them.
 */
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { Places } from "../model/editing/Arranging.ts"

/** The places, and those of all nodes in frames among them that have no place of their own. */
export const withFramed = (boxes: ReadonlyArray<CanvasBox>, places: Places): Places => {
  const byId = new Map(boxes.map((box) => [box.id, box]))
  const all = new Map(Object.entries(places))
  for (const [id, to] of all) {
    const frame = byId.get(id)
    if (frame === undefined || (frame.framed === undefined && frame.body === undefined)) continue
    const inside = boxes.filter((box) => frame.framed?.includes(box.id) ?? box.loops.includes(id))
    for (const { id: each, x, y } of inside)
      if (!all.has(each)) all.set(each, { x: x + to.x - frame.x, y: y + to.y - frame.y })
  }
  return Object.fromEntries(all)
}

/** Where the nodes of moved boxes are: the frame of a loop may reach farther to the left and up. */
export const originsAt = (boxes: ReadonlyArray<CanvasBox>, places: Places): Places =>
  Object.fromEntries(
    boxes.flatMap(({ body, id, x, y }) => {
      if (!Object.hasOwn(places, id)) return []
      const [to, from] = [places[id]!, body?.origin ?? { x, y }]
      return [[id, { x: to.x + from.x - x, y: to.y + from.y - y }]]
    }),
  )
