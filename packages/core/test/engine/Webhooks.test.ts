// Webhooks in the engine: what a start may ask for, what is sealed, and which secrets sign.
import { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { Ids } from "@millrace/core/engine/Ids"
import {
  headersPurpose,
  makeAdmit,
  overlapMillis,
  secretPurpose,
  Webhooks,
} from "@millrace/core/engine/Webhooks"
import { Vault, VaultClosed } from "@millrace/core/ports/Vault"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"

const account = AccountId.make("acc_ada")
const url = "https://receiver.example/hook"
const origin = "https://receiver.example"

/** Keeps secrets readable, and opens them for the purpose that sealed them. */
const vault: Vault["Service"] = {
  seal: (purpose, text) => Effect.succeed(`key.${JSON.stringify([purpose, text])}`),
  open: (purpose, sealed) => {
    const [known, text] = JSON.parse(sealed.slice(4)) as [string, string]
    return known === purpose
      ? Effect.succeed(text)
      : Effect.fail(new VaultClosed({ message: "another purpose" }))
  },
  sign: (purpose, text) => Effect.succeed([`${purpose}|${text}`]),
}

/** Has no key. */
const closed: Vault["Service"] = {
  seal: () => Effect.fail(new VaultClosed({ message: "no key" })),
  open: () => Effect.fail(new VaultClosed({ message: "no key" })),
  sign: () => Effect.fail(new VaultClosed({ message: "no key" })),
}

/** Accepts the one address there is. */
const targets = {
  accept: (target: { readonly url: string }) =>
    target.url.startsWith(origin)
      ? Effect.succeed({ url: target.url, origin })
      : Effect.fail("webhook.url: not there"),
}

const judged = Layer.mergeAll(Layer.succeed(Vault, vault), Layer.succeed(WebhookTargets, targets))
const stores = Layer.mergeAll(Memory.layer, Ids.layerSequential)
const at = Effect.provide(
  Webhooks.layer.pipe(Layer.provideMerge(stores), Layer.provideMerge(judged)),
)

describe("the webhook of a start", () => {
  it.effect("is kept with its events once each, and with sealed headers", () =>
    Effect.gen(function* () {
      const admit = yield* makeAdmit
      const events = ["run.failed", "run.completed", "run.failed"] as const
      const headers = { "x-token": "secret" }
      const webhook = yield* admit(account, { url, events, headers, metadata: { order: 7 } })
      assert.deepStrictEqual(webhook, {
        url,
        origin,
        events: ["run.failed", "run.completed"],
        metadata: { order: 7 },
        headers: `key.${JSON.stringify([headersPurpose(account), '{"x-token":"secret"}'])}`,
      })
    }).pipe(Effect.provide(judged)),
  )

  it.effect("asks for all events, and has neither metadata nor headers, unless it says so", () =>
    Effect.gen(function* () {
      const admit = yield* makeAdmit
      const least = { url, origin, events: null, metadata: null, headers: null }
      assert.deepStrictEqual(yield* admit(account, { url }), least)
      assert.deepStrictEqual(yield* admit(account, { url, headers: {}, metadata: null }), least)
    }).pipe(Effect.provide(judged)),
  )

  it.effect("is refused with the reason of whoever judges addresses", () =>
    Effect.gen(function* () {
      const admit = yield* makeAdmit
      const error = yield* Effect.flip(admit(account, { url: "https://elsewhere.example" }))
      assert.deepInclude(error, { _tag: "InvalidWebhook", message: "webhook.url: not there" })
    }).pipe(Effect.provide(judged)),
  )

  it.effect("is refused by an engine that delivers none", () =>
    Effect.gen(function* () {
      const admit = yield* makeAdmit
      const error = yield* Effect.flip(admit(account, { url }))
      assert.strictEqual(
        error.message,
        "webhook: this engine delivers no webhooks; start without one",
      )
    }).pipe(Effect.provide(withoutWebhooks())),
  )
})

describe("Webhooks.test", () => {
  it.effect("stores a delivery that is due, of an event that belongs to no run", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5_000)
      const [store, webhooks] = [yield* WebhookStore, yield* Webhooks]
      const delivery = yield* webhooks.test(account, { url, headers: { a: "b" } })
      assert.deepInclude(delivery, {
        accountId: account,
        runId: null,
        sequence: null,
        type: "webhook.test",
        url,
        origin,
        headers: `key.${JSON.stringify([headersPurpose(account), '{"a":"b"}'])}`,
        createdAt: 5_000,
      })
      assert.match(delivery.id, /^msg_/)
      assert.deepStrictEqual(JSON.parse(delivery.body), {
        success: true,
        type: "webhook.test",
        runId: "run_test",
        workflowId: "wf_test",
        data: { status: "TEST" },
        metadata: null,
        error: null,
        createdAt: "1970-01-01T00:00:05.000Z",
      })
      const [item] = (yield* store.list({ account, limit: 10 })).items
      assert.deepInclude(item, { id: delivery.id, state: "PENDING", nextAttemptAt: 5_000 })
    }).pipe(at),
  )

  it.effect("stores nothing for an address that is refused", () =>
    Effect.gen(function* () {
      const [store, webhooks] = [yield* WebhookStore, yield* Webhooks]
      const error = yield* Effect.flip(webhooks.test(account, { url: "http://no.example" }))
      assert.strictEqual(error._tag, "InvalidWebhook")
      assert.deepStrictEqual((yield* store.list({ account, limit: 10 })).items, [])
    }).pipe(at),
  )
})

