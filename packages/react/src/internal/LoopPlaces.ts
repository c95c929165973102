/**
 * Where nodes go that somebody moves into a loop or out of it: by a drag, or by a command.
 *
 * Guarantees: pure. What is moved together keeps its arrangement, and what lies in a moved loop
 * stays in it. Leaves out: the edges; `LoopMoves.ts` has them.
 */
import { firstInBody, loopAt } from "../model/internal/BoxFrames.ts"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { Places } from "../model/editing/Arranging.ts"
import type { LoopMove } from "../model/editing/internal/LoopMoves.ts"
import { originsAt, withFramed } from "./FramePlaces.ts"
import { freePlace } from "./NodePlacing.ts"

/** Moves by the ids of nodes. */
export type LoopMoves = ReadonlyMap<string, LoopMove>

const gap = 40

/** The loop into which a box goes that is let go at a place. */
export const loopBelow = (
  boxes: ReadonlyArray<CanvasBox>,
  { height, id, width }: CanvasBox,
  { x, y }: { readonly x: number; readonly y: number },
): CanvasBox | undefined => loopAt(boxes, { x: x + width / 2, y: y + height / 2 }, id)

const movesOf = (
  boxes: ReadonlyArray<CanvasBox>,
  places: Places,
  loopOf: (box: CanvasBox) => string | undefined,
): LoopMoves => {
  const origins = originsAt(boxes, places)
  const moved = boxes.filter(({ id }) => Object.hasOwn(origins, id))
  return new Map(
    moved.map((box) => [box.id, { place: origins[box.id]!, loopId: loopOf(box) }] as const),
  )
}

/** True for what lies in none of the others that are moved. */
const isOuter = ({ framed, loops }: CanvasBox, ids: ReadonlySet<string>): boolean =>
  framed === undefined && !loops.some((loop) => ids.has(loop))

/** What becomes of nodes that are let go; `dragged` are those that the pointer held. */
export const movesAt = (
  boxes: ReadonlyArray<CanvasBox>,
  dragged: ReadonlySet<string>,
  places: Places,
): LoopMoves => {
  const still = boxes.filter(({ id }) => !Object.hasOwn(places, id))
  return movesOf(boxes, places, (box) =>
    dragged.has(box.id) && isOuter(box, dragged)
      ? loopBelow(still, box, places[box.id]!)?.id
      : box.loops[0],
  )
}

/** Moves nodes to free places in a loop, or below the loop that they leave. */
export const movesTo = (
  boxes: ReadonlyArray<CanvasBox>,
  ids: ReadonlySet<string>,
  loopId: string | undefined,
): LoopMoves => {
  const loop = boxes.find(({ id }) => id === loopId)
  const around = new Set(loop === undefined ? [] : [loop.id, ...loop.loops])
  const moved = boxes.filter(
    (box) => ids.has(box.id) && isOuter(box, ids) && !around.has(box.id) && box.loops[0] !== loopId,
  )
  const [first] = moved
  if (first === undefined) return new Map()
  const x = Math.min(...moved.map((box) => box.x))
  const y = Math.min(...moved.map((box) => box.y))
  const width = Math.max(...moved.map((box) => box.x + box.width)) - x
  const height = Math.max(...moved.map((box) => box.y + box.height)) - y
  const left = first.loops[first.loops.indexOf(loopId ?? "") - 1] ?? first.loops.at(-1)
  const out = boxes.find(({ id }) => id === left)
  const wanted =
    loop?.body !== undefined && !first.loops.includes(loop.id)
      ? firstInBody({ ...loop, body: loop.body })
      : { x: out?.x ?? x, y: out === undefined ? y : out.y + out.height + gap }
  const beside = boxes.filter((box) => box.framed === undefined && box.loops[0] === loopId)
  const to = freePlace(beside, { ...wanted, width, height })
  const places = moved.map((box) => [box.id, { x: box.x + to.x - x, y: box.y + to.y - y }] as const)
  const outer = new Set(moved.map(({ id }) => id))
  return movesOf(boxes, withFramed(boxes, Object.fromEntries(places)), (box) =>
    outer.has(box.id) ? loopId : box.loops[0],
  )
}
