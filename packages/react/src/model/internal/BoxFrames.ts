/**
 * Frames: of loops, around the nodes in them, and those that users put around nodes.
 *
 * Guarantees: pure; linear in the boxes for each loop within loops. A frame is never smaller than
 * what it stands around; that of a loop has room for its ports, and for a node where it has none.
 * Leaves out: moving nodes out of the way of a frame that grows.
 */
import type { BoxBody, CanvasBox } from "../CanvasBox.ts"
import { headHeight, portHeight } from "../CanvasBox.ts"

/** Pixels between a frame and what it stands around, and of a frame around nothing. */
const frameGap = 24
export const emptyFrameHeight = 120

/** Pixels of a loop's frame: without nodes, and the column with what its nodes see of it. */
const loopWidth = 480
const bodyHeight = 160
export const bodyPortWidth = 104

/** How far below the top of a loop's frame a port is that its nodes see. */
export const bodyHandleAt = (top: number, index: number): number =>
  top + 8 + (index + 0.5) * portHeight

/** Where the first node of a loop goes: right of what it sees, below the ports of the loop. */
export const firstInBody = ({ body, x, y }: CanvasBox & { readonly body: BoxBody }) => ({
  x: x + bodyPortWidth + 80,
  y: y + body.top + frameGap,
})

type Rect = Pick<CanvasBox, "x" | "y" | "width" | "height">

/** The smallest rectangle around several. */
const around = (all: ReadonlyArray<Rect>): Rect => {
  let [x, y, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity]
  for (const each of all) {
    x = Math.min(x, each.x)
    y = Math.min(y, each.y)
    right = Math.max(right, each.x + each.width)
    bottom = Math.max(bottom, each.y + each.height)
  }
  return { x, y, width: right - x, height: bottom - y }
}

/** The rectangle with room on each side. */
const padded = ({ height, width, x, y }: Rect, left: number, top: number): Rect => ({
  x: x - left,
  y: y - top,
  width: width + left + frameGap,
  height: height + top + frameGap,
})

/** A frame around nothing: room for a node, and for the ports with the button that adds one. */
const emptyLoop = ({ origin, ports, top }: BoxBody): Rect => ({
  ...origin,
  width: loopWidth,
  height: top + Math.max(bodyHeight, (ports.length + 1) * portHeight + 16),
})

const loopAround = (body: BoxBody, inside: ReadonlyArray<CanvasBox>): Rect => {
  const empty = emptyLoop(body)
  if (inside.length === 0) return empty
  const nodes = padded(around(inside), bodyPortWidth + frameGap, body.top + frameGap)
  return around([empty, nodes])
}

/** The same boxes, the frame of each loop around its nodes; inner loops come first. */
const placeLoops = (boxes: ReadonlyArray<CanvasBox>): ReadonlyArray<CanvasBox> => {
  if (boxes.every(({ body }) => body === undefined)) return boxes
  const byId = new Map(boxes.map((box) => [box.id, box]))
  const inside = Map.groupBy(
    boxes.filter(({ framed, loops }) => framed === undefined && loops.length > 0),
    ({ loops }) => loops[0]!,
  )
  for (const box of boxes.toSorted((one, other) => other.loops.length - one.loops.length)) {
    const { body, id } = box
    if (body === undefined) continue
    const own = inside.get(id)?.map((each) => byId.get(each.id)!) ?? []
    byId.set(id, { ...box, ...loopAround(body, own) })
  }
  return boxes.map(({ id }) => byId.get(id)!)
}

/** The same boxes, each frame around those of its nodes. */
export const placeFrames = (given: ReadonlyArray<CanvasBox>): ReadonlyArray<CanvasBox> => {
  const boxes = placeLoops(given)
  if (boxes.every(({ framed }) => framed === undefined)) return boxes
  const byId = new Map(boxes.map((box) => [box.id, box]))
  return boxes.map((box) => {
    const inside = box.framed?.flatMap((id) => byId.get(id) ?? []) ?? []
    return inside.length === 0
      ? box
      : { ...box, ...padded(around(inside), frameGap, frameGap + headHeight) }
  })
}

/** The innermost loop whose frame a place is in; `without` and what lies in it take nothing. */
export const loopAt = (
  boxes: ReadonlyArray<CanvasBox>,
  { x, y }: { readonly x: number; readonly y: number },
  without?: string,
): CanvasBox | undefined =>
  boxes
    .filter(
      (box) =>
        box.body !== undefined &&
        box.id !== without &&
        (without === undefined || !box.loops.includes(without)) &&
        x >= box.x &&
        x <= box.x + box.width &&
        y >= box.y &&
        y <= box.y + box.height,
    )
    .reduce<CanvasBox | undefined>(
      (inner, box) => (inner === undefined || box.loops.length >= inner.loops.length ? box : inner),
      undefined,
    )
