/**
 * Claims deliveries and records their attempts, by the database's clock.
 *
 * Guarantees: each operation is one statement. Only one claim holds a delivery: a claim skips the
 * deliveries that another one is taking, and a record needs the fence of its claim. Leaves out:
 * gathering records into statements.
 */
import { PgTypes } from "@effect/sql-pg"
import type {
  AttemptRecord,
  Claim,
  ClaimedDelivery,
  WebhookStore,
} from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { DatabasePort } from "./DatabaseError.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as DeliverySteps from "./DeliverySteps.ts"
import { isFree, isNotClaimed, nowMillis } from "./DeliverySteps.ts"
import * as LateDeliveries from "./LateDeliveries.ts"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

/** The condition that a secret still signs. */
export const isLive = `(expires_at IS NULL OR expires_at > ${nowMillis})`

/**
 * Claims the deliveries of the part `chosen`, for as long as the first parameter says. That part
 * has `id`, `claimed_at`, and `few`, a text that makes the planner expect few rows.
 */
const taken = `
taken AS MATERIALIZED (
  UPDATE due_deliveries q
  SET ${DeliverySteps.claimed}
  FROM chosen c WHERE q.id = c.id AND c.few = 'taken'
  RETURNING q.id, q.delivery, q.account_id, q.run_id, q.fence, q.begun, q.earlier,
    c.claimed_at AS lost_at
), secret AS MATERIALIZED (
  SELECT a.account_id, (
    SELECT json_agg(s.sealed ORDER BY s.created_at, s.id) FROM webhook_secrets s
    WHERE s.account_id = a.account_id AND ${isLive}
  ) AS sealed
  FROM (SELECT DISTINCT account_id FROM taken) a
)`

/** The properties of a claim. */
const said = `
  'id', t.id, 'fence', t.fence, 'attempt', t.begun, 'earlier', t.earlier, 'lostAt', t.lost_at,
  'isGone', EXISTS (SELECT FROM deliveries g WHERE g.run_id = t.run_id AND g.is_gone),
  'secrets', coalesce(s.sealed, '[]')`

const source = "FROM taken t JOIN secret s USING (account_id)"

// A partition is an account and an origin. The statement jumps from one partition to the next in
// the index, so a long partition costs as much as a short one and does not delay the others.
const claimDueStatement = `
WITH RECURSIVE partition (account_id, origin) AS (
  (SELECT account_id, origin FROM due_deliveries ORDER BY account_id, origin LIMIT 1)
  UNION ALL
  SELECT n.account_id, n.origin FROM partition l CROSS JOIN LATERAL (
    SELECT account_id, origin FROM due_deliveries
    WHERE (account_id, origin) > (l.account_id, l.origin) ORDER BY account_id, origin LIMIT 1
  ) n
), busy AS MATERIALIZED (
  SELECT * FROM ${Rows.source(DeliveryRows.busy, "b", 5)}
), room AS MATERIALIZED (
  SELECT l.account_id, l.origin,
    coalesce((SELECT sum(count) FROM busy b WHERE b.origin = l.origin), 0) AS of_origin,
    coalesce((SELECT sum(count) FROM busy b WHERE b.account_id = l.account_id), 0) AS of_account
  FROM partition l
), candidate AS MATERIALIZED (
  SELECT d.*, r.of_origin, r.of_account FROM room r CROSS JOIN LATERAL (
    SELECT * FROM due_deliveries d
    WHERE d.account_id = r.account_id AND d.origin = r.origin AND ${isFree}
    ORDER BY d.due_at, d.delivery
    LIMIT least($2::int8, greatest(least($3::int8 - r.of_origin, $4::int8 - r.of_account), 0))
    FOR UPDATE SKIP LOCKED
  ) d
), chosen AS MATERIALIZED (
  SELECT id, claimed_at, 'taken' AS few FROM (
    SELECT c.*,
      of_origin + row_number() OVER (PARTITION BY origin ORDER BY due_at, delivery) AS nth_origin,
      of_account + row_number() OVER (PARTITION BY account_id ORDER BY due_at, delivery) AS nth
    FROM candidate c
  ) c
  WHERE nth_origin <= $3::int8 AND nth <= $4::int8 ORDER BY due_at, delivery LIMIT $2::int8
), ${taken}
SELECT json_build_object(${said},
  'createdAt', d.created_at, 'delivery', ${Rows.object(DeliveryRows.deliveries, "d")}
) AS value
${source} CROSS JOIN LATERAL (SELECT * FROM deliveries d WHERE d.number = t.delivery OFFSET 0) d
ORDER BY t.delivery`

