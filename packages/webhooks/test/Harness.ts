/**
 * A dispatcher over stores in memory, and receivers that live as long as a test.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId, RunId } from "@millrace/core/domain/Id"
import { Ids } from "@millrace/core/engine/Ids"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import type { Vault } from "@millrace/core/ports/Vault"
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import type { Answer, Call, EgressFailed, EgressRefused } from "@millrace/egress/Egress"
import { Egress } from "@millrace/egress/Egress"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Layer, Redacted } from "effect"
import * as Dispatcher from "../src/Dispatcher.ts"
import type { DispatcherOptions } from "../src/DispatcherOptions.ts"
import { CurrentDispatcherOptions, defaultOptions } from "../src/DispatcherOptions.ts"
import { LocalQueue } from "../src/LocalQueue.ts"
import * as MasterVault from "../src/MasterVault.ts"

const usual = { ...defaultOptions, pollMillis: 1_000 }

export const masterKey = Redacted.make(Buffer.alloc(32, 7).toString("base64"))

/** What a receiver does with a call. */
export type Receive = (call: Call) => Effect.Effect<Answer, EgressRefused | EgressFailed>

/** A receiver in place of the network, so that a test owns the time. */
export const receiver = (receive: Receive): Layer.Layer<Egress> =>
  Layer.succeed(
    Egress,
    Egress.of({ request: receive, judge: () => Effect.void, socket: () => Effect.die("none") }),
  )

export const answer = (status: number, headers: Record<string, string> = {}): Answer => ({
  status,
  headers,
  body: Buffer.from("ok"),
  truncated: false,
})

/** Everything but a dispatcher. */
export const services = Webhooks.layer.pipe(
  Layer.provide(WebhookTargets.layerRefusing("webhook: not here")),
  Layer.provideMerge(Layer.mergeAll(Stores.layer, Ids.layerSequential, LocalQueue.layer)),
  Layer.provideMerge(MasterVault.layer(masterKey)),
)

type Store = WebhookStore["Service"]

/** The store of the test with some methods of its own. */
export const storeWith = (change: (store: Store) => Partial<Store>) =>
  Layer.effect(
    WebhookStore,
    WebhookStore.useSync((store) => ({ ...store, ...change(store) })),
  )

/** A dispatcher with these options over {@link services}. */
export const dispatcher = (
  egress: Layer.Layer<Egress>,
  options: Partial<DispatcherOptions> = {},
  vault: Layer.Layer<Vault> = MasterVault.layer(masterKey),
): Layer.Layer<never, never, WebhookStore | Webhooks | LocalQueue> =>
  Dispatcher.layer.pipe(
    Layer.provide([egress, vault]),
    Layer.provide(Layer.succeed(CurrentDispatcherOptions, { ...usual, ...options })),
  )

export const account = AccountId.make("acc_1")

let count = 0

/** A delivery of an event of its own. */
export const delivery = (change: Partial<Delivery> = {}): Delivery => {
  count += 1
  const origin = change.origin ?? "https://receiver.example"
  return {
    id: DeliveryId.make(`msg_${String(count).padStart(6, "0")}`),
    accountId: account,
    runId: RunId.make(`run_${count}`),
    sequence: 1,
    type: "run.started",
    url: `${origin}/hook`,
    origin,
    headers: null,
    body: JSON.stringify({ success: true, n: count, text: "grüezi 😀" }),
    createdAt: 0,
    ...change,
  }
}

/** A delivery of an account to an origin, claimed for its first attempt. */
export const claimFor = (accountId: AccountId, origin: string): ClaimedDelivery => {
  const one = delivery({ accountId, origin })
  const { createdAt, id } = one
  const first = { fence: 1, attempt: 1, earlier: 0, isGone: false, lostAt: null, secrets: [] }
  return { ...first, id, createdAt, delivery: one }
}
