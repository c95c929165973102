/**
 * The admin operations on webhooks: the deliveries of all accounts, and the signing secrets.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { described, titled } from "./Words.ts"
import { AccountParams } from "../AdminWire.ts"
import {
  AdminDeliveryDetail,
  AdminDeliveryItem,
  RedeliverFailed,
  Redelivered,
  RotateSecret,
  SigningSecrets,
  TestEvent,
} from "../AdminWebhookWire.ts"
import { AdminDeliveryQuery, pageOf } from "../PageQuery.ts"
import { IdParams } from "../Text.ts"
import { bodyErrors, NotFound } from "../WireError.ts"

const list = described(
  "List deliveries",
  "Newest first: of all accounts, or of one, or of one run.",
  HttpApiEndpoint.get("list", "/deliveries", {
    query: AdminDeliveryQuery,
    success: pageOf(AdminDeliveryItem),
  }),
)

const get = described(
  "Read a delivery",
  "What is sent, and every attempt.",
  HttpApiEndpoint.get("get", "/deliveries/:id", {
    params: IdParams,
    success: AdminDeliveryDetail,
    error: NotFound,
  }),
)

const redeliver = described(
  "Send a delivery again",
  "At once, in any state. It has as many further attempts as a new delivery.",
  HttpApiEndpoint.post("redeliver", "/deliveries/:id/redeliver", {
    params: IdParams,
    success: AdminDeliveryItem,
    error: NotFound,
  }),
)

const redeliverFailed = described(
  "Send all failed deliveries again",
  "All whose events are not older than `since`. Use it after a receiver was down.",
  HttpApiEndpoint.post("redeliverFailed", "/deliveries/redeliver-failed", {
    payload: RedeliverFailed,
    success: Redelivered,
    error: [...bodyErrors, NotFound],
  }),
)

const secrets = described(
  "Show an account's signing secrets",
  "The secrets that sign now, oldest first. If there is none, one is made.",
  HttpApiEndpoint.get("secrets", "/accounts/:id/webhook-secrets", {
    params: AccountParams,
    success: SigningSecrets,
    error: NotFound,
  }),
)

const rotate = described(
  "Make a new signing secret",
  "The other secrets go on signing for a while, 24 hours by default.",
  HttpApiEndpoint.post("rotate", "/accounts/:id/webhook-secrets/rotate", {
    params: AccountParams,
    payload: RotateSecret,
    success: SigningSecrets,
    error: [...bodyErrors, NotFound],
  }),
)

const test = described(
  "Send a test event",
  "A delivery of type `webhook.test`, signed like any other. It belongs to no run.",
  HttpApiEndpoint.post("test", "/accounts/:id/webhook-test", {
    params: AccountParams,
    payload: TestEvent,
    success: AdminDeliveryItem.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound],
  }),
)

/** `/deliveries`, and `/accounts/{id}/webhook-...`. */
export class AdminWebhooksApi extends HttpApiGroup.make("webhooks")
  .add(list, get, redeliver, redeliverFailed, secrets, rotate, test)
  .annotateMerge(titled("Webhooks", "Deliveries and signing secrets.")) {}
