/**
 * The operations of operators on webhooks: all deliveries, and the secrets that they are signed
 * with.
 */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
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
import { BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType } from "../WireError.ts"

const list = HttpApiEndpoint.get("list", "/deliveries", {
  query: AdminDeliveryQuery,
  success: pageOf(AdminDeliveryItem),
}).annotateMerge(
  OpenApi.annotations({
    summary: "List deliveries",
    description: "Newest first: of all accounts, or of one, or of one run.",
  }),
)

const get = HttpApiEndpoint.get("get", "/deliveries/:id", {
  params: IdParams,
  success: AdminDeliveryDetail,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read a delivery",
    description: "What is sent, and every attempt.",
  }),
)

const redeliver = HttpApiEndpoint.post("redeliver", "/deliveries/:id/redeliver", {
  params: IdParams,
  success: AdminDeliveryItem,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Send a delivery again",
    description: "At once, whatever became of it, with as many further attempts as a new one has.",
  }),
)

const redeliverFailed = HttpApiEndpoint.post("redeliverFailed", "/deliveries/redeliver-failed", {
  payload: RedeliverFailed,
  success: Redelivered,
  error: [BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Send all failed deliveries again",
    description: "Those whose events are not older than `since`: after a receiver was down.",
  }),
)

const secrets = HttpApiEndpoint.get("secrets", "/accounts/:id/webhook-secrets", {
  params: AccountParams,
  success: SigningSecrets,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Show an account's signing secrets",
    description: "Those that sign now, oldest first; the first one is made when it is asked for.",
  }),
)

const rotate = HttpApiEndpoint.post("rotate", "/accounts/:id/webhook-secrets/rotate", {
  params: AccountParams,
  payload: RotateSecret,
  success: SigningSecrets,
  error: [BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Make a new signing secret",
    description: "The others go on signing beside it for a while, 24 hours by default.",
  }),
)

const test = HttpApiEndpoint.post("test", "/accounts/:id/webhook-test", {
  params: AccountParams,
  payload: TestEvent,
  success: AdminDeliveryItem.pipe(HttpApiSchema.status(201)),
  error: [BadRequest, NotFound, PayloadTooLarge, UnsupportedMediaType],
}).annotateMerge(
  OpenApi.annotations({
    summary: "Send a test event",
    description: "A delivery of type `webhook.test`, signed as any other, of a run that is none.",
  }),
)

/** `/deliveries`, and `/accounts/{id}/webhook-...`. */
export class AdminWebhooksApi extends HttpApiGroup.make("webhooks")
  .add(list, get, redeliver, redeliverFailed, secrets, rotate, test)
  .annotateMerge(
    OpenApi.annotations({ title: "Webhooks", description: "Deliveries and signing secrets." }),
  ) {}
