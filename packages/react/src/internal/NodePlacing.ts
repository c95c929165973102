/**
 * Where a new node goes, so that it covers none of those that are there.
 *
 * Guarantees: pure, linear in the boxes for each step downwards. Leaves out: moving other nodes.
 */
import type { CanvasBox } from "../model/CanvasBox.ts"

type Sized = Pick<CanvasBox, "x" | "y" | "width" | "height">

/** A column of the canvas and the gap after it; the server places nodes alike. */
export const columnWidth = 360

const rowGap = 40

const covers = (left: Sized, right: Sized): boolean =>
  left.x < right.x + right.width &&
  right.x < left.x + left.width &&
  left.y < right.y + right.height + rowGap &&
  right.y < left.y + left.height + rowGap

/** The place itself, or the first one below it where nothing is covered. */
export const freePlace = (boxes: ReadonlyArray<Sized>, wanted: Sized): { x: number; y: number } => {
  let { y } = wanted
  for (const box of boxes.toSorted((left, right) => left.y - right.y))
    if (covers(box, { ...wanted, y })) y = box.y + box.height + rowGap
  return { x: Math.round(wanted.x), y: Math.round(y) }
}
