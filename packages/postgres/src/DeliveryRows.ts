/**
 * The tables of deliveries as data; see `Rows`.
 */
import type { Delivery, DeliveryAttempt, DeliveryItem } from "@millrace/core/domain/Delivery"
import type { Busy, Settlement, StoredSecret } from "@millrace/core/ports/WebhookStore"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"

/** What never changes of a delivery. */
export const deliveries: Table<Delivery> = [
  ...Rows.texts<Delivery>({
    id: "id",
    accountId: "account_id",
    runId: "run_id",
    type: "type",
    url: "url",
    origin: "origin",
    headers: "headers",
    body: "body",
  }),
  ...Rows.int4s<Delivery>({ sequence: "sequence" }),
  ...Rows.int8s<Delivery>({ createdAt: "created_at" }),
]

/** How far a delivery is, over {@link itemSource}. */
export const items: Table<DeliveryItem> = [
  ...Rows.texts<DeliveryItem>({
    id: "id",
    accountId: "account_id",
    runId: "run_id",
    type: "type",
    url: "url",
    state: "state",
  }),
  ...Rows.int4s<DeliveryItem>({ sequence: "sequence", attempts: "attempts" }),
  ...Rows.int8s<DeliveryItem>({
    createdAt: "created_at",
    nextAttemptAt: "due_at",
    settledAt: "settled_at",
  }),
]

/** Deliveries with what is in force of them, be they on their way or not. */
export const itemSource = (conditions: string): string => `
  SELECT d.*, q.due_at, coalesce(q.begun, d.begun) AS attempts
  FROM deliveries d LEFT JOIN LATERAL (
    SELECT due_at, begun FROM due_deliveries q WHERE q.delivery = d.number OFFSET 0
  ) q ON true WHERE ${conditions}`

/** Attempts as they are read. */
export const attempts: Table<DeliveryAttempt> = [
  ...Rows.int4s<DeliveryAttempt>({
    number: "number",
    durationMillis: "duration_millis",
    status: "status",
  }),
  ...Rows.int8s<DeliveryAttempt>({ at: "at", nextAt: "next_at" }),
  ...Rows.texts<DeliveryAttempt>({ error: "error", answer: "answer" }),
]

/** What a dispatcher has in hand. */
export const busy: Table<Busy> = [
  ...Rows.texts<Busy>({ accountId: "account_id", origin: "origin" }),
  ...Rows.int4s<Busy>({ count: "count" }),
]

const ends = { Retry: "PENDING", Delivered: "DELIVERED", Failed: "FAILED" } as const

/** What came of claims. */
export const settlements: Table<Settlement> = [
  ...Rows.texts<Settlement>({ id: "id" }),
  ...Rows.int4s<Settlement>({ fence: "fence" }),
  Rows.derived("state", "text", ({ next }) => ends[next._tag]),
  Rows.derived("delay", "int8", ({ next }) => (next._tag === "Retry" ? next.delayMillis : null)),
  Rows.derived("gone", "text", ({ next }) =>
    next._tag === "Failed" && next.isGone ? "gone" : null,
  ),
  Rows.derived("at", "int8", ({ attempt }) => attempt?.at),
  Rows.derived("duration_millis", "int4", ({ attempt }) => attempt?.durationMillis),
  Rows.derived("status", "int4", ({ attempt }) => attempt?.status),
  Rows.derived("error", "text", ({ attempt }) => attempt?.error),
  Rows.derived("answer", "text", ({ attempt }) => attempt?.answer),
]

/** Signing secrets, sealed. */
export const secrets: Table<StoredSecret> = [
  ...Rows.texts<StoredSecret>({ id: "id", accountId: "account_id", sealed: "sealed" }),
  ...Rows.int8s<StoredSecret>({ createdAt: "created_at", expiresAt: "expires_at" }),
]
