/**
 * The operations of operators on deliveries and signing secrets.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { RedeliverFailed, RotateSecret, TestEvent } from "@millrace/api/AdminWebhookWire"
import type { AdminDeliveryQuery } from "@millrace/api/PageQuery"
import type { Delivery, DeliveryItem } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId, RunId } from "@millrace/core/domain/Id"
import { Keys } from "@millrace/core/engine/Keys"
import { DeliveryNotFound } from "@millrace/core/engine/Refusals"
import type { SigningSecret } from "@millrace/core/engine/Webhooks"
import { overlapMillis, Webhooks } from "@millrace/core/engine/Webhooks"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option, Redacted } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { ById } from "./AdminCall.ts"
import { accountOf, withBody } from "./AdminCall.ts"
import { detailOf } from "./DeliveryOperations.ts"
import { refuse } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"

/** Cursors belong to somebody; these belong to operators. */
const operators = AccountId.make("operators")

/** A delivery of which nothing has been attempted yet. */
const itemOf = ({ body: _, headers: __, origin: ___, ...head }: Delivery): DeliveryItem => ({
  ...head,
  state: "PENDING",
  attempts: 0,
  nextAttemptAt: head.createdAt,
  settledAt: null,
})

const shown = (secrets: ReadonlyArray<SigningSecret>) => ({
  items: secrets.map((each) => ({ ...each, secret: Redacted.value(each.secret) })),
})

const makeDeliveries = Effect.gen(function* () {
  const store = yield* WebhookStore
  const webhooks = yield* Webhooks
  const paginate = yield* makePaginate
  return {
    list: ({ query }: { readonly query: AdminDeliveryQuery }) => {
      const page = paginate(
        operators,
        "deliveries",
        query,
        ({ accountId, runId, state }, wanted) => {
          const account = accountId === undefined ? null : AccountId.make(accountId)
          const ofRun = runId === undefined ? undefined : RunId.make(runId)
          return store.list({ account, runId: ofRun, state, ...wanted })
        },
      )
      return Effect.catch(page, refuse)
    },
    get: Effect.fnUntraced(function* ({ params }: ById) {
      const deliveryId = DeliveryId.make(params.id)
      const found = yield* Effect.catch(store.find(null, deliveryId), refuse)
      if (Option.isNone(found)) return yield* refuse(new DeliveryNotFound({ deliveryId }))
      return detailOf(found.value)
    }),
    redeliver: ({ params }: ById) =>
      Effect.catch(webhooks.redeliver(null, DeliveryId.make(params.id)), refuse),
  }
})

const makeOfAccounts = Effect.gen(function* () {
  const keys = yield* Keys
  const store = yield* WebhookStore
  const webhooks = yield* Webhooks

  /** The account, once it is known that there is one. */
  const existing = (account: AccountId) => Effect.as(keys.list(account), account)

  return {
    redeliverFailed: withBody(
      RedeliverFailed,
      Effect.fnUntraced(function* ({ accountId, since }: typeof RedeliverFailed.Type) {
        const account = accountId === undefined ? null : AccountId.make(accountId)
        if (account !== null) yield* existing(account)
        return { count: yield* store.redeliverFailed(account, since) }
      }),
    ),
    secrets: (call: ById) =>
      existing(accountOf(call)).pipe(
        Effect.flatMap(webhooks.secrets),
        Effect.map(shown),
        Effect.catch(refuse),
      ),
    rotate: withBody(RotateSecret, ({ overlapSeconds }, call: ById) => {
      const overlap = overlapSeconds === undefined ? overlapMillis : overlapSeconds * 1_000
      const rotated = Effect.flatMap(existing(accountOf(call)), (account) =>
        webhooks.rotate(account, overlap),
      )
      return Effect.map(rotated, shown)
    }),
    test: withBody(TestEvent, (target, call: ById) => {
      const sent = Effect.flatMap(existing(accountOf(call)), (account) =>
        webhooks.test(account, target),
      )
      return Effect.map(sent, itemOf)
    }),
  }
})

/** The handlers of the group `webhooks`. */
export const layer = HttpApiBuilder.group(
  AdminApi,
  "webhooks",
  Effect.fnUntraced(function* (handlers) {
    const deliveries = yield* makeDeliveries
    const ofAccounts = yield* makeOfAccounts
    return handlers
      .handle("list", deliveries.list)
      .handle("get", deliveries.get)
      .handle("redeliver", deliveries.redeliver)
      .handleRaw("redeliverFailed", ofAccounts.redeliverFailed)
      .handle("secrets", ofAccounts.secrets)
      .handleRaw("rotate", ofAccounts.rotate)
      .handleRaw("test", ofAccounts.test)
  }),
)
