/**
 * Webhooks on the wire of the admin interface: deliveries with their accounts, and signing secrets.
 * No other interface shows secrets.
 */
import { DeliveryItem as Stored } from "@millrace/core/domain/Delivery"
import { secretOverlapSeconds } from "@millrace/core/domain/Limits"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { WebhookConfig } from "@millrace/core/domain/Webhook"
import { Schema, Struct } from "effect"
import { body, itemsOf, object, optional } from "./internal/Words.ts"
import { DeliveryDetail } from "./DeliveryWire.ts"
import { Identifier } from "./Text.ts"

/** A delivery with its account. */
export const AdminDeliveryItem = Stored.annotate({ identifier: "AdminDeliveryItem" })
export type AdminDeliveryItem = typeof AdminDeliveryItem.Type

/** The same with the body and every attempt. */
export const AdminDeliveryDetail = object("AdminDeliveryDetail", {
  ...Stored.fields,
  ...Struct.pick(DeliveryDetail.fields, ["body", "attemptLog"]),
})
export type AdminDeliveryDetail = typeof AdminDeliveryDetail.Type

export { Redelivered } from "./DeliveryWire.ts"

/** Body of sending all failed deliveries again. */
export const RedeliverFailed = body("RedeliverFailed", {
  since: Timestamp,
  accountId: optional(Identifier, "Only deliveries of this account; all by default."),
})

/** A secret that signs. */
export const SigningSecret = object("SigningSecret", {
  id: Schema.String,
  secret: Schema.String.annotate({
    description: "`whsec_` and base64. Receivers verify deliveries with it.",
  }),
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
})
export type SigningSecret = typeof SigningSecret.Type

/** The secrets of an account that sign now, oldest first. */
export const SigningSecrets = itemsOf("SigningSecrets", SigningSecret)

/** Body of a rotation. */
export const RotateSecret = body("RotateSecret", {
  overlapSeconds: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: secretOverlapSeconds })),
    "For how many seconds the old secrets go on signing; 86400 by default.",
  ),
})

/** Body of a test event. */
export const TestEvent = body("TestEvent", Struct.pick(WebhookConfig.fields, ["url", "headers"]))
