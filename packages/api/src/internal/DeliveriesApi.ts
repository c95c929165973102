/**
 * The operations on deliveries of webhooks: an extension of the specification, whose log is that of
 * a delivery provider (specification 6.2, rule 5).
 */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { DeliveryDetail, DeliveryItem } from "../DeliveryWire.ts"
import { DeliveryQuery, pageOf } from "../PageQuery.ts"
import { IdParams } from "../Text.ts"
import { NotFound } from "../WireError.ts"

const list = HttpApiEndpoint.get("list", "/runs/:id/deliveries", {
  params: IdParams,
  query: DeliveryQuery,
  success: pageOf(DeliveryItem),
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "List a run's deliveries",
    description:
      "Newest first: one for each event that the run's webhook asks for. By `cursor` and " +
      "`limit`, or by `page` and `pageSize`, never both. What has ended is kept for three days.",
  }),
)

const get = HttpApiEndpoint.get("get", "/deliveries/:id", {
  params: IdParams,
  success: DeliveryDetail,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Read a delivery",
    description:
      "What is sent, and of every attempt: when it began, how long it took, the status and the " +
      "first 4 KiB of the answer or why there was none, and when the next one was due.",
  }),
)

const redeliver = HttpApiEndpoint.post("redeliver", "/deliveries/:id/redeliver", {
  params: IdParams,
  success: DeliveryItem,
  error: NotFound,
}).annotateMerge(
  OpenApi.annotations({
    summary: "Send a delivery again",
    description:
      "At once, whatever became of it, and with as many further attempts as a new one has: the " +
      "same `webhook-id` and body, with a fresh time and signature.",
  }),
)

/** `/runs/{id}/deliveries` and `/deliveries`. */
export class DeliveriesApi extends HttpApiGroup.make("deliveries")
  .add(list, get, redeliver)
  .annotateMerge(
    OpenApi.annotations({ title: "Deliveries", description: "Webhooks on their way." }),
  ) {}
