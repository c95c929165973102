/**
 * Where a new node goes on the canvas (specification 4.4).
 *
 * Guarantees: the same nodes and the same wish give the same place. Leaves out: moving nodes that
 * are there already. Columns and rows are layout only; they never decide what executes when.
 */
import type { Node, Position } from "../domain/Workflow.ts"
import { parentOf } from "../domain/Workflow.ts"

/** Pixels from the edge of the canvas to column 0 and to row 0. */
const margin: Position = { x: 40, y: 40 }

/**
 * The same from the place of a loop to those of its body: right of what its nodes see of it, and
 * below its ports.
 */
const bodyMargin: Position = { x: 200, y: 240 }

/** Pixels from one column to the next. */
const columnWidth = 360

/** Pixels from one row to the next. */
const rowHeight = 200

/** A wish for a place; what is absent is chosen. */
export interface Wanted {
  /** The exact place, in pixels; in a loop's body from the place of the loop. */
  readonly position?: Position | undefined
  /** From 1; column 0 is the request node's. In a loop's body from 0. */
  readonly column?: number | undefined
  /** From 0. */
  readonly row?: number | undefined
  /** The id of the loop in whose body the node lies. */
  readonly parentId?: string | undefined
}

/** The cells of a node, from the left to the right and from the top to the bottom. */
interface Cells {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/**
 * The place of a new node, in pixels. A position wins. A column without a row takes the first free
 * row of that column. Without a column the node goes one column to the right of the last one that
 * holds a node, and never left of the first one. Only nodes of the same body count, or only those
 * in none. A node occupies the cell that is nearest to it; a loop also those of its body.
 */
export const place = (nodes: ReadonlyArray<Node>, wanted: Wanted): Position => {
  if (wanted.position !== undefined) return wanted.position
  const { parentId } = wanted
  const from = marginOf(parentId)
  const taken = cellsIn(Map.groupBy(nodes, parentOf), parentId)
  const column = wanted.column ?? columnAfterLast(taken, parentId === undefined ? 1 : 0)
  const row = wanted.row ?? firstFreeRow(taken, column)
  return { x: from.x + columnWidth * column, y: from.y + rowHeight * row }
}

const marginOf = (parentId: string | undefined): Position =>
  parentId === undefined ? margin : bodyMargin

/** The nodes of each body, by the id of its loop; those in none by `undefined`. */
type Bodies = ReadonlyMap<string | undefined, ReadonlyArray<Node>>

/** The cells of the nodes in a body, or in none; `around` are the loops around them. */
const cellsIn = (
  bodies: Bodies,
  parentId: string | undefined,
  around: ReadonlyArray<string> = [],
): ReadonlyArray<Cells> => (bodies.get(parentId) ?? []).map((node) => cellsOf(bodies, node, around))

const cellsOf = (bodies: Bodies, node: Node, around: ReadonlyArray<string>): Cells => {
  const { id, position } = node
  const from = marginOf(parentOf(node))
  const left = Math.round((position.x - from.x) / columnWidth)
  const top = Math.round((position.y - from.y) / rowHeight)
  // Loops that lie in each other are refused later than here.
  const inside = around.includes(id) ? [] : cellsIn(bodies, id, [...around, id])
  if (inside.length === 0) return { left, right: left, top, bottom: top }
  const last = { right: -1, bottom: -1 }
  for (const { bottom, right } of inside) {
    last.right = Math.max(last.right, right)
    last.bottom = Math.max(last.bottom, bottom)
  }
  return {
    left,
    right: left + Math.max(0, Math.ceil((bodyMargin.x + columnWidth * last.right) / columnWidth)),
    top,
    bottom: top + Math.max(0, Math.ceil((bodyMargin.y + rowHeight * last.bottom) / rowHeight)),
  }
}

const columnAfterLast = (taken: ReadonlyArray<Cells>, first: number): number =>
  taken.reduce((most, { right }) => Math.max(most, right), first - 1) + 1

const firstFreeRow = (taken: ReadonlyArray<Cells>, column: number): number => {
  const rows = taken
    .filter(({ left, right }) => left <= column && column <= right)
    .toSorted((one, other) => one.top - other.top)
  let row = 0
  for (const { bottom, top } of rows) if (top <= row && row <= bottom) row = bottom + 1
  return row
}