describe("Webhooks.redeliver", () => {
  it.effect("makes an account's own delivery due, and knows no other one", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const { id } = yield* webhooks.test(account, { url })
      yield* TestClock.setTime(9_000)
      const item = yield* webhooks.redeliver(account, id)
      assert.deepInclude(item, { id, state: "PENDING", nextAttemptAt: 9_000 })
      assert.strictEqual((yield* webhooks.redeliver(null, id)).id, id)
      for (const refused of [
        webhooks.redeliver(AccountId.make("acc_bob"), id),
        webhooks.redeliver(account, DeliveryId.make("msg_none")),
      ]) {
        assert.strictEqual((yield* Effect.flip(refused))._tag, "DeliveryNotFound")
      }
    }).pipe(at),
  )
})

describe("the signing secrets of an account", () => {
  it.effect("are made when they are first asked for, and then stay", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      yield* TestClock.setTime(5_000)
      const [sealed, ...others] = yield* webhooks.ensureSecrets(account)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(sealed, { accountId: account, createdAt: 5_000, expiresAt: null })
      assert.match(sealed!.id, /^sec_/)
      yield* TestClock.setTime(6_000)
      assert.deepStrictEqual(yield* webhooks.ensureSecrets(account), [sealed!])
      const [open] = yield* webhooks.secrets(account)
      assert.deepInclude(open, { id: sealed!.id, createdAt: 5_000, expiresAt: null })
      const text = Redacted.value(open!.secret)
      assert.match(text, /^whsec_[A-Za-z0-9+/]{43}=$/)
      assert.strictEqual(sealed!.sealed, `key.${JSON.stringify([secretPurpose(account), text])}`)
      assert.notInclude(String(open!.secret), text)
    }).pipe(at),
  )

  it.effect("are not made again where there are some, nor is there a key needed for that", () =>
    Effect.gen(function* () {
      const stored = yield* Effect.provide(
        Effect.flatMap(Webhooks, (webhooks) => webhooks.ensureSecrets(account)),
        Layer.fresh(Webhooks.layer),
      )
      const again = Effect.provide(
        Effect.flatMap(Webhooks, (webhooks) => webhooks.ensureSecrets(account)),
        Layer.fresh(Webhooks.layer).pipe(Layer.provide(Layer.succeed(Vault, closed))),
      )
      assert.deepStrictEqual(yield* again, stored)
    }).pipe(Effect.provide(Layer.provideMerge(stores, judged))),
  )

  it.effect("are two for a while after a rotation, and then the new one", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      const [old] = yield* webhooks.secrets(account)
      yield* TestClock.setTime(1_000)
      const both = yield* webhooks.rotate(account, overlapMillis)
      assert.deepStrictEqual(
        both.map(({ createdAt, expiresAt }) => [createdAt, expiresAt]),
        [
          [0, 1_000 + overlapMillis],
          [1_000, null],
        ],
      )
      assert.strictEqual(both[0]?.id, old?.id)
      assert.notStrictEqual(Redacted.value(both[1]!.secret), Redacted.value(old!.secret))
      yield* TestClock.setTime(1_000 + overlapMillis)
      assert.deepStrictEqual(yield* webhooks.secrets(account), both.slice(1))
    }).pipe(at),
  )

  it.effect("cannot be made without a key to keep them with", () =>
    Effect.gen(function* () {
      const webhooks = yield* Webhooks
      for (const closed of [
        Effect.asVoid(webhooks.ensureSecrets(account)),
        Effect.asVoid(webhooks.secrets(account)),
        Effect.asVoid(webhooks.rotate(account, 0)),
      ]) {
        const error = yield* Effect.flip(closed)
        assert.strictEqual(error._tag, "VaultClosed")
      }
      const store = yield* WebhookStore
      assert.deepStrictEqual(yield* store.secrets(account), [])
    }).pipe(
      Effect.provide(
        Webhooks.layer.pipe(Layer.provide(withoutWebhooks()), Layer.provideMerge(stores)),
      ),
    ),
  )
})