const claimStatement = `
WITH chosen AS MATERIALIZED (
  SELECT q.id, q.claimed_at, 'taken' AS few
  FROM unnest(${Rows.unseen("$2::text[]")}) AS w (id) CROSS JOIN LATERAL (
    SELECT * FROM due_deliveries q WHERE q.id = w.id AND ${isFree} FOR UPDATE SKIP LOCKED
  ) q
), ${taken}
SELECT coalesce(json_agg(json_build_object(${said}) ORDER BY t.delivery), '[]') AS value ${source}`

const attemptColumns = "at, duration_millis, status, error, answer"

// Returns the records that it could not write: there are hardly any.
const recordStatement = `
WITH said AS MATERIALIZED (
  SELECT * FROM ${Rows.source(DeliveryRows.attemptRecords, "s", 1)}
), held AS MATERIALIZED (
  SELECT s.*, q.delivery, q.run_id, 'held' AS few FROM said s CROSS JOIN LATERAL (
    SELECT delivery, run_id FROM due_deliveries q
    WHERE q.id = s.id AND q.fence = s.fence AND q.begun = s.number AND q.claimed_at IS NOT NULL
    FOR UPDATE
  ) q
), logged AS (
  INSERT INTO delivery_attempts
    (delivery, number, next_at, ${attemptColumns}, delivered_at, fence)
  SELECT delivery, number, ${nowMillis} + delay, ${attemptColumns},
    CASE WHEN state = 'DELIVERED' THEN ${nowMillis} END,
    CASE WHEN state = 'DELIVERED' THEN fence END
  FROM held WHERE at IS NOT NULL
), again AS (
  UPDATE due_deliveries q
  SET claimed_at = NULL, held_until = NULL, due_at = ${nowMillis} + h.delay,
    begun = h.begun
  FROM held h WHERE q.id = h.id AND h.state = 'PENDING' AND h.few = 'held'
), left_behind AS (
  DELETE FROM due_deliveries q USING held h
  WHERE q.id = h.id AND h.state <> 'PENDING' AND h.few = 'held'
), failed AS (
  UPDATE deliveries d
  SET trouble = h.state, begun = h.begun, fence = h.fence, settled_at = ${nowMillis},
    is_gone = h.gone IS NOT NULL
  FROM held h WHERE d.number = h.delivery AND h.state = 'FAILED' AND h.few = 'held'
), receiver_gone AS (
  UPDATE due_deliveries q SET ${DeliverySteps.receiverGone} FROM (
    SELECT q.id FROM held h CROSS JOIN LATERAL (
      SELECT id FROM deliveries d WHERE d.run_id = h.run_id OFFSET 0
    ) d CROSS JOIN LATERAL (
      SELECT id FROM due_deliveries q
      WHERE q.id = d.id AND ${isNotClaimed} FOR UPDATE SKIP LOCKED
    ) q WHERE h.gone = 'gone'
  ) g WHERE q.id = g.id
)
SELECT id FROM said WHERE id NOT IN (SELECT id FROM held)`

/** Records attempts. False for an attempt that came too late to count. */
export const record = Effect.fnUntraced(function* (
  sql: SqlClient,
  records: ReadonlyArray<AttemptRecord>,
) {
  const parameters = Rows.parameters(DeliveryRows.attemptRecords, records)
  const rows = yield* sql.unsafe<{ readonly id: string }>(recordStatement, parameters)
  const missed = new Set(rows.map(({ id }) => id))
  return yield* Effect.forEach(records, (each) =>
    missed.has(Rows.text(each.id)) ? LateDeliveries.record(sql, each) : Effect.succeed(true),
  )
})

/** The methods of the port that claim deliveries. */
export const make = (sql: SqlClient) =>
  ({
    // One row for each claim, because bodies may be large.
    claimDue: ({ busy, limit, perAccount, perOrigin, visibilityMillis }) =>
      values<ClaimedDelivery>(sql, claimDueStatement, [
        PgTypes.float8(visibilityMillis),
        limit,
        perOrigin,
        perAccount,
        ...Rows.parameters(DeliveryRows.busy, busy),
      ]),
    // One row for all claims, because they are small.
    claim: (ids, visibilityMillis) => {
      const parameters = [PgTypes.float8(visibilityMillis), ids.map(Rows.text)]
      const claims = values<ReadonlyArray<Claim>>(sql, claimStatement, parameters)
      return Effect.map(claims, (rows) => rows.flat())
    },
  }) satisfies Partial<DatabasePort<WebhookStore["Service"]>>
