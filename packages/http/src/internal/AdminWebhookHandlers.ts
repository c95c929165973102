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
import type { HttpServerRequest } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { reader } from "./Body.ts"
import { detailOf } from "./DeliveryOperations.ts"
import { refuse } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"

const readFailed = reader(RedeliverFailed)
const readRotate = reader(RotateSecret)
const readTest = reader(TestEvent)

/** A request that names an account or a delivery. */
interface ById {
  readonly params: { readonly id: string }
}

/** A request whose body is read here. */
interface WithBody {
  readonly request: HttpServerRequest.HttpServerRequest
}

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

  /** The account of this identifier; refused where there is none. */
  const accountOf = (id: string) => {
    const account = AccountId.make(id)
    return Effect.as(Effect.catch(keys.list(account), refuse), account)
  }

  return {
    redeliverFailed: Effect.fnUntraced(function* ({ request }: WithBody) {
      const { accountId, since } = yield* readFailed(request)
      const account = accountId === undefined ? null : yield* accountOf(accountId)
      return { count: yield* Effect.catch(store.redeliverFailed(account, since), refuse) }
    }),
    secrets: Effect.fnUntraced(function* ({ params }: ById) {
      const account = yield* accountOf(params.id)
      return shown(yield* Effect.catch(webhooks.secrets(account), refuse))
    }),
    rotate: Effect.fnUntraced(function* ({ params, request }: ById & WithBody) {
      const { overlapSeconds } = yield* readRotate(request)
      const overlap = overlapSeconds === undefined ? overlapMillis : overlapSeconds * 1_000
      const account = yield* accountOf(params.id)
      return shown(yield* Effect.catch(webhooks.rotate(account, overlap), refuse))
    }),
    test: Effect.fnUntraced(function* ({ params, request }: ById & WithBody) {
      const target = yield* readTest(request)
      const account = yield* accountOf(params.id)
      return itemOf(yield* Effect.catch(webhooks.test(account, target), refuse))
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
