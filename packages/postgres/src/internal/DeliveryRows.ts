/**
 * The tables of deliveries as data; see `Rows`.
 */
import type { Delivery, DeliveryAttempt, DeliveryItem } from "@millrace/core/domain/Delivery"
import type { Attempted } from "@millrace/core/domain/DeliveryStep"
import { changeOf } from "@millrace/core/domain/DeliveryStep"
import type { Busy, AttemptRecord, StoredSecret } from "@millrace/core/ports/WebhookStore"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"

/** The part of a delivery that never changes. */
export const deliveries: Table<Delivery> = [
  ...Rows.texts<Delivery>("id", "accountId", "runId", "type", "url", "origin", "headers", "body"),
  ...Rows.int4s<Delivery>("sequence"),
  ...Rows.int8s<Delivery>("createdAt"),
]

/** A delivery with its state, read from {@link itemSource}. */
export const items: Table<DeliveryItem> = [
  ...Rows.texts<DeliveryItem>("id", "accountId", "runId", "type", "url", "state"),
  ...Rows.int4s<DeliveryItem>("sequence", "attempts"),
  ...Rows.int8s<DeliveryItem>("createdAt", "settledAt", { nextAttemptAt: "due_at" }),
]

/**
 * The current state `s` of deliveries `d`: `due_at`, `state`, `begun`, `fence`, and `settled_at`.
 * For a pending delivery, `q` has more.
 */
export const standing = `LEFT JOIN LATERAL (
    SELECT coalesce(held_until, due_at) AS due_at, begun, fence, earlier, claimed_at
    FROM due_deliveries q WHERE q.id = d.id OFFSET 0
  ) q ON true LEFT JOIN LATERAL (
    SELECT number, fence, delivered_at FROM delivery_attempts a
    WHERE a.delivery = d.number AND a.delivered_at IS NOT NULL ORDER BY number DESC LIMIT 1
  ) a ON d.trouble IS NULL CROSS JOIN LATERAL (
    SELECT q.due_at,
      CASE WHEN q.due_at IS NULL THEN coalesce(d.trouble, 'DELIVERED') ELSE 'PENDING' END AS state,
      coalesce(q.begun, greatest(a.number, d.begun)) AS begun,
      coalesce(q.fence, greatest(a.fence, d.fence)) AS fence,
      CASE WHEN q.due_at IS NULL THEN coalesce(d.settled_at, a.delivered_at) END AS settled_at
  ) s`

/** Deliveries with their current state. */
export const itemSource = (conditions: string): string => `
  SELECT d.id, d.number, d.account_id, d.run_id, d.type, d.url, d.sequence, d.created_at, d.body,
    d.trouble, s.due_at, s.state, s.settled_at, s.begun AS attempts
  FROM deliveries d ${standing} WHERE ${conditions}`

/** The result of an attempt. */
const attemptResult: Table<Attempted> = [
  ...Rows.int8s<Attempted>("at"),
  ...Rows.int4s<Attempted>("durationMillis", "status"),
  ...Rows.texts<Attempted>("error", "answer"),
]

/** The attempts of a delivery. */
export const attempts: Table<DeliveryAttempt> = [
  ...Rows.int4s<DeliveryAttempt>("number"),
  ...Rows.int8s<DeliveryAttempt>("nextAt"),
  ...attemptResult,
]

/** How many deliveries a dispatcher is sending. */
export const busy: Table<Busy> = [
  ...Rows.texts<Busy>("accountId", "origin"),
  ...Rows.int4s<Busy>("count"),
]

/** The results of claimed deliveries, and what they change. */
export const attemptRecords: Table<AttemptRecord> = [
  ...Rows.texts<AttemptRecord>("id"),
  ...Rows.int4s<AttemptRecord>("fence", "number"),
  Rows.derived("state", "text", (record) => changeOf(record).state),
  Rows.derived("begun", "int4", (record) => changeOf(record).attempts),
  Rows.derived("delay", "int8", (record) => changeOf(record).delayMillis),
  // A text, because the planner then expects few rows.
  Rows.derived("gone", "text", (record) => (changeOf(record).isGone ? "gone" : null)),
  ...attemptResult.map((column) => ({
    ...column,
    of: ({ attempt }: AttemptRecord) => (attempt === null ? null : column.of(attempt)),
  })),
]

/** Sealed signing secrets. */
export const secrets: Table<StoredSecret> = [
  ...Rows.texts<StoredSecret>("id", "accountId", "sealed"),
  ...Rows.int8s<StoredSecret>("createdAt", "expiresAt"),
]
