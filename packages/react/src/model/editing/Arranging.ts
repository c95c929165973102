/**
 * Places for nodes: in a line, at even distances, or all tidy. Each answer is the `places` of one
 * `move` command, so it is one step of the history.
 *
 * Guarantees: pure; nodes that are not given keep their places. Leaves out: sizes of boxes; the
 * layout of the canvas knows them.
 */
import { arranged } from "../BoxArrangement.ts"
import type { CanvasBox } from "../CanvasBox.ts"
import type { CanvasLayout } from "../CanvasLayout.ts"
import type { Place } from "./Document.ts"

/** A box on the canvas. */
export type PlacedBox = Pick<CanvasBox, "id" | "x" | "y" | "width" | "height">

/** What boxes have in common when they are aligned. */
export type Alignment = "left" | "center" | "right" | "top" | "middle" | "bottom"

/** Places of nodes by id. */
export type Places = Readonly<Record<string, Place>>

const placesOf = <B extends PlacedBox>(
  boxes: ReadonlyArray<B>,
  place: (box: B) => Partial<Place>,
): Places =>
  Object.fromEntries(
    boxes.map((box) => {
      const { x = box.x, y = box.y } = place(box)
      return [box.id, { x: Math.round(x), y: Math.round(y) }]
    }),
  )

/** Puts boxes in a line, along the outermost of them. */
export const aligned = (boxes: ReadonlyArray<PlacedBox>, how: Alignment): Places => {
  if (boxes.length < 2) return {}
  const left = Math.min(...boxes.map(({ x }) => x))
  const top = Math.min(...boxes.map(({ y }) => y))
  const right = Math.max(...boxes.map(({ width, x }) => x + width))
  const bottom = Math.max(...boxes.map(({ height, y }) => y + height))
  const lines: Readonly<Record<Alignment, (box: PlacedBox) => Partial<Place>>> = {
    left: () => ({ x: left }),
    center: ({ width }) => ({ x: (left + right - width) / 2 }),
    right: ({ width }) => ({ x: right - width }),
    top: () => ({ y: top }),
    middle: ({ height }) => ({ y: (top + bottom - height) / 2 }),
    bottom: ({ height }) => ({ y: bottom - height }),
  }
  return placesOf(boxes, lines[how])
}

/** Makes the gaps between boxes even; the outer two stay. */
export const distributed = (
  boxes: ReadonlyArray<PlacedBox>,
  direction: "across" | "down",
): Places => {
  if (boxes.length < 3) return {}
  const [at, size] = direction === "across" ? (["x", "width"] as const) : (["y", "height"] as const)
  const sorted = boxes.toSorted((one, other) => one[at] - other[at])
  const [first, last] = [sorted[0]!, sorted.at(-1)!]
  const filled = sorted.reduce((sum, box) => sum + box[size], 0)
  const gap = (last[at] + last[size] - first[at] - filled) / (sorted.length - 1)
  let next = first[at]
  const starts = new Map<string, number>()
  for (const box of sorted) {
    starts.set(box.id, next)
    next += box[size] + gap
  }
  return placesOf(sorted, ({ id }) => ({ [at]: starts.get(id)! }))
}

/** Places for all boxes of a layout, so that none covers another; to whole pixels. */
export const tidied = async (layout: CanvasLayout): Promise<Places> =>
  placesOf((await arranged(layout)).boxes, ({ body, x, y }) => body?.origin ?? { x, y })
