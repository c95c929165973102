/**
 * Test events, which an account sends to see whether its receiver works.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { TestEvent } from "../AdminWebhookWire.ts"
import { DeliveryItem } from "../DeliveryWire.ts"
import { bodyErrors, NotFound } from "../WireError.ts"
import { described, titled } from "./Words.ts"

const send = described(
  "Send a test event",
  "A delivery of type `webhook.test`, signed and sent like any other. It belongs to no run. " +
    "Refused with 400 where the address may not be called.",
  HttpApiEndpoint.post("send", "/", {
    payload: TestEvent,
    success: DeliveryItem.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound],
  }),
)

/** `/test-events`. */
export class ConsoleTestEventsApi extends HttpApiGroup.make("testEvents")
  .add(send)
  .prefix("/test-events")
  .annotateMerge(titled("Test events", "Whether a receiver of webhooks works.")) {}
