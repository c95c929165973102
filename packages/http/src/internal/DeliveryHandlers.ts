/**
 * The operations on deliveries: reads go to the store, redelivery to the engine.
 */
import type { AdminDeliveryDetail } from "@millrace/api/AdminWebhookWire"
import { Api } from "@millrace/api/Api"
import { CurrentKey } from "@millrace/api/Authorization"
import type { DeliveryQuery } from "@millrace/api/PageQuery"
import type { DeliveryRecord } from "@millrace/core/domain/Delivery"
import type { AccountId } from "@millrace/core/domain/Id"
import { DeliveryId, RunId } from "@millrace/core/domain/Id"
import { DeliveryNotFound, RunNotFound } from "@millrace/core/engine/Refusals"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { refuse } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"

/** A delivery with its log; whose it is travels to operators only. */
export const detailOf = ({ attempts, body, item }: DeliveryRecord): AdminDeliveryDetail => ({
  ...item,
  body,
  attemptLog: attempts,
})

/** A request that names a run or a delivery. */
interface ById {
  readonly params: { readonly id: string }
}

const makeList = Effect.gen(function* () {
  const store = yield* WebhookStore
  const runs = yield* RunStore
  const paginate = yield* makePaginate

  const needRun = Effect.fnUntraced(function* (account: AccountId, runId: RunId) {
    const found = yield* Effect.catch(runs.find(account, runId), refuse)
    if (Option.isNone(found)) return yield* refuse(new RunNotFound({ runId }))
  })

  return Effect.fnUntraced(function* ({ params, query }: ById & { readonly query: DeliveryQuery }) {
    const { accountId: account } = yield* CurrentKey
    const runId = RunId.make(params.id)
    const ofRun = { ...query, runId: params.id }
    const found = yield* paginate(account, "deliveries", ofRun, ({ state }, page) =>
      Effect.catch(store.list({ account, runId, state, ...page }), refuse),
    )
    // A run that has deliveries is there; only an empty page leaves it open.
    if (found.items.length === 0) yield* needRun(account, runId)
    return found
  })
})

/** The handlers of the group `deliveries`. */
export const layer = HttpApiBuilder.group(
  Api,
  "deliveries",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* WebhookStore
    const webhooks = yield* Webhooks
    return handlers
      .handle("list", yield* makeList)
      .handle(
        "get",
        Effect.fnUntraced(function* ({ params }: ById) {
          const { accountId } = yield* CurrentKey
          const deliveryId = DeliveryId.make(params.id)
          const found = yield* Effect.catch(store.find(accountId, deliveryId), refuse)
          if (Option.isNone(found)) return yield* refuse(new DeliveryNotFound({ deliveryId }))
          return detailOf(found.value)
        }),
      )
      .handle(
        "redeliver",
        Effect.fnUntraced(function* ({ params }: ById) {
          const { accountId } = yield* CurrentKey
          const id = DeliveryId.make(params.id)
          return yield* Effect.catch(webhooks.redeliver(accountId, id), refuse)
        }),
      )
  }),
)
