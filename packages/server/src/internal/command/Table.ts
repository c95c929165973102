/**
 * A table as text. A column is as wide as its longest cell.
 *
 * Guarantees: nothing is cut off, so every cell can be copied.
 */

/** The lines of a table: the names of the columns, then one line for each row. */
export const linesOf = (
  columns: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string>>,
): ReadonlyArray<string> => {
  const all = [columns.map((name) => name.toUpperCase()), ...rows]
  const widths = columns.map((_, index) =>
    Math.max(...all.map((row) => Array.from(row[index] ?? "").length)),
  )
  const pad = (text: string, index: number) =>
    text + " ".repeat((widths[index] ?? 0) - Array.from(text).length)
  return all.map((row) => row.map(pad).join("  ").trimEnd())
}
