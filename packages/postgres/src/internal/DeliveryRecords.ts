/**
 * Reads, redelivers and removes deliveries.
 *
 * Guarantees: each operation is one statement, or one transaction. Leaves out: claims and outcomes.
 */
import { PgTypes } from "@effect/sql-pg"
import type { DeliveryItem, DeliveryRecord, DeliveryState } from "@millrace/core/domain/Delivery"
import type { DeliveryId } from "@millrace/core/domain/Id"
import type { DeliveryQuery, Scope, WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { DatabasePort } from "./DatabaseError.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import { isNotClaimed, nowMillis, redelivered } from "./DeliverySteps.ts"
import * as PageClauses from "./PageClauses.ts"
import * as Rows from "./Rows.ts"
import { optional, values } from "./Statements.ts"

/** The part of a commit's statement that queues the deliveries of the part `sent`. */
export const queued = `queued AS (
  INSERT INTO due_deliveries
    (id, delivery, account_id, run_id, origin, due_at, fence, begun, earlier)
  SELECT id, number, account_id, run_id, origin, ${nowMillis}, 0, 0, 0 FROM sent
)`

/** The columns that {@link queued} needs of the part `sent`. */
export const sentColumns = "id, number, account_id, run_id, origin"

const insertStatement = `
WITH sent AS (
  ${Rows.insert("deliveries", DeliveryRows.deliveries)}
  RETURNING ${sentColumns}
), ${queued}
SELECT FROM sent`

const item = Rows.object(DeliveryRows.items, "i")

const own = "d.id = $1 AND ($2::text IS NULL OR d.account_id = $2)"

const findStatement = `
SELECT json_build_object('item', ${item}, 'body', i.body, 'attempts', coalesce((
  SELECT json_agg(${Rows.object(DeliveryRows.attempts, "a")} ORDER BY a.number)
  FROM delivery_attempts a WHERE a.delivery = i.number
), '[]')) AS value
FROM (${DeliveryRows.itemSource(own)}) i`

/**
 * Makes the deliveries of the part `wanted` due, except those in progress. Their runs no longer
 * count as having a receiver that is gone.
 */
const reopened = `
receiver_back AS (
  UPDATE deliveries d SET is_gone = false FROM wanted w
  WHERE d.is_gone AND d.run_id = w.run_id AND d.number NOT IN (SELECT number FROM wanted)
), again AS (
  INSERT INTO due_deliveries AS q
    (id, delivery, account_id, run_id, origin, due_at, fence, begun, earlier)
  SELECT id, number, account_id, run_id, origin, ${nowMillis}, fence, begun, begun FROM wanted
  ON CONFLICT (id) DO UPDATE SET ${redelivered} WHERE ${isNotClaimed}
), opened AS (
  UPDATE deliveries d SET trouble = NULL, settled_at = NULL, is_gone = false
  FROM wanted w WHERE d.number = w.number AND (d.trouble IS NOT NULL OR d.is_gone)
)`

// A record and a redelivery take the same locks in the same order: first the due delivery, then the
// rows with the bodies, in the order of their numbers.
const lockDue = `SELECT FROM due_deliveries
WHERE id = $1 AND ($2::text IS NULL OR account_id = $2) FOR UPDATE`
const lockStatement = `
WITH own AS MATERIALIZED (
  SELECT d.number, d.run_id FROM deliveries d WHERE ${own}
), written AS MATERIALIZED (
  SELECT number FROM own UNION SELECT g.number FROM own o CROSS JOIN LATERAL (
    SELECT number FROM deliveries d WHERE d.run_id = o.run_id AND d.is_gone OFFSET 0
  ) g ORDER BY number
)
SELECT FROM written w CROSS JOIN LATERAL (
  SELECT number FROM deliveries d WHERE d.number = w.number FOR UPDATE
) d`

const redeliverStatement = `
WITH wanted AS MATERIALIZED (
  SELECT d.id, d.number, d.account_id, d.run_id, d.origin, s.fence, s.begun
  FROM deliveries d ${DeliveryRows.standing} WHERE ${own}
), ${reopened}
SELECT number FROM wanted`

const redeliverFailedStatement = `
WITH locked AS MATERIALIZED (
  SELECT d.* FROM deliveries d
  WHERE d.trouble = 'FAILED' AND (d.created_at >= $2::int8 OR d.is_gone)
    AND ($1::text IS NULL OR d.account_id = $1)
    AND ($3::text[] IS NULL OR EXISTS (
      SELECT FROM runs r WHERE r.id = d.run_id AND r.workflow_id = ANY ($3)
    ))
  ORDER BY d.number FOR UPDATE
), wanted AS MATERIALIZED (
  SELECT * FROM locked WHERE created_at >= $2::int8
), ${reopened}
SELECT count(*)::int4 AS value FROM wanted`

const oldSource = `
  FROM deliveries d ${DeliveryRows.standing}
  WHERE d.created_at < ${nowMillis} - $1::int8 AND s.settled_at < ${nowMillis} - $1::int8`

const lockOldStatement = `
SELECT coalesce(array_agg(number), '{}')::text AS value FROM (
  SELECT d.number ${oldSource} ORDER BY d.created_at, d.id LIMIT $2::int8
  FOR UPDATE OF d SKIP LOCKED
) d`

const forgetStatement = `
WITH old AS MATERIALIZED (
  SELECT d.number ${oldSource} AND d.number = ANY ($2::text::int8[])
), log AS (
  DELETE FROM delivery_attempts a USING old o WHERE a.delivery = o.number
), gone AS (
  DELETE FROM deliveries d USING old o WHERE d.number = o.number RETURNING 1
)
SELECT count(*)::int4 AS value FROM gone`

const listed: PageClauses.Source = {
  object: Rows.object(DeliveryRows.items, "r"),
  rows: "deliveries d",
  row: DeliveryRows.itemSource("d.id = p.id"),
}

/** The condition for a state, which follows from two tables; see `DeliveryRows.standing`. */
const stateIs = (sql: SqlClient, state: DeliveryState, account: Scope) => {
  if (state === "FAILED") return sql`trouble = 'FAILED'`
  if (state === "PENDING") {
    const ofAccount = account === null ? sql`true` : sql`account_id = ${account}`
    return sql`id IN (SELECT id FROM due_deliveries WHERE ${ofAccount})`
  }
  // Looked up by key: NOT EXISTS might read all pending ones. The planner takes it for true of most
  // deliveries because of the `<>`, so it walks through an index.
  return sql`trouble IS NULL AND (SELECT count(*) FROM due_deliveries q WHERE q.id = d.id) <> 1`
}

/** A page of deliveries, newest first. */
const list = (sql: SqlClient, query: DeliveryQuery) => {
  const { account, after, runId, state, workflows } = query
  const conditions = [sql`true`, ...PageClauses.behind(sql, after)]
  if (account !== null) conditions.push(sql`account_id = ${account}`)
  if (runId !== undefined) conditions.push(sql`run_id = ${Rows.text(runId)}`)
  if (workflows !== undefined) {
    conditions.push(sql`EXISTS (
      SELECT FROM runs r WHERE r.id = d.run_id AND r.workflow_id = ANY (${workflows}::text[])
    )`)
  }
  if (state !== undefined) conditions.push(stateIs(sql, state, account))
  return PageClauses.page<DeliveryItem>(sql, listed, conditions, query)
}

/** The methods of the port that read, redeliver and remove deliveries. */
export const make = (sql: SqlClient) => {
  const find = (account: Scope, id: DeliveryId) =>
    optional<DeliveryRecord>(sql, findStatement, [Rows.text(id), account])
  const count = (statement: string, parameters: ReadonlyArray<unknown>) =>
    Effect.map(values<number>(sql, statement, parameters), ([first = 0]) => first)

  return {
    insert: (delivery) =>
      Effect.suspend(() =>
        sql.unsafe(insertStatement, Rows.parameters(DeliveryRows.deliveries, [delivery])),
      ).pipe(Effect.asVoid),
    find,
    list: (query) => list(sql, query),
    redeliver: Effect.fnUntraced(function* (account, id) {
      const parameters = [Rows.text(id), account]
      const steps = [
        // The first lock twice, because another redelivery may have made the row meanwhile.
        sql.unsafe(lockDue, parameters),
        sql.unsafe(lockStatement, parameters),
        sql.unsafe(lockDue, parameters),
        sql.unsafe(redeliverStatement, parameters),
      ]
      const results = yield* sql.withTransaction(Effect.all(steps))
      if (results.at(-1)!.length === 0) return Option.none()
      return Option.map(yield* find(account, id), (found) => found.item)
    }),
    redeliverFailed: (account, since, workflows) =>
      count(redeliverFailedStatement, [account, PgTypes.float8(since), workflows ?? null]),
    forget: (endedMillis, limit) => {
      const ended = PgTypes.float8(endedMillis)
      const old = values<string>(sql, lockOldStatement, [ended, limit])
      // Read again under the locks: a delivery that was redelivered meanwhile stays.
      const gone = ([numbers = "{}"]: ReadonlyArray<string>) =>
        count(forgetStatement, [ended, numbers])
      return sql.withTransaction(Effect.flatMap(old, gone))
    },
  } satisfies Partial<DatabasePort<WebhookStore["Service"]>>
}
