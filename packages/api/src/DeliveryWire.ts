/**
 * Deliveries of webhooks as they travel: the log that tells a client what was sent where, and what
 * came of each attempt.
 */
import {
  DeliveryAttempt as StoredAttempt,
  DeliveryItem as Stored,
} from "@millrace/core/domain/Delivery"
import { Schema, Struct } from "effect"

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
export const DeliveryItem = Schema.Struct(item).annotate({ identifier: "DeliveryItem" })
export type DeliveryItem = typeof DeliveryItem.Type

/** One attempt that is over; of one whose sender died only its beginning is known. */
export const DeliveryAttempt = StoredAttempt.annotate({ identifier: "DeliveryAttempt" })

/** A delivery with what is sent and every attempt so far. */
export const DeliveryDetail = Schema.Struct({
  ...item,
  body: Schema.String.annotate({
    description: "The request's body, byte for byte as it is signed and sent.",
  }),
  attemptLog: Schema.Array(DeliveryAttempt).annotate({ description: "In order." }),
}).annotate({ identifier: "DeliveryDetail" })
export type DeliveryDetail = typeof DeliveryDetail.Type
