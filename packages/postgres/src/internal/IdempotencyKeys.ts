/**
 * The names of starts: what a commit remembers beside a new run, so that a repeated start finds it.
 *
 * Guarantees: a name holds by the database's clock, and exactly as long as its commit said. Leaves
 * out: taking a name, which is part of the statement that writes the run.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { KnownStart } from "@millrace/core/domain/Idempotency"
import { Effect, Option, Schedule, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"
import * as Rows from "./Rows.ts"

/** The database's clock. A statement that waited for another one sees how late it is. */
export const nowMillis = millisOf("clock_timestamp()")

/** How many names that no longer hold one statement removes at most. */
const removedAtOnce = 10_000

/** The run that an account has started under a name that still holds. */
export const find = (
  sql: SqlClient,
  account: AccountId,
  key: string,
): Effect.Effect<Option.Option<KnownStart>, SqlError> =>
  Effect.map(
    sql<KnownStart>`
      SELECT run_id AS "runId", body_hash AS "bodyHash" FROM start_keys
      WHERE account_id = ${account} AND key = ${Rows.text(key)}
        AND expires_at > ${sql.literal(nowMillis)}`,
    (rows) => Option.fromUndefinedOr(rows[0]),
  )

/** Removes names that no longer hold, some at a time. */
const removeSome = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe(`
      DELETE FROM start_keys WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM start_keys WHERE expires_at <= ${nowMillis}
        ORDER BY expires_at LIMIT ${removedAtOnce} FOR UPDATE SKIP LOCKED
      )) RETURNING 1`),
    (rows) => rows.length,
  )

/** Removes, now and then, what no longer holds. */
export const keepTidy = (sql: SqlClient): Effect.Effect<void, never, Scope.Scope> =>
  removeSome(sql).pipe(
    Effect.repeat({ while: (count) => count === removedAtOnce }),
    Effect.catch((error) => Effect.logWarning("could not remove old names of starts", error)),
    Effect.delay("10 minutes"),
    Effect.repeat(Schedule.forever),
    Effect.forkScoped,
    Effect.asVoid,
  )
