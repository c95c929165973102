/**
 * Deliveries: one event for one receiver, and every attempt to send it (specification 6.2).
 *
 * Guarantees: every attempt sends the same body. A delivery that has ended does not change, unless
 * somebody redelivers it, or a late record says that its receiver took it. Leaves out: when an
 * attempt is due, which `DeliverySchedule` decides, and signing.
 */
import { Schema } from "effect"
import { ScheduleEventType } from "./EventType.ts"
import { AccountId, DeliveryId, RunId } from "./Id.ts"
import { keptAnswerBytes } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** `PENDING`: an attempt is in progress or will follow. `DELIVERED` and `FAILED` are ends. */
export const DeliveryState = Schema.Literals(["PENDING", "DELIVERED", "FAILED"])
export type DeliveryState = typeof DeliveryState.Type

/** The type of an event that an operator sends to test a receiver. It belongs to no run. */
export const testEvent = "webhook.test"

/** The types of events that can be delivered. */
export const DeliveryType = Schema.Literals([...ScheduleEventType.literals, testEvent])
export type DeliveryType = typeof DeliveryType.Type

const head = {
  id: DeliveryId,
  accountId: AccountId,
  /** `null` for an event that belongs to no run. */
  runId: Schema.NullOr(RunId),
  /** The event's number within its run. */
  sequence: Schema.NullOr(Schema.Int),
  type: DeliveryType,
  url: Schema.String,
  createdAt: Timestamp,
}

/** The request to send. Stored once, in the same step as its event, and never changed. */
export const Delivery = Schema.Struct({
  ...head,
  /** Scheme, host and port of the address. */
  origin: Schema.String,
  /** The headers that the webhook asks for, sealed; `null` where it asks for none. */
  headers: Schema.NullOr(Schema.String),
  /** The payload's text. Its UTF-8 bytes are signed and sent. */
  body: Schema.String,
})
export type Delivery = typeof Delivery.Type

/** Why an attempt failed. `status`: the answer was not 2xx. */
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

/** One attempt that has ended. If its sender died, only the time of its beginning is known. */
export const DeliveryAttempt = Schema.Struct({
  /** From 1, without gaps. */
  number: Schema.Int,
  /** When it began. */
  at: Timestamp,
  durationMillis: Schema.NullOr(Schema.Int),
  /** Of the answer; `null` where none came. */
  status: Schema.NullOr(Schema.Int),
  /** `null` for the attempt that delivered. */
  error: Schema.NullOr(AttemptError),
  /** The beginning of the answer's body, as text. */
  answer: Schema.NullOr(Schema.String),
  /** When the next attempt was due; `null` if this was the last one. */
  nextAt: Schema.NullOr(Timestamp),
})
export type DeliveryAttempt = typeof DeliveryAttempt.Type

/** A delivery in a listing, without its body. */
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

/** A delivery with its body and its attempts. */
export interface DeliveryRecord {
  readonly item: DeliveryItem
  /** What is sent. */
  readonly body: string
  /** In order. */
  readonly attempts: ReadonlyArray<DeliveryAttempt>
}

/** The bytes of an answer as text that every store can keep unchanged. */
export const answerText = (bytes: Uint8Array): string =>
  new TextDecoder().decode(bytes.subarray(0, keptAnswerBytes)).replaceAll("\u0000", "\ufffd")
