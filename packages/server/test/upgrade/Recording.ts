/**
 * A database that an earlier version of this software left behind, as a file: its tables as they
 * were made, its rows, and what a test has to know to go on with it.
 *
 * Guarantees: rows come back as they were, but for two things: times are moved so that the
 * recording was made half a minute ago, and the receiver's port is the one that the test listens
 * on. Leaves out: everything that a database makes by itself.
 */
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { withSql } from "../kill/Sql.ts"

/** What is kept of a database. */
export interface Recording {
  /** When it was recorded, in milliseconds since the epoch. */
  readonly recordedAt: number
  /** The secret of an API key. */
  readonly secret: string
  /** The runs, by what they did when their server died. */
  readonly runs: Readonly<Record<string, string>>
  /** The path of an inbound webhook of the workflow `ended`; absent before there were any. */
  readonly hook?: string
  /** What made the tables, in order. */
  readonly statements: ReadonlyArray<string>
  /** By table, each row as JSON text. */
  readonly rows: Readonly<Record<string, ReadonlyArray<string>>>
}

/** Stands for the receiver's address. */
export const receiverMark = "127.0.0.1:54321"

/** A time as a number of its own. */
const times = /(?<=[:[,\s]|\\")1[789]\d{11}(?=[,\]}\s]|\\")/g

/** So long ago that whatever waits is due, and the lease of the server that died has run out. */
const agoMillis = 35_000

/** Reads a recording, moved to a time shortly ago and to a receiver. */
export const read = (schema: number, port: number): Recording => {
  const text = readFileSync(new URL(`schema-${schema}.json`, import.meta.url), "utf8")
  const recording = JSON.parse(text.replaceAll(receiverMark, `127.0.0.1:${port}`)) as Recording
  const moved = Date.now() - agoMillis - recording.recordedAt
  const move = (row: string) => row.replace(times, (time) => String(Number(time) + moved))
  const rows = Object.entries(recording.rows).map(([table, all]) => [table, all.map(move)])
  return { ...recording, rows: Object.fromEntries(rows) }
}

/** Fills an empty database. */
export const load = (url: string, { rows, statements }: Recording): Promise<unknown> =>
  withSql(url, (sql) =>
    Effect.gen(function* () {
      for (const statement of statements) yield* sql.unsafe(statement)
      // No foreign key is looked at, so that tables can come in any order.
      yield* sql`SET session_replication_role = replica`
      for (const [table, all] of Object.entries(rows)) {
        // What a table computes by itself cannot be inserted.
        const columns = yield* sql<{ readonly name: string }>`
          SELECT quote_ident(column_name) AS name FROM information_schema.columns
          WHERE table_name = ${table} AND table_schema = current_schema()
            AND is_generated = 'NEVER'`
        const names = columns.map(({ name }) => name).join(", ")
        yield* sql.unsafe(
          `INSERT INTO ${table} (${names}) OVERRIDING SYSTEM VALUE
            SELECT ${names} FROM json_populate_recordset(NULL::${table}, $1::json)`,
          [`[${all.join(",")}]`],
        )
      }
      const counted = yield* sql<{ readonly name: string; readonly place: string }>`
        SELECT table_name AS name, column_name AS place FROM information_schema.columns
        WHERE is_identity = 'YES' AND table_schema = current_schema()`
      for (const { name, place } of counted) {
        yield* sql.unsafe(`SELECT setval(pg_get_serial_sequence('${name}', '${place}'),
          (SELECT coalesce(max(${place}), 0) + 1 FROM ${name}), false)`)
      }
    }),
  )
