/**
 * Deliveries of webhooks on the wire: what was sent to which address, and the outcome of each
 * attempt.
 */
import {
  DeliveryAttempt as StoredAttempt,
  DeliveryItem as Stored,
} from "@millrace/core/domain/Delivery"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Schema, Struct } from "effect"
import { body, object, optional } from "./internal/Words.ts"

const item = Struct.pick(Stored.fields, [
  "id",
  "runId",
  "sequence",
  "type",
  "url",
  "state",
  "attempts",
  "nextAttemptAt",
  "createdAt",
  "settledAt",
])

/** A delivery in a listing. */
export const DeliveryItem = object("DeliveryItem", item)
export type DeliveryItem = typeof DeliveryItem.Type

/** Body of sending an account's failed deliveries again. */
export const ResendFailed = body("ResendFailed", {
  since: optional(Timestamp, "Only those whose events are not older; all by default."),
})

/** How many deliveries are sent again. */
export const Redelivered = object("Redelivered", { count: Schema.Int })

/** One attempt that has ended. If its sender died, only the time of its beginning is known. */
export const DeliveryAttempt = StoredAttempt.annotate({ identifier: "DeliveryAttempt" })

/** A delivery with its body and every attempt so far. */
export const DeliveryDetail = object("DeliveryDetail", {
  ...item,
  body: Schema.String.annotate({
    description: "The request's body, byte for byte as signed and sent.",
  }),
  attemptLog: Schema.Array(DeliveryAttempt).annotate({ description: "In order." }),
})
export type DeliveryDetail = typeof DeliveryDetail.Type
