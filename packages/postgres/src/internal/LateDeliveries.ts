/**
 * Records that arrive after their claim has expired, because the process was paused or the database
 * could not be reached.
 *
 * Guarantees: each record is one transaction, which takes the same locks in the same order as a
 * record in time. `DeliveryStep` decides what is written. Late records are rare, so they have
 * their own statements.
 */
import type { AttemptError } from "@millrace/core/domain/Delivery"
import type { DeliveryStanding, LateChange } from "@millrace/core/domain/DeliveryStep"
import { lateChangeOf } from "@millrace/core/domain/DeliveryStep"
import type { AttemptRecord } from "@millrace/core/ports/WebhookStore"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as Rows from "./Rows.ts"

const lockDue = "SELECT FROM due_deliveries WHERE id = $1 FOR UPDATE"
const lockDelivery = "SELECT FROM deliveries WHERE id = $1 FOR UPDATE"

/** A delivery, and the log's entry of one attempt. */
interface Found {
  readonly delivery: string
  readonly now: number
  readonly standing: DeliveryStanding
  readonly attempts: ReadonlyArray<{ readonly error: AttemptError | null }>
}

const findStatement = `
SELECT d.number::text AS delivery, ${millisOf("clock_timestamp()")}::float8 AS now,
  json_build_object('state', s.state, 'attempts', s.begun, 'earlier', coalesce(q.earlier, 0),
    'fence', s.fence, 'dueAt', s.due_at, 'claimedAt', q.claimed_at, 'heldUntil', NULL,
    'settledAt', s.settled_at, 'isGone', d.is_gone) AS standing,
  coalesce((SELECT json_agg(json_build_object('error', l.error)) FROM delivery_attempts l
    WHERE l.delivery = d.number AND l.number = $2::int4), '[]') AS attempts
FROM deliveries d ${DeliveryRows.standing} WHERE d.id = $1`

const columns = Rows.names(DeliveryRows.attempts)

const logStatement = `
INSERT INTO delivery_attempts (delivery, ${columns}, delivered_at, fence)
SELECT $1::text::int8, ${columns}, CASE WHEN error IS NULL THEN $2::int8 END,
  CASE WHEN error IS NULL THEN $3::int4 END
FROM ${Rows.source(DeliveryRows.attempts, "l", 4)}
ON CONFLICT (delivery, number) DO UPDATE SET (${columns}, delivered_at, fence) =
  (${Rows.names(DeliveryRows.attempts, "excluded")}, excluded.delivered_at, excluded.fence)`

const endStatement = `
WITH over AS (DELETE FROM due_deliveries WHERE id = $4)
UPDATE deliveries SET trouble = NULL, settled_at = NULL, begun = $2::int4, fence = $3::int4
WHERE number = $1::text::int8`

const write = (
  sql: SqlClient,
  id: string,
  { delivery, now }: Found,
  { log, standing }: LateChange,
) => {
  const { attempts, dueAt, fence } = standing
  const rows = Rows.parameters(DeliveryRows.attempts, log)
  const logged = sql.unsafe(logStatement, [delivery, PgTypes.float8(now), fence, ...rows])
  return dueAt === null
    ? Effect.andThen(logged, sql.unsafe(endStatement, [delivery, attempts, fence, id]))
    : logged
}

/** Records a late attempt, if it still counts. False if it does not. */
export const record = (sql: SqlClient, late: AttemptRecord): Effect.Effect<boolean, SqlError> => {
  // A late attempt counts only if it delivered.
  if (late.next._tag !== "Delivered") return Effect.succeed(false)
  const id = Rows.text(late.id)
  return sql.withTransaction(
    Effect.gen(function* () {
      yield* sql.unsafe(lockDue, [id])
      yield* sql.unsafe(lockDelivery, [id])
      const [found] = yield* sql.unsafe<Found>(findStatement, [id, late.number])
      if (found === undefined) return false
      const { attempts, now, standing } = found
      const change = lateChangeOf(standing, late, attempts[0]?.error, now)
      if (change !== undefined) yield* write(sql, id, found, change)
      return change !== undefined
    }),
  )
}
