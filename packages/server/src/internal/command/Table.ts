/**
 * Rows for people to read, in columns that are as wide as they need be.
 *
 * Leaves out: cutting anything off, so that what is shown can be copied.
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
