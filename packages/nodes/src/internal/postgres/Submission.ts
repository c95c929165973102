/**
 * One statement with parameters, over the extended protocol, which takes no second statement.
 *
 * Guarantees: parameters are sent apart from the statement, each as its type wants it. No more rows
 * are asked for than one beyond the bound. Leaves out: transactions. After a failure the connection
 * has to be closed.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { quoted } from "@millrace/core/domain/Quote"
import type { ArrayReader } from "./Values.ts"
import { fromText, toText } from "./Values.ts"

/** What the library's connection does for a statement. */
export interface Wire {
  readonly once: (
    event: "parameterDescription",
    listener: (message: { readonly dataTypeIDs: ReadonlyArray<number> }) => void,
  ) => void
  readonly parse: (statement: { readonly text: string }) => void
  readonly describe: (what: { readonly type: "S" }) => void
  readonly flush: () => void
  readonly bind: (given: { readonly values: ReadonlyArray<string | null> }) => void
  readonly execute: (portal: { readonly rows: number }) => void
  readonly sync: () => void
}

interface Column {
  readonly name: string
  readonly dataTypeID: number
}

/** A statement, and the bound of its rows. */
export interface Query {
  readonly text: string
  readonly parameters: ReadonlyArray<Json>
  readonly maxRows: number
}

/** What a statement gave. */
export interface QueryResult {
  readonly rows: ReadonlyArray<JsonObject>
  /** How many rows it gave or changed; `null` if that is not told. */
  readonly count: number | null
}

const failure = (message: string) => new NodeError({ message, retryable: false })

const countIn = (tag: string): number | null => {
  const [count] = /\d+$/.exec(tag) ?? []
  return count === undefined ? null : Number(count)
}

const problemOfColumns = (columns: ReadonlyArray<Column>): string | undefined => {
  const names = new Set<string>()
  for (const { name } of columns) {
    if (names.has(name)) return `Two columns have the name ${quoted(name)}: rename one with AS`
    names.add(name)
  }
  return undefined
}

/** The statement as the library submits it. `onEnd` is called once. */
export class Submission {
  readonly #query: Query
  readonly #readArray: ArrayReader
  readonly #onEnd: (outcome: QueryResult | Error) => void
  readonly #rows: Array<JsonObject> = []
  #columns: ReadonlyArray<Column> = []
  #count: number | null = null

  constructor(query: Query, readArray: ArrayReader, onEnd: (outcome: QueryResult | Error) => void) {
    this.#query = query
    this.#readArray = readArray
    this.#onEnd = onEnd
  }

  submit(wire: Wire): void {
    wire.once("parameterDescription", ({ dataTypeIDs }) => this.#bind(wire, dataTypeIDs))
    wire.parse({ text: this.#query.text })
    wire.describe({ type: "S" })
    wire.flush()
  }

  handleRowDescription({ fields }: { readonly fields: ReadonlyArray<Column> }): void {
    this.#columns = fields
    const problem = problemOfColumns(fields)
    if (problem !== undefined) this.#onEnd(failure(problem))
  }

  handleDataRow({ fields }: { readonly fields: ReadonlyArray<string | null> }): void {
    if (this.#rows.length === this.#query.maxRows) return this.handlePortalSuspended()
    // Else few bytes could stand for very many values.
    if (fields.length !== this.#columns.length) throw new Error("a row of another form")
    const values = this.#columns.map(({ dataTypeID, name }, index): [string, Json] => {
      const text = fields[index] ?? null
      return [name, text === null ? null : fromText(text, dataTypeID, this.#readArray)]
    })
    this.#rows.push(Object.fromEntries(values))
  }

  handlePortalSuspended(): void {
    const most = this.#query.maxRows
    this.#onEnd(
      failure(`The statement gives more than ${most} rows: add a LIMIT, or raise maxRows`),
    )
  }

  handleEmptyQuery(): void {
    this.#onEnd(failure("The statement is empty"))
  }

  handleCommandComplete({ text }: { readonly text: string }): void {
    this.#count = countIn(text)
  }

  handleReadyForQuery(): void {
    this.#onEnd({ rows: this.#rows, count: this.#count })
  }

  handleError(error: Error): void {
    this.#onEnd(error)
  }

  handleCopyInResponse(): void {
    this.#onEnd(failure("COPY cannot be used here"))
  }

  handleCopyData(): void {
    this.handleCopyInResponse()
  }

  #bind(wire: Wire, types: ReadonlyArray<number>): void {
    const { maxRows, parameters } = this.#query
    if (types.length !== parameters.length) {
      const given = `${parameters.length} are given`
      const message = `The statement has ${types.length} parameters, and ${given}`
      return this.#onEnd(failure(message))
    }
    wire.bind({ values: parameters.map((value, index) => toText(value, types[index] ?? 0)) })
    wire.execute({ rows: maxRows + 1 })
    wire.sync()
  }
}
