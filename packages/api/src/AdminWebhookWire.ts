/**
 * Webhooks on the wire of the admin interface: deliveries with their accounts, and signing secrets.
 * No other interface shows secrets.
 */
import { DeliveryItem as Stored } from "@millrace/core/domain/Delivery"
import { secretOverlapSeconds } from "@millrace/core/domain/Limits"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { WebhookConfig } from "@millrace/core/domain/Webhook"
import { Schema, Struct } from "effect"
import { DeliveryDetail } from "./DeliveryWire.ts"
import { Identifier } from "./Text.ts"

/** A delivery with its account. */
export const AdminDeliveryItem = Stored.annotate({ identifier: "AdminDeliveryItem" })
export type AdminDeliveryItem = typeof AdminDeliveryItem.Type

/** The same with the body and every attempt. */
export const AdminDeliveryDetail = Schema.Struct({
  ...Stored.fields,
  ...Struct.pick(DeliveryDetail.fields, ["body", "attemptLog"]),
}).annotate({ identifier: "AdminDeliveryDetail" })
export type AdminDeliveryDetail = typeof AdminDeliveryDetail.Type

/** Body of sending all failed deliveries again. */
export const RedeliverFailed = Schema.Struct({
  since: Timestamp,
  accountId: Schema.optionalKey(
    Identifier.annotate({ description: "Only deliveries of this account; all by default." }),
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
    description: "`whsec_` and base64. Receivers verify deliveries with it.",
  }),
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
}).annotate({ identifier: "SigningSecret" })
export type SigningSecret = typeof SigningSecret.Type

/** The secrets of an account that sign now, oldest first. */
export const SigningSecrets = Schema.Struct({ items: Schema.Array(SigningSecret) }).annotate({
  identifier: "SigningSecrets",
})

/** Body of a rotation. */
export const RotateSecret = Schema.Struct({
  overlapSeconds: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: secretOverlapSeconds })).annotate({
      description: "For how many seconds the old secrets go on signing; 86400 by default.",
    }),
  ),
}).annotate({ identifier: "RotateSecret" })

/** Body of a test event. */
export const TestEvent = Schema.Struct(
  Struct.pick(WebhookConfig.fields, ["url", "headers"]),
).annotate({ identifier: "TestEvent" })
