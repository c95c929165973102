/**
 * The operations on deliveries. Reads go to the store, redelivery to the engine.
 */
import type { AdminDeliveryDetail } from "@millrace/api/AdminWebhookWire"
import type { DeliveryRecord } from "@millrace/core/domain/Delivery"
import { DeliveryId, RunId } from "@millrace/core/domain/Id"
import { DeliveryNotFound, RunNotFound } from "@millrace/core/engine/Refusals"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { Scope } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option } from "effect"
import type { OperationsOf } from "./Operation.ts"
import { makePaginate } from "./Paging.ts"
import { seenBy } from "./SessionListing.ts"

/** A delivery with its log. Only operators are shown its account. */
const detailOf = ({ attempts, body, item }: DeliveryRecord): AdminDeliveryDetail => ({
  ...item,
  body,
  attemptLog: attempts,
})

/** A delivery of an account; `null`: of any. */
export const read = Effect.fnUntraced(function* (
  store: WebhookStore["Service"],
  account: Scope,
  id: string,
) {
  const deliveryId = DeliveryId.make(id)
  const found = yield* store.find(account, deliveryId)
  if (Option.isNone(found)) return yield* new DeliveryNotFound({ deliveryId })
  return { value: detailOf(found.value) }
})

/** The operations of the group `deliveries`. */
export const make = Effect.gen(function* () {
  const store = yield* WebhookStore
  const webhooks = yield* Webhooks
  const runs = yield* RunStore
  const paginate = yield* makePaginate
  return {
    list: Effect.fnUntraced(function* ({ account, params, query }) {
      const runId = RunId.make(params.id)
      const ofRun = { ...query, runId: params.id }
      const value = yield* paginate(account, "deliveries", ofRun, ({ state }, page) =>
        store.list({ account, runId, state, ...page }),
      )
      // A run with deliveries exists. After an empty page, the run is looked for.
      if (value.items.length === 0 && Option.isNone(yield* runs.find(account, runId))) {
        return yield* new RunNotFound({ runId })
      }
      return { value }
    }),
    listAll: Effect.fnUntraced(function* ({ account, query, session }) {
      const value = yield* paginate(account, "deliveries", query, ({ runId, state }, page) => {
        // A cursor of the listing of a run goes on with that run.
        const ofRun = runId === undefined ? undefined : RunId.make(runId)
        const workflows = seenBy(session) ?? undefined
        return store.list({ account, runId: ofRun, state, workflows, ...page })
      })
      return { value }
    }),
    redeliverFailed: ({ account, payload: { since = 0 }, session }) =>
      Effect.map(store.redeliverFailed(account, since, seenBy(session) ?? undefined), (count) => ({
        value: { count },
      })),
    get: ({ account, params }) => read(store, account, params.id),
    redeliver: ({ account, params }) =>
      Effect.map(webhooks.redeliver(account, DeliveryId.make(params.id)), (value) => ({ value })),
  } satisfies OperationsOf<"deliveries">
})
