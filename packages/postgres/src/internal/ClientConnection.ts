/**
 * A client of the package `pg` as a connection of the stores, for statements inside a transaction
 * that the caller has begun on it.
 *
 * Arrays and numbers travel as text, so the database knows their types from the statement.
 * Guarantees: values are read as over a connection of the stores, whatever parsers the caller has
 * set; nothing is prepared under a name. Leaves out: streams.
 */
import { PgTypes } from "@effect/sql-pg"
import { Effect, Stream } from "effect"
import type { Connection } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"

/** A statement as the package `pg` takes it. */
interface Query {
  readonly text: string
  readonly values: Array<unknown>
  readonly types: { readonly getTypeParser: (oid: number) => (text: string) => unknown }
}

/** What is needed of a client. */
export interface QueryClient {
  query(query: Query): Promise<{ readonly rows: ReadonlyArray<object> }>
}

/** True for what looks like a client. */
export const isQueryClient = (client: unknown): client is QueryClient =>
  typeof client === "object" &&
  client !== null &&
  typeof (client as Partial<QueryClient>).query === "function"

const { OID } = PgTypes
const bytes = (text: string) => new Uint8Array(Buffer.from(text.slice(2), "hex"))
const parsers = new Map<number, (text: string) => unknown>([
  [OID.bool, (text) => text === "t"],
  [OID.int2, Number],
  [OID.int4, Number],
  [OID.int8, BigInt],
  [OID.float4, Number],
  [OID.float8, Number],
  [OID.json, JSON.parse],
  [OID.jsonb, JSON.parse],
  [OID.bytea, bytes],
])
const asText = (text: string): unknown => text
const types: Query["types"] = { getTypeParser: (oid) => parsers.get(oid) ?? asText }

const bare = (value: unknown): unknown => (PgTypes.isParameter(value) ? value.value : value)

/** The connection over a client. The caller gives the client back. */
export const make = (client: QueryClient): Connection => {
  const ask = (text: string, values: ReadonlyArray<unknown>) =>
    Effect.tryPromise({
      try: () => client.query({ text, values: values.map(bare), types }),
      catch: (cause) =>
        new SqlError({ reason: new UnknownError({ cause, message: "The statement failed" }) }),
    })
  const execute: Connection["execute"] = (text, values, transform) =>
    Effect.map(ask(text, values), ({ rows }) => transform?.(rows) ?? rows)
  const executeValues: Connection["executeValues"] = (text, values) =>
    Effect.map(ask(text, values), ({ rows }) =>
      rows.map((row) => Object.values<unknown>({ ...row })),
    )
  return {
    execute,
    executeUnprepared: execute,
    executeRaw: ask,
    executeValues,
    executeValuesUnprepared: executeValues,
    executeStream: () => Stream.die("A transaction of a caller has no streams"),
  }
}
