/**
 * Webhooks as operators see them: all deliveries, and the secrets.
 */
import { assert, describe, layer } from "@effect/vitest"
import type { DeliveryId } from "@millrace/core/domain/Id"
import { Vault, VaultClosed } from "@millrace/core/ports/Vault"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { Parts } from "./Harness.ts"
import { Harness, servicesWith } from "./Harness.ts"

const token = "an operator token that nobody guesses"

/** A vault that locks nothing; how one does is not the interface's business. */
const vault = Layer.succeed(Vault, {
  seal: (purpose, text) => Effect.succeed(`${purpose}|${text}`),
  open: (purpose, sealed) =>
    sealed.startsWith(`${purpose}|`)
      ? Effect.succeed(sealed.slice(purpose.length + 1))
      : Effect.fail(new VaultClosed({ message: "not for this" })),
  sign: (purpose, text) => Effect.succeed([`${purpose}|${text}`]),
})

const targets = Layer.succeed(WebhookTargets, {
  accept: ({ url }) =>
    url.startsWith("https:")
      ? Effect.succeed({ url, origin: new URL(url).origin })
      : Effect.fail("webhook.url: only https"),
})

const mounted = Harness.layerNoDeps.pipe(
  Layer.provideMerge(servicesWith(Layer.merge(vault, targets))),
  Layer.provide(Layer.succeed(AdminToken, Redacted.make(token))),
)

const admin = Effect.fnUntraced(function* (method: string, path: string, parts: Parts = {}) {
  const { send } = yield* Harness
  return yield* send(method, `/api/admin/v1${path}`, { key: token, ...parts })
})

const newAccount = Effect.map(
  admin("POST", "/accounts", { json: { name: "Acme" } }),
  ({ body }) => body.id as string,
)

/** A test event of a new account. */
const newDelivery = Effect.gen(function* () {
  const accountId = yield* newAccount
  const json = { url: "https://receiver.example/hook" }
  const { body, status } = yield* admin("POST", `/accounts/${accountId}/webhook-test`, { json })
  assert.strictEqual(status, 201)
  return { accountId, delivery: body }
})

/** What a dispatcher does when the receiver answers 500 for the last time. */
const fail = Effect.fnUntraced(function* (id: DeliveryId) {
  const store = yield* WebhookStore
  const [claimed] = yield* store.claim([id], 45_000)
  const attempt = { at: 0, durationMillis: 1, status: 500, error: "status", answer: "" } as const
  const next = { _tag: "Failed", isGone: false } as const
  yield* store.record({ id, fence: claimed!.fence, number: claimed!.attempt, attempt, next })
})

const idsOf = (items: ReadonlyArray<{ id: string }>) => items.map(({ id }) => id)

layer(mounted)("the operations on webhooks", (it) => {
  describe("of all accounts", () => {
    it.effect("list and show deliveries with their account", () =>
      Effect.gen(function* () {
        const { accountId, delivery } = yield* newDelivery
        const other = yield* newDelivery
        const all = (yield* admin("GET", "/deliveries")).body.items
        assert.includeMembers(idsOf(all), [delivery.id, other.delivery.id])
        const some = yield* admin("GET", `/deliveries?accountId=${accountId}&state=PENDING`)
        assert.deepStrictEqual(some.body.items, [delivery])
        assert.deepInclude(delivery, { accountId, type: "webhook.test", runId: null, attempts: 0 })
        const { body } = yield* admin("GET", `/deliveries/${delivery.id}`)
        assert.deepStrictEqual([body.id, body.accountId], [delivery.id, accountId])
        assert.deepStrictEqual(body.attemptLog, [])
        assert.deepInclude(JSON.parse(body.body), { type: "webhook.test", success: true })
        assert.strictEqual((yield* admin("GET", "/deliveries/msg_nobody")).status, 404)
      }),
    )

    it.effect("send one again, and all that failed since a time", () =>
      Effect.gen(function* () {
        const { accountId, delivery } = yield* newDelivery
        yield* fail(delivery.id)
        const one = yield* admin("POST", `/deliveries/${delivery.id}/redeliver`)
        assert.deepInclude(one.body, { id: delivery.id, state: "PENDING" })
        yield* fail(delivery.id)
        yield* TestClock.adjust("1 minute")
        const path = "/deliveries/redeliver-failed"
        const again = (since: string) => admin("POST", path, { json: { since, accountId } })
        assert.deepStrictEqual((yield* again("2100-01-01T00:00:00Z")).body, { count: 0 })
        assert.deepStrictEqual((yield* again("1970-01-01T00:00:00Z")).body, { count: 1 })
        assert.deepStrictEqual((yield* again("1970-01-01T00:00:00Z")).body, { count: 0 })
        const unknown = { since: "1970-01-01T00:00:00Z", accountId: "acc_nobody" }
        assert.strictEqual((yield* admin("POST", path, { json: unknown })).status, 404)
        assert.strictEqual((yield* admin("POST", path, { json: {} })).status, 400)
      }),
    )
  })

  describe("of one account", () => {
    it.effect("show its secret, and two while one takes over from the other", () =>
      Effect.gen(function* () {
        const path = `/accounts/${yield* newAccount}/webhook-secrets`
        const [first] = (yield* admin("GET", path)).body.items
        assert.match(first.secret, /^whsec_[\w+/]{43}=$/)
        assert.isNull(first.expiresAt)
        assert.deepStrictEqual((yield* admin("GET", path)).body.items, [first])
        const rotated = yield* admin("POST", `${path}/rotate`, { json: { overlapSeconds: 60 } })
        const [old, second] = rotated.body.items
        assert.deepInclude(old, { id: first.id, secret: first.secret })
        assert.isString(old.expiresAt)
        assert.notStrictEqual(second.secret, first.secret)
        yield* TestClock.adjust("61 seconds")
        assert.deepStrictEqual((yield* admin("GET", path)).body.items, [second])
        const json = { overlapSeconds: -1 }
        assert.strictEqual((yield* admin("POST", `${path}/rotate`, { json })).status, 400)
      }),
    )

    it.effect("refuse a test event to where no start may send, and unknown accounts", () =>
      Effect.gen(function* () {
        const path = `/accounts/${yield* newAccount}/webhook-test`
        const { body, status } = yield* admin("POST", path, { json: { url: "http://a.example/" } })
        assert.deepStrictEqual([status, body.error], [400, "webhook.url: only https"])
        for (const [method, rest, parts] of [
          ["GET", "webhook-secrets", {}],
          ["POST", "webhook-secrets/rotate", { json: {} }],
          ["POST", "webhook-test", { json: { url: "https://a.example/" } }],
        ] as const) {
          const answer = yield* admin(method, `/accounts/acc_nobody/${rest}`, parts)
          assert.strictEqual(answer.status, 404, rest)
        }
      }),
    )
  })
})
