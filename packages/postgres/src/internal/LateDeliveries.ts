/**
 * Deliveries that were made, as somebody tells whose claim has run out meanwhile: he was paused, or
 * the database was away.
 *
 * Guarantees: one transaction for each, under the locks that a settlement takes and in their order.
 * Such a settlement is rare, so the statement that settles knows nothing of it.
 */
import type { AttemptRecord } from "@millrace/core/ports/WebhookStore"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"
import * as Rows from "./Rows.ts"

const nowMillis = millisOf("clock_timestamp()")

const lockOnItsWay = "SELECT FROM due_deliveries WHERE id = $1 FOR UPDATE"
const lockDelivery = "SELECT FROM deliveries WHERE id = $1 FOR UPDATE"

/** True where somebody has asked for it since that attempt, which then does not end it. */
const isOutdated = "i.earlier IS NOT NULL AND $2::int4 <= i.earlier"

// An attempt of this number is logged as unknown, or nobody has settled it yet.
const statement = `
WITH it AS MATERIALIZED (
  SELECT d.number, q.id AS due, q.begun, q.earlier, q.claimed_at,
    greatest(d.begun, coalesce(q.begun, 0)) AS all_begun,
    greatest(d.fence, coalesce(q.fence, 0)) AS last_fence
  FROM deliveries d
  LEFT JOIN due_deliveries q ON q.id = d.id
  LEFT JOIN delivery_attempts a ON a.delivery = d.number AND a.number = $2::int4
  WHERE d.id = $1 AND (a.error = 'unknown'
    OR (a.number IS NULL AND q.begun = $2::int4 AND q.claimed_at IS NOT NULL))
), made AS (
  INSERT INTO delivery_attempts AS a
    (delivery, number, at, duration_millis, status, answer, delivered_at, fence)
  SELECT number, $2::int4, $3::int8, $4::int4, $5::int4, $6::text, ${nowMillis}, last_fence FROM it
  ON CONFLICT (delivery, number) DO UPDATE SET at = excluded.at, error = NULL, next_at = NULL,
    duration_millis = excluded.duration_millis, status = excluded.status, answer = excluded.answer,
    delivered_at = excluded.delivered_at, fence = excluded.fence
), under_way AS (
  INSERT INTO delivery_attempts (delivery, number, at, error)
  SELECT number, begun, claimed_at, 'unknown' FROM it i
  WHERE claimed_at IS NOT NULL AND begun > $2::int4 AND NOT (${isOutdated})
), over AS (
  DELETE FROM due_deliveries q USING it i WHERE q.id = i.due AND NOT (${isOutdated})
), delivered AS (
  UPDATE deliveries d
  SET trouble = NULL, settled_at = NULL, begun = i.all_begun, fence = i.last_fence
  FROM it i WHERE d.number = i.number AND NOT (${isOutdated})
)
SELECT number FROM it`

/** Takes note of a delivery that was made; false when there is nothing that it could belong to. */
export const settle = (
  sql: SqlClient,
  { attempt, id, next, number }: AttemptRecord,
): Effect.Effect<boolean, SqlError> => {
  if (attempt === null || next._tag !== "Delivered") return Effect.succeed(false)
  const key = [Rows.text(id)]
  const locks = [sql.unsafe(lockOnItsWay, key), sql.unsafe(lockDelivery, key)]
  const note = sql.unsafe(statement, [
    ...key,
    number,
    PgTypes.float8(attempt.at),
    attempt.durationMillis,
    attempt.status,
    attempt.answer === null ? null : Rows.text(attempt.answer),
  ])
  return sql.withTransaction(
    Effect.map(
      Effect.andThen(Effect.all(locks, { discard: true }), note),
      (rows) => rows.length > 0,
    ),
  )
}
