/**
 * Webhooks as operators see them: deliveries with their account, and secrets in the clear, which
 * only operators are shown.
 */
import { DeliveryItem as Stored } from "@millrace/core/domain/Delivery"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { WebhookConfig } from "@millrace/core/domain/Webhook"
import { Schema, Struct } from "effect"
import { DeliveryDetail } from "./DeliveryWire.ts"
import { Identifier } from "./Text.ts"

/** A delivery and whose it is. */
export const AdminDeliveryItem = Stored.annotate({ identifier: "AdminDeliveryItem" })
export type AdminDeliveryItem = typeof AdminDeliveryItem.Type

/** The same with what is sent and every attempt. */
export const AdminDeliveryDetail = Schema.Struct({
  ...Stored.fields,
  ...Struct.pick(DeliveryDetail.fields, ["body", "attemptLog"]),
}).annotate({ identifier: "AdminDeliveryDetail" })
export type AdminDeliveryDetail = typeof AdminDeliveryDetail.Type

/** Body of sending what failed again. */
export const RedeliverFailed = Schema.Struct({
  since: Timestamp,
  accountId: Schema.optionalKey(
    Identifier.annotate({ description: "Of this account only; of all by default." }),
  ),
}).annotate({ identifier: "RedeliverFailed" })

/** How many deliveries are sent again. */
export const Redelivered = Schema.Struct({ count: Schema.Int }).annotate({
  identifier: "Redelivered",
})

/** A secret that signs. */
export const SigningSecret = Schema.Struct({
  id: Schema.String,
  secret: Schema.String.annotate({
    description: "`whsec_` and base64: what a receiver verifies with.",
  }),
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
}).annotate({ identifier: "SigningSecret" })
export type SigningSecret = typeof SigningSecret.Type

/** The secrets of an account that sign now, oldest first. */
export const SigningSecrets = Schema.Struct({ items: Schema.Array(SigningSecret) }).annotate({
  identifier: "SigningSecrets",
})

/** The longest time for which two secrets sign. */
const maxOverlapSeconds = 30 * 86_400

/** Body of a rotation. */
export const RotateSecret = Schema.Struct({
  overlapSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxOverlapSeconds })).annotate({
      description: "How long the others go on signing; 86400 by default.",
    }),
  ),
}).annotate({ identifier: "RotateSecret" })

/** Body of a test event. */
export const TestEvent = Schema.Struct(
  Struct.pick(WebhookConfig.fields, ["url", "headers"]),
).annotate({ identifier: "TestEvent" })
