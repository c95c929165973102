/**
 * Removes rows that have expired by the database's clock, in the background.
 *
 * Guarantees: a row that somebody has locked is left for the next time.
 */
import { Effect, Schedule, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"

/** How many expired rows one statement removes at most. */
const removedAtOnce = 10_000

type Table = "start_keys" | "workflow_signals"

/** Removes some expired rows, and returns how many. */
const removeSome = (sql: SqlClient, table: Table): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe(`
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE expires_at <= ${millisOf("clock_timestamp()")}
        ORDER BY expires_at LIMIT ${removedAtOnce} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`),
    (rows) => rows.length,
  )

/** Removes expired rows of a table every ten minutes, until the scope closes. */
export const keepTidy = (sql: SqlClient, table: Table): Effect.Effect<void, never, Scope.Scope> =>
  removeSome(sql, table).pipe(
    Effect.repeat({ while: (count) => count === removedAtOnce }),
    Effect.catch((error) => Effect.logWarning(`could not remove expired ${table}`, error)),
    Effect.delay("10 minutes"),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped,
    Effect.asVoid,
  )
