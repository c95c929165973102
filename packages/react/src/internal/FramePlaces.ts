/**
 * Frames that are moved: what they stand around moves with them.
 */
import type { CanvasBox } from "../model/CanvasLayout.ts"
import type { Places } from "../model/editing/Arranging.ts"

/** The places, and those of all nodes in frames among them that have no place of their own. */
export const withFramed = (boxes: ReadonlyArray<CanvasBox>, places: Places): Places => {
  const frames = boxes.filter(({ framed, id }) => framed !== undefined && Object.hasOwn(places, id))
  if (frames.length === 0) return places
  const byId = new Map(boxes.map((box) => [box.id, box]))
  const inside = frames.flatMap(({ framed = [], id, x, y }) => {
    const to = places[id]!
    return framed.flatMap((each) => {
      const box = byId.get(each)
      if (box === undefined) return []
      return [[each, { x: box.x + to.x - x, y: box.y + to.y - y }] as const]
    })
  })
  return { ...Object.fromEntries(inside), ...places }
}
