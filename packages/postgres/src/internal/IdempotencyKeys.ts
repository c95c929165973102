/**
 * Idempotency keys. The commit of a new run stores its key, so a repeated start finds the run.
 *
 * Guarantees: a key expires by the database's clock, at the time that its commit has set. Leaves
 * out: storing a key, which is part of the statement that writes the run.
 */
import type { KnownStart } from "@millrace/core/domain/Idempotency"
import type { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import type { DatabasePort } from "./DatabaseError.ts"
import * as Rows from "./Rows.ts"

/** The database's clock: the time now, even if the statement has waited for a lock. */
export const nowMillis = millisOf("clock_timestamp()")

/** The method of the port that finds the run of a key, unless the key has expired. */
export const make = (sql: SqlClient) =>
  ({
    findStart: (account, key) =>
      Effect.map(
        sql<KnownStart>`
          SELECT run_id AS "runId", body_hash AS "bodyHash" FROM start_keys
          WHERE account_id = ${account} AND key = ${Rows.text(key)}
            AND expires_at > ${sql.literal(nowMillis)}`,
        (rows) => Option.fromUndefinedOr(rows[0]),
      ),
  }) satisfies Partial<DatabasePort<RunStore["Service"]>>
