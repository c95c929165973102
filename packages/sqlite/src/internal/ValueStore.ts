/**
 * The store of large values, each in one row.
 *
 * Guarantees: a listing reads no values. Leaves out: which values are large.
 */
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ValueKey, WrittenValue } from "@millrace/core/ports/ValueStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Effect, Layer, Option, Stream } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"

const put = (
  db: Connection,
  { account, id, runId }: ValueKey,
  bytes: Uint8Array,
  now: Timestamp,
): void => {
  // Node 22 gives NULL for no bytes, and back.
  db.run(
    `INSERT OR IGNORE INTO run_values (run_id, id, account_id, written_at, bytes)
     VALUES (?, ?, ?, ?, coalesce(?, zeroblob(0)))`,
    runId,
    id,
    account,
    now,
    bytes,
  )
}

const read = (db: Connection, { account, id, runId }: ValueKey) =>
  db
    .query<{ readonly bytes: Uint8Array | null }>(
      `SELECT bytes FROM run_values WHERE run_id = ? AND id = ? AND account_id = ?`,
      runId,
      id,
      account,
    )
    .first()

const remove = (db: Connection, keys: ReadonlyArray<ValueKey>): void => {
  for (const { account, id, runId } of keys) {
    db.run(
      `DELETE FROM run_values WHERE run_id = ? AND id = ? AND account_id = ?`,
      runId,
      id,
      account,
    )
  }
}

const listStatement = `SELECT account_id AS account, run_id AS "runId", id,
    written_at AS "writtenAt" FROM run_values
  WHERE (run_id, id, account_id) > (?, ?, ?) ORDER BY run_id, id, account_id LIMIT ?`

const list = (db: Connection, after: ValueKey | undefined, limit: number) =>
  db
    .query<WrittenValue>(
      listStatement,
      after?.runId ?? "",
      after?.id ?? "",
      after?.account ?? "",
      limit,
    )
    .all()
    .map(({ account, id, runId, writtenAt }): WrittenValue => ({ account, runId, id, writtenAt }))

const make = (db: Connection): ValueStore["Service"] =>
  ValueStore.of({
    put: (key, bytes) => db.write("ValueStore.put", (now) => put(db, key, bytes, now)),
    read: (key) =>
      db.read("ValueStore.read", () =>
        Option.map(Option.fromUndefinedOr(read(db, key)), ({ bytes }) =>
          Stream.succeed(bytes ?? new Uint8Array()),
        ),
      ),
    remove: (keys) => db.write("ValueStore.remove", () => remove(db, keys)),
    list: (after, limit) => db.read("ValueStore.list", () => list(db, after, limit)),
  })

/** The store of large values of a database. */
export const layer: Layer.Layer<ValueStore, never, Database> = Layer.effect(
  ValueStore,
  Effect.map(Database, make),
)
