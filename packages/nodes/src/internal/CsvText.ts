/**
 * Reads CSV, a piece at a time.
 *
 * Guarantees: all values are texts. Rows are as many as allowed and have as many fields as the
 * first one. A column may have any name: `__proto__` is an own property, too. Leaves out: types of
 * values, and other quotes than `"`.
 */
import type { Json } from "@millrace/core/domain/Json"
import { csvRows } from "@millrace/core/domain/Limits"
import { quoted } from "@millrace/core/domain/Quote"
import { parse } from "csv-parse"
import type { Job, Work } from "@millrace/core/domain/Work"
import { slice } from "@millrace/core/domain/Work"

export interface CsvOptions {
  /** True: the first row has the names of the columns. */
  readonly header: boolean
  readonly delimiter: string
}

/** Characters that are read in one slice. */
const pieceLength = 8_192

type Row = ReadonlyArray<string>

/** The rows; throws an `Error` with a clause. */
function* rowsOf(text: string, delimiter: string, most: number, work: Work): Job<Array<Row>> {
  const parser = parse({ bom: true, delimiter, skip_empty_lines: true })
  // What is wrong is thrown below; without a listener it would end the process.
  parser.on("error", () => undefined)
  const rows: Array<Row> = []
  const take = (): void => {
    for (let row = parser.read() as Row | null; row !== null; row = parser.read() as Row | null) {
      rows.push(row)
    }
    const { errored } = parser
    if (errored !== null) throw new Error(`no CSV: ${errored.message}`)
    if (rows.length > most) throw new Error(`the CSV has more than ${csvRows} rows`)
  }
  for (let at = 0; at < text.length; at += pieceLength) {
    parser.write(text.slice(at, at + pieceLength))
    take()
    if (at + pieceLength < text.length && work.spend(slice)) yield
  }
  parser.end()
  take()
  return rows
}

const problemOfHeader = (header: Row): string | undefined => {
  const empty = header.indexOf("")
  if (empty >= 0) return `the header has no name for column ${empty + 1}`
  const twice = header.find((name, place) => header.indexOf(name) < place)
  return twice === undefined ? undefined : `the header names ${quoted(twice)} twice`
}

/** The rows: records by the names of the header, or arrays. Throws an `Error` with a clause. */
export function* readCsv(
  text: string,
  { delimiter, header }: CsvOptions,
  work: Work,
): Job<ReadonlyArray<Json>> {
  const rows = yield* rowsOf(text, delimiter, header ? csvRows + 1 : csvRows, work)
  if (!header) return rows
  const [names, ...records] = rows
  if (names === undefined) return []
  const problem = problemOfHeader(names)
  if (problem !== undefined) throw new Error(problem)
  return records.map((row) =>
    Object.fromEntries(names.map((name, column) => [name, row[column]!] as const)),
  )
}
