/**
 * The operations on deliveries of webhooks. They extend the specification, which leaves the log to
 * a delivery provider (specification 6.2, rule 5).
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import { described, titled } from "./Words.ts"
import { DeliveryDetail, DeliveryItem, Redelivered, ResendFailed } from "../DeliveryWire.ts"
import { DeliveryQuery, pageOf } from "../PageQuery.ts"
import { IdParams } from "../Text.ts"
import { bodyErrors, NotFound } from "../WireError.ts"

const list = described(
  "List a run's deliveries",
  "Newest first: one for each event that the run's webhook asks for. By `cursor` and " +
    "`limit`, or by `page` and `pageSize`, never both. What has ended is kept for three days.",
  HttpApiEndpoint.get("list", "/runs/:id/deliveries", {
    params: IdParams,
    query: DeliveryQuery,
    success: pageOf(DeliveryItem),
    error: NotFound,
  }),
)

const listAll = described(
  "List deliveries",
  "Newest first: those of all runs of the account, in one state or in any. By `cursor` and " +
    "`limit`, or by `page` and `pageSize`, never both. What has ended is kept for three days.",
  HttpApiEndpoint.get("listAll", "/deliveries", {
    query: DeliveryQuery,
    success: pageOf(DeliveryItem),
  }),
)

const redeliverFailed = described(
  "Send all failed deliveries again",
  "All of the account that have FAILED, or those whose events are not older than `since`: at " +
    "once, and with as many further attempts as a new one has.",
  HttpApiEndpoint.post("redeliverFailed", "/deliveries/redeliver-failed", {
    payload: ResendFailed,
    success: Redelivered,
    error: bodyErrors,
  }),
)

const get = described(
  "Read a delivery",
  "What is sent, and of every attempt: when it began, how long it took, the status and the " +
    "first 4 KiB of the answer or why there was none, and when the next one was due.",
  HttpApiEndpoint.get("get", "/deliveries/:id", {
    params: IdParams,
    success: DeliveryDetail,
    error: NotFound,
  }),
)

const redeliver = described(
  "Send a delivery again",
  "At once, whatever became of it, and with as many further attempts as a new one has: the " +
    "same `webhook-id` and body, with a fresh time and signature.",
  HttpApiEndpoint.post("redeliver", "/deliveries/:id/redeliver", {
    params: IdParams,
    success: DeliveryItem,
    error: NotFound,
  }),
)

/** `/runs/{id}/deliveries` and `/deliveries`. */
export class DeliveriesApi extends HttpApiGroup.make("deliveries")
  .add(list, listAll, get, redeliver, redeliverFailed)
  .annotateMerge(titled("Deliveries", "Webhooks on their way.")) {}
