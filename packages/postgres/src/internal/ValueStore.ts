/**
 * The store of large values on Postgres: each in parts, which are compressed.
 *
 * Guarantees: no row holds more than 256 KiB of a value; a value is written by one statement. Its
 * rows refer to the row of its run and are removed with it. Leaves out: which values are large.
 */
import { PgTypes } from "@effect/sql-pg"
import type { ValueKey, WrittenValue } from "@millrace/core/ports/ValueStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect, Layer, Option, Result, Stream } from "effect"
import { StorageError } from "@millrace/core/ports/StorageError"
import { SqlClient } from "effect/sql/SqlClient"
import { promisify } from "node:util"
import { deflateRaw, inflateRaw } from "node:zlib"
import { millisOf } from "./DatabaseClock.ts"
import { databasePort } from "./DatabaseError.ts"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

/** What no compression makes smaller grows by less than the rest of 256 KiB. */
const partBytes = 261_120

const compress = promisify(deflateRaw)
const expand = promisify(inflateRaw)

const putStatement = `
INSERT INTO run_values (account_id, run_id, id, part, bytes, written_at)
SELECT $1, $2, $3, p.part, p.bytes, ${millisOf("clock_timestamp()")}
FROM unnest($4::int4[], $5::bytea[]) AS p (part, bytes)
ON CONFLICT (run_id, id, part) DO NOTHING`

const readStatement = `
SELECT v.bytes, EXISTS (
  SELECT FROM run_values n WHERE n.run_id = v.run_id AND n.id = v.id AND n.part = v.part + 1
) AS more
FROM run_values v
WHERE v.run_id = $2 AND v.id = $3 AND v.part = $4 AND ${Rows.isOf("v.account_id", "$1")}`

const removeStatement = `
DELETE FROM run_values v USING unnest($1::text[], $2::text[], $3::text[]) AS k (account, run, id)
WHERE v.run_id = k.run AND v.id = k.id AND v.account_id = k.account`

const listStatement = `
SELECT json_build_object(
  'account', account_id, 'runId', run_id, 'id', id, 'writtenAt', written_at
) AS value
FROM run_values WHERE part = 0 AND (run_id, id) > ($1, $2) ORDER BY run_id, id LIMIT $3`

/** A part of a value, and its number. */
interface Place {
  readonly part: Part
  readonly number: number
}

const incomplete = new StorageError({
  operation: "ValueStore.read",
  cause: new Error("a part of the value is gone"),
})

interface Part {
  readonly bytes: Uint8Array
  readonly more: boolean
}

const arrayOf = (items: ReadonlyArray<unknown>, type: number) =>
  Result.getOrThrow(PgTypes.array(items as never, type))

const textsOf = (keys: ReadonlyArray<ValueKey>, of: (key: ValueKey) => string) =>
  arrayOf(
    keys.map((key) => Rows.text(of(key))),
    PgTypes.OID.text,
  )

/** The parts of a value, compressed on other threads. */
const partsOf = (bytes: Uint8Array): Effect.Effect<ReadonlyArray<Uint8Array>> => {
  const count = Math.max(1, Math.ceil(bytes.length / partBytes))
  return Effect.forEach(Array.from({ length: count }).keys(), (part) =>
    Effect.promise(() => compress(bytes.subarray(part * partBytes, (part + 1) * partBytes))),
  )
}

/** The port, with the parts of values in the place of streams. */
interface Parts extends Omit<ValueStore["Service"], "read"> {
  readonly part: (key: ValueKey, part: number) => Effect.Effect<Part | undefined, StorageError>
}

const parametersOf = ({ account, id, runId }: ValueKey) => [
  account,
  Rows.text(runId),
  Rows.text(id),
]

const portOver = (sql: SqlClient): Parts =>
  databasePort<Parts>("ValueStore", {
    put: (key, bytes) =>
      Effect.flatMap(partsOf(bytes), (parts) => {
        const numbers = arrayOf([...parts.keys()], PgTypes.OID.int4)
        const parameters = [...parametersOf(key), numbers, arrayOf(parts, PgTypes.OID.bytea)]
        return Effect.asVoid(sql.unsafe(putStatement, parameters))
      }),
    part: (key, part) =>
      Effect.map(sql.unsafe<Part>(readStatement, [...parametersOf(key), part]), ([row]) => row),
    remove: (keys) =>
      Effect.asVoid(
        sql.unsafe(removeStatement, [
          textsOf(keys, ({ account }) => account),
          textsOf(keys, ({ runId }) => runId),
          textsOf(keys, ({ id }) => id),
        ]),
      ),
    list: (after, limit) =>
      values<WrittenValue>(sql, listStatement, [
        Rows.text(after?.runId ?? ""),
        Rows.text(after?.id ?? ""),
        limit,
      ]),
  })

const contentOf = ({ bytes }: Part): Effect.Effect<Uint8Array> =>
  Effect.promise(() => expand(bytes))

/** The parts of a value from the first one on, which was read to see that there is one. */
const streamOf = (port: Parts, key: ValueKey, first: Part) =>
  Stream.unfold<Place | undefined, Uint8Array, StorageError, never>(
    { part: first, number: 0 },
    (at) =>
      Effect.gen(function* () {
        if (at === undefined) return undefined
        const bytes = yield* contentOf(at.part)
        if (!at.part.more) return [bytes, undefined] as const
        const number = at.number + 1
        const part = yield* port.part(key, number)
        if (part === undefined) return yield* incomplete
        return [bytes, { part, number }] as const
      }),
  )

const make = Effect.gen(function* () {
  const { part, ...port } = portOver((yield* SqlClient).withoutTransforms())
  return ValueStore.of({
    ...port,
    read: (key) =>
      Effect.map(part(key, 0), (first) =>
        Option.map(Option.fromUndefinedOr(first), (known) =>
          streamOf({ ...port, part }, key, known),
        ),
      ),
  })
})

/** A store of large values. Its tables must exist. */
export const layer: Layer.Layer<ValueStore, never, SqlClient> = Layer.effect(ValueStore, make)
