/**
 * Deliveries: one event on its way to one receiver, and every attempt to bring it there
 * (specification 6.2).
 *
 * Guarantees: what is sent never changes from attempt to attempt; a delivery that has ended stays
 * as it is until somebody asks for it again, or it turns out that its receiver did take it. Leaves
 * out: when an attempt is due, which is the schedule's, and signing.
 */
import { Schema } from "effect"
import { RunEventType } from "./EventType.ts"
import { AccountId, DeliveryId, RunId } from "./Id.ts"
import { keptAnswerBytes } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** `PENDING`: an attempt is under way or will follow. The others are ends. */
export const DeliveryState = Schema.Literals(["PENDING", "DELIVERED", "FAILED"])
export type DeliveryState = typeof DeliveryState.Type

/** What an operator sends to try a receiver; no run stands behind it. */
export const testEvent = "webhook.test"

/** The types of what can be delivered. */
export const DeliveryType = Schema.Literals([...RunEventType.literals, testEvent])
export type DeliveryType = typeof DeliveryType.Type

const head = {
  id: DeliveryId,
  accountId: AccountId,
  /** `null` for a test event. */
  runId: Schema.NullOr(RunId),
  /** The event's number within its run. */
  sequence: Schema.NullOr(Schema.Int),
  type: DeliveryType,
  url: Schema.String,
  createdAt: Timestamp,
}

/** What is to be sent, and where to: written once, in the same step as what it tells of. */
export const Delivery = Schema.Struct({
  ...head,
  /** Scheme, host and port of the address. */
  origin: Schema.String,
  /** The headers that the webhook asks for, sealed; `null` where it asks for none. */
  headers: Schema.NullOr(Schema.String),
  /** The payload's text; its UTF-8 bytes are what is signed and sent. */
  body: Schema.String,
})
export type Delivery = typeof Delivery.Type

/** Why an attempt did not deliver. `status`: an answer came, and it was not 2xx. */
export const AttemptError = Schema.Literals([
  "status",
  "blocked",
  "unresolvable",
  "refused",
  "tls",
  "timeout",
  "reset",
  "protocol",
  "unknown",
])
export type AttemptError = typeof AttemptError.Type

/** One attempt that is over. Of one whose sender died nothing but its beginning is known. */
export const DeliveryAttempt = Schema.Struct({
  /** From 1, without gaps. */
  number: Schema.Int,
  /** When it began. */
  at: Timestamp,
  durationMillis: Schema.NullOr(Schema.Int),
  /** Of the answer; `null` where none came. */
  status: Schema.NullOr(Schema.Int),
  /** `null` for the one that delivered. */
  error: Schema.NullOr(AttemptError),
  /** The beginning of the answer's body, as text. */
  answer: Schema.NullOr(Schema.String),
  /** When the next one was due after it; `null` for a last one. */
  nextAt: Schema.NullOr(Timestamp),
})
export type DeliveryAttempt = typeof DeliveryAttempt.Type

/** How far a delivery is, without what is sent. */
export const DeliveryItem = Schema.Struct({
  ...head,
  state: DeliveryState,
  /** Attempts that have begun. */
  attempts: Schema.Int,
  /** When the next attempt may begin; `null` once it has ended. */
  nextAttemptAt: Schema.NullOr(Timestamp),
  /** When it ended. */
  settledAt: Schema.NullOr(Timestamp),
})
export type DeliveryItem = typeof DeliveryItem.Type

/** Everything that is known of a delivery. */
export interface DeliveryRecord {
  readonly item: DeliveryItem
  /** What is sent. */
  readonly body: string
  /** In order. */
  readonly attempts: ReadonlyArray<DeliveryAttempt>
}

/** Bytes of an answer as text that any store keeps as it is. */
export const answerText = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes.subarray(0, keptAnswerBytes)).replaceAll("\u0000", "\ufffd")
