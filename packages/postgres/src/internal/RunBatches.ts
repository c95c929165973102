/**
 * Reads several runs, whose payloads together are within a bound of bytes.
 *
 * Guarantees: one statement. The database measures payloads and does not send those beyond the
 * bound. Leaves out: what is a payload; see `core/domain/RunPayload`.
 */
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type { RunRecord } from "@millrace/core/domain/Run"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "./Rows.ts"
import * as StoredInputs from "./StoredInputs.ts"
import type { Part } from "./RunRecords.ts"
import { assemble } from "./RunRecords.ts"

const ofRuns = ["input_values", "output"]
const ofNodes = [StoredInputs.name, "output", "logs"]

/** The bytes of columns as JSON text. */
const bytesOf = (alias: string, columns: ReadonlyArray<string>): string =>
  columns
    .map((name) =>
      name === StoredInputs.name
        ? StoredInputs.bytesOf(`${alias}.${name}`)
        : `coalesce(octet_length(${alias}.${name}::text), 0)`,
    )
    .join(" + ")

/** The domain's object of a row. Leaves out the payloads if they do not fit. */
const objectOf = <Row>(table: Rows.Table<Row>, alias: string, payloads: ReadonlyArray<string>) => {
  const isPayload = ({ name }: Rows.Table<Row>[number]) => payloads.includes(name)
  const fitting = table
    .filter(isPayload)
    .map(({ name, property }) => `CASE WHEN f.fits THEN ${alias}.${name} END AS "${property}"`)
  const rest = table.filter((column) => !isPayload(column))
  return Rows.object(rest, alias, ...fitting)
}

// OFFSET 0 makes Postgres look up rows by key, as in RunRecords.
const parts = `
WITH chosen AS MATERIALIZED (
  SELECT r.*, wanted.place FROM unnest(${Rows.unseen("$1::text[]")}) WITH ORDINALITY
    AS wanted (id, place) CROSS JOIN LATERAL (
    SELECT * FROM runs r WHERE r.id = wanted.id AND ${Rows.isOf("r.account_id", "$2")} OFFSET 0
  ) r
), sized AS MATERIALIZED (
  SELECT r.number, r.place, ${bytesOf("r", ofRuns)} + coalesce(n.bytes, 0) AS bytes
  FROM chosen r CROSS JOIN LATERAL (
    SELECT sum(${bytesOf("n", ofNodes)}) AS bytes FROM node_runs n WHERE n.run = r.number OFFSET 0
  ) n
), fitting AS MATERIALIZED (
  SELECT number, bytes <= $3::int8 AND
    sum(CASE WHEN bytes <= $3::int8 THEN bytes ELSE 0 END) OVER (ORDER BY place) <= $3::int8 AS fits
  FROM sized
)
SELECT r.id, ${objectOf(Rows.runs, "r", ofRuns)} AS run, NULL::json AS definition,
  NULL::json AS node, NOT f.fits AS omitted
FROM chosen r JOIN fitting f ON f.number = r.number
UNION ALL
SELECT d.id, NULL, ${Rows.object(Rows.definitions, "d")}, NULL, false
FROM (SELECT DISTINCT definition_id FROM chosen) c CROSS JOIN LATERAL (
  SELECT * FROM definitions d WHERE d.id = c.definition_id OFFSET 0
) d
UNION ALL
SELECT r.id, NULL, NULL, ${objectOf(Rows.nodeRuns, "n", ofNodes)}, false
FROM chosen r JOIN fitting f ON f.number = r.number CROSS JOIN LATERAL (
  SELECT * FROM node_runs n WHERE n.run = r.number OFFSET 0
) n`

interface Bounded extends Part {
  readonly omitted: boolean
}

/** The records of an account's runs, each once, with payloads up to a number of bytes. */
export const read = (
  sql: SqlClient,
  account: AccountId,
  ids: ReadonlyArray<RunId>,
  mostBytes: number,
): Effect.Effect<ReadonlyArray<RunRecord>, SqlError> => {
  const unique = [...new Set(ids.map(Rows.text))]
  return Effect.map(sql.unsafe<Bounded>(parts, [unique, account, mostBytes]), (rows) => {
    const omitted = new Set(rows.flatMap(({ id, omitted: isOmitted }) => (isOmitted ? [id] : [])))
    return assemble(rows).map((record) =>
      omitted.has(record.run.id)
        ? { ...record, run: { ...record.run, values: {} }, omitted: true }
        : record,
    )
  })
}
