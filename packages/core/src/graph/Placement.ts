/**
 * Where a new node goes on the canvas (specification 4.4).
 *
 * Guarantees: the same nodes and the same wish give the same place. Leaves out: moving nodes that
 * are there already. Columns and rows are layout only; they never decide what executes when.
 */
import type { Node, Position } from "../domain/Workflow.ts"

/** Pixels from the edge of the canvas to column 0 and to row 0. */
const margin = 40

/** Pixels from one column to the next. */
const columnWidth = 360

/** Pixels from one row to the next. */
const rowHeight = 200

/** A wish for a place; what is absent is chosen. */
export interface Wanted {
  /** The exact place, in pixels. */
  readonly position?: Position | undefined
  /** From 1; column 0 is the request node's. */
  readonly column?: number | undefined
  /** From 0. */
  readonly row?: number | undefined
}

/**
 * The place of a new node, in pixels. A position wins. A column without a row takes the first free
 * row of that column. Without a column the node goes one column to the right of the last one that
 * holds a node, and never left of column 1. A node occupies the cell that is nearest to it.
 */
export const place = (nodes: ReadonlyArray<Node>, wanted: Wanted): Position => {
  if (wanted.position !== undefined) return wanted.position
  const column = wanted.column ?? columnAfterLast(nodes)
  const row = wanted.row ?? firstFreeRow(nodes, column)
  return { x: margin + columnWidth * column, y: margin + rowHeight * row }
}

const columnOf = ({ position }: Node): number => Math.round((position.x - margin) / columnWidth)

const rowOf = ({ position }: Node): number => Math.round((position.y - margin) / rowHeight)

const columnAfterLast = (nodes: ReadonlyArray<Node>): number =>
  nodes.reduce((most, node) => Math.max(most, columnOf(node)), 0) + 1

const firstFreeRow = (nodes: ReadonlyArray<Node>, column: number): number => {
  const taken = new Set(nodes.filter((node) => columnOf(node) === column).map(rowOf))
  let row = 0
  while (taken.has(row)) row++
  return row
}
