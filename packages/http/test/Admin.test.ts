/**
 * The interface for operators: the token, accounts, keys, and what it tells of itself.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { AdminApi } from "@millrace/api/AdminApi"
import * as AdminClient from "@millrace/api/AdminClient"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { OpenApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import type { Parts } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import type { Document } from "./Operations.ts"
import { bodyExampleOf, operationsOf } from "./Operations.ts"

const token = "an operator token that nobody guesses"

const Mounted = Harness.layer.pipe(Layer.provide(Layer.succeed(AdminToken, Redacted.make(token))))

const admin = Effect.fnUntraced(function* (method: string, path: string, parts: Parts = {}) {
  const { send } = yield* Harness
  return yield* send(method, `/api/admin/v1${path}`, { key: token, ...parts })
})

const newAccount = Effect.map(
  admin("POST", "/accounts", { json: { name: "Acme" } }),
  ({ body }) => body.id as string,
)

/** A new key of a new account, as it was answered. */
const newKey = Effect.fnUntraced(function* (properties: object = {}) {
  const account = yield* newAccount
  const path = `/accounts/${account}/keys`
  const { body } = yield* admin("POST", path, { json: { label: "one", ...properties } })
  return { path, key: body }
})

const operations: ReadonlyArray<readonly [string, string]> = [
  ["GET", "/accounts"],
  ["POST", "/accounts"],
  ["PATCH", "/accounts/acc_1"],
  ["GET", "/accounts/acc_1/keys"],
  ["POST", "/accounts/acc_1/keys"],
  ["PATCH", "/accounts/acc_1/keys/key_1"],
  ["POST", "/accounts/acc_1/keys/key_1/revoke"],
  ["GET", "/accounts/acc_1/credits"],
  ["POST", "/accounts/acc_1/credits/grants"],
  ["POST", "/accounts/acc_1/credits/adjustments"],
  ["POST", "/accounts/acc_1/credits/metering"],
  ["GET", "/accounts/acc_1/credits/statement"],
  ["GET", "/accounts/acc_1/credits/statement.csv"],
  ["GET", "/audit"],
  ["GET", "/deliveries"],
  ["GET", "/deliveries/msg_1"],
  ["POST", "/deliveries/msg_1/redeliver"],
  ["POST", "/deliveries/redeliver-failed"],
  ["GET", "/accounts/acc_1/webhook-secrets"],
  ["POST", "/accounts/acc_1/webhook-secrets/rotate"],
  ["POST", "/accounts/acc_1/webhook-test"],
  ["GET", "/node-types"],
  ["GET", "/quarantine"],
  ["POST", "/quarantine/run_1/release"],
  ["POST", "/quarantine/run_1/end"],
]

describe("AdminApp.layer without a token", () => {
  for (const [method, path] of [...operations, ["GET", "/../openapi.json"] as const]) {
    it.effect(`has nothing at ${method} ${path}`, () =>
      Effect.gen(function* () {
        const { status } = yield* admin(method, path)
        assert.strictEqual(status, 404)
      }).pipe(Effect.provide(Harness.layer)),
    )
  }
})

layer(Mounted)("with a token", (it) => {
  describe("AdminAuthorization of every operation", () => {
    for (const [method, path] of operations) {
      it.effect(`refuses ${method} ${path} without the token, and with an API key`, () =>
        Effect.gen(function* () {
          const { key } = yield* (yield* Harness).tenant()
          for (const other of [undefined, "", "wrong", `${token}x`, token.slice(1), key]) {
            const { body, headers, status } = yield* admin(method, path, { key: other })
            assert.strictEqual(status, 401, other)
            assert.deepStrictEqual(body, { error: "The admin token is missing or wrong" })
            assert.strictEqual(headers.get("www-authenticate"), "Bearer")
            assert.strictEqual(headers.get("x-error-code"), "token_refused")
            assert.isNotNull(headers.get("x-request-id"))
            assert.isNull(headers.get("x-ratelimit-remaining"))
          }
          yield* TestClock.adjust("1 minute")
        }),
      )
    }

    it.effect("opens nothing of the interface that keys open", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        assert.strictEqual((yield* send("GET", "/api/v1/runs", { key: token })).status, 401)
      }),
    )
  })

  describe("the operations on accounts", () => {
    it.effect("make accounts and list them", () =>
      Effect.gen(function* () {
        const made = yield* admin("POST", "/accounts", { json: { name: "Ünï" } })
        assert.strictEqual(made.status, 201)
        assert.sameMembers(Object.keys(made.body), ["id", "name", "createdAt", "runsAtOnce"])
        assert.match(made.body.createdAt, /^\d{4}-\d\d-\d\dT/)
        const { body } = yield* admin("GET", "/accounts")
        const found = body.items.find(({ id }: { id: string }) => id === made.body.id)
        assert.deepStrictEqual(found, made.body)
      }),
    )

    for (const json of [{}, { name: "" }, { name: " x" }, { name: "x".repeat(121) }, { name: 1 }]) {
      it.effect(`refuse ${JSON.stringify(json).slice(0, 30)}`, () =>
        Effect.gen(function* () {
          const { body, status } = yield* admin("POST", "/accounts", { json })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^name: /)
        }),
      )
    }
  })

  describe("the operation that changes an account", () => {
    it.effect("sets a cap of runs in progress, and takes it back", () =>
      Effect.gen(function* () {
        const { body: made } = yield* admin("POST", "/accounts", { json: { name: "Capped" } })
        assert.strictEqual(made.runsAtOnce, null)
        for (const runsAtOnce of [1, 1_000_000, null]) {
          const path = `/accounts/${made.id}`
          const { body, status } = yield* admin("PATCH", path, { json: { runsAtOnce } })
          assert.strictEqual(status, 200)
          assert.deepStrictEqual(body, { ...made, runsAtOnce })
          const { body: listed } = yield* admin("GET", "/accounts")
          const found = listed.items.find(({ id }: { id: string }) => id === made.id)
          assert.deepStrictEqual(found, body)
        }
      }),
    )

    const bad = [{}, ...[0, -1, 1.5, 1_000_001, "5", true].map((runsAtOnce) => ({ runsAtOnce }))]
    for (const json of bad) {
      it.effect(`refuses ${JSON.stringify(json)}`, () =>
        Effect.gen(function* () {
          const { body, status } = yield* admin("PATCH", `/accounts/${yield* newAccount}`, { json })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^runsAtOnce: /)
        }),
      )
    }

    it.effect("knows no unknown account", () =>
      Effect.gen(function* () {
        const json = { runsAtOnce: 1 }
        assert.strictEqual((yield* admin("PATCH", "/accounts/acc_none", { json })).status, 404)
      }),
    )
  })

  describe("the operations on keys", () => {
    it.effect("make a key that works, and show its secret this once", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const expiresAt = "2100-01-01T00:00:00.000Z"
        const { key, path } = yield* newKey({ label: " CI ", perMinute: 7, perDay: 70, expiresAt })
        const { secret, ...shown } = key
        assert.deepInclude(shown, { label: "CI", perMinute: 7, perDay: 70, expiresAt })
        assert.deepInclude(shown, { revokedAt: null, lastUsedAt: null })
        assert.strictEqual(shown.prefix, secret.slice(0, 12))
        assert.strictEqual((yield* send("GET", "/api/v1/runs", { key: secret })).status, 200)
        const listed = yield* admin("GET", path)
        assert.notInclude(listed.text, secret)
        const [item] = listed.body.items
        assert.match(item.lastUsedAt, /^\d{4}-/)
        assert.deepStrictEqual({ ...item, lastUsedAt: null }, shown)
      }),
    )

    it.effect("change label and limits, which hold from the next request on", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { key, path } = yield* newKey({ perMinute: 1 })
        const ask = Effect.map(
          send("GET", "/api/v1/runs", { key: key.secret }),
          ({ status }) => status,
        )
        assert.deepStrictEqual([yield* ask, yield* ask], [200, 429])
        const json = { label: "two", perMinute: 2 }
        const changed = yield* admin("PATCH", `${path}/${key.id}`, { json })
        assert.strictEqual(changed.status, 200)
        assert.deepInclude(changed.body, json)
        assert.notProperty(changed.body, "secret")
        assert.deepStrictEqual([yield* ask, yield* ask], [200, 429])
        const unchanged = yield* admin("PATCH", `${path}/${key.id}`, { json: {} })
        assert.deepInclude(unchanged.body, json)
      }),
    )

    it.effect("revoke a key from the next request on, again and again", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { key, path } = yield* newKey()
        const revoked = yield* admin("POST", `${path}/${key.id}/revoke`)
        assert.strictEqual(revoked.status, 200)
        assert.match(revoked.body.revokedAt, /^\d{4}-/)
        assert.strictEqual((yield* send("GET", "/api/v1/runs", { key: key.secret })).status, 401)
        yield* TestClock.adjust("1 minute")
        const again = yield* admin("POST", `${path}/${key.id}/revoke`)
        assert.deepStrictEqual(again.body, revoked.body)
      }),
    )

    it.effect("refuse a label that is taken and an eleventh key with 409", () =>
      Effect.gen(function* () {
        const { path } = yield* newKey()
        const make = (label: string) => admin("POST", path, { json: { label } })
        const taken = yield* make("ONE")
        assert.deepStrictEqual(
          [taken.status, taken.headers.get("x-error-code")],
          [409, "label_taken"],
        )
        const others = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, n) => `label ${n}`),
          make,
          { concurrency: "unbounded" },
        )
        assert.strictEqual(others.filter(({ status }) => status === 201).length, 9)
        const full = others.find(({ status }) => status === 409)
        assert.strictEqual(full?.headers.get("x-error-code"), "too_many_keys")
        const second = others.find(({ status }) => status === 201)?.body.id
        const moved = yield* admin("PATCH", `${path}/${second}`, { json: { label: "One" } })
        assert.strictEqual(moved.status, 409)
      }),
    )

    const bad: ReadonlyArray<readonly [object, RegExp]> = [
      [{}, /^label: /],
      [{ label: " " }, /^label: expected 1 to 100 characters$/],
      [{ label: "x".repeat(101) }, /^label: /],
      [{ label: "a\u0000" }, /^label: /],
      [{ label: "x", perMinute: 0 }, /^perMinute: /],
      [{ label: "x", perMinute: 10_001 }, /^perMinute: /],
      [{ label: "x", perDay: 100_001 }, /^perDay: /],
      [{ label: "x", perDay: "5" }, /^perDay: /],
      [{ label: "x", expiresAt: "tomorrow" }, /^expiresAt: /],
      [{ label: "x", expiresAt: "1969-01-01T00:00:00Z" }, /^expiresAt: expected a time to come$/],
    ]
    for (const [json, sentence] of bad) {
      it.effect(`refuse to make a key of ${JSON.stringify(json).slice(0, 50)}`, () =>
        Effect.gen(function* () {
          const { path } = yield* newKey()
          const { body, status } = yield* admin("POST", path, { json })
          assert.strictEqual(status, 400)
          assert.match(body.error, sentence)
        }),
      )
    }

    it.effect("know neither unknown accounts nor unknown keys, nor keys of others", () =>
      Effect.gen(function* () {
        const { path } = yield* newKey()
        const foreign = yield* newKey()
        const json = { label: "x" }
        const answers = yield* Effect.all([
          admin("GET", "/accounts/acc_none/keys"),
          admin("POST", "/accounts/acc_none/keys", { json }),
          admin("PATCH", `${path}/key_none`, { json }),
          admin("PATCH", `${path}/${foreign.key.id}`, { json }),
          admin("POST", `${path}/${foreign.key.id}/revoke`),
        ])
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [404, 404, 404, 404, 404],
        )
        const { body } = yield* admin("GET", foreign.path)
        assert.deepInclude(body.items[0], { label: "one", revokedAt: null })
      }),
    )
  })

  describe("the envelope around it", () => {
    it.effect("answers 404 and 405 as everywhere, whatever the token", () =>
      Effect.gen(function* () {
        const wrong = yield* admin("PUT", "/accounts")
        assert.deepStrictEqual([wrong.status, wrong.headers.get("allow")], [405, "GET, HEAD, POST"])
        assert.strictEqual((yield* admin("GET", "/nothing")).status, 404)
        const malformed = yield* admin("POST", "/accounts", {
          raw: "{",
          headers: { "content-type": "application/json" },
        })
        assert.strictEqual(malformed.status, 400)
      }),
    )

    it.effect("serves a document of its own, without the token", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { body, status } = yield* send("GET", "/api/admin/openapi.json")
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(body.info, OpenApi.fromApi(AdminApi).info)
        const paths = Object.keys(body.paths)
        assert.isTrue(paths.every((path) => path.startsWith("/api/admin/v1/")))
        assert.strictEqual(paths.length, 28)
        assert.notInclude(JSON.stringify(body), "X-RateLimit")
        const keyed = yield* send("GET", "/api/openapi.json")
        assert.notInclude(keyed.text, "/api/admin")
      }),
    )
  })

  describe("an unknown field of a body", () => {
    it.effect("is refused by every operation, and nothing is done", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const document: Document = (yield* send("GET", "/api/admin/openapi.json")).body
        const withBody = operationsOf(document).filter(({ requestBody }) => requestBody)
        assert.lengthOf(withBody, 12)
        const before = (yield* admin("GET", "/accounts")).body
        for (const operation of withBody) {
          const path = operation.path.replaceAll(/\{\w+\}/g, "one")
          const json = { ...bodyExampleOf(operation), amonut: 1 }
          const { body, status } = yield* send(operation.method, path, { key: token, json })
          assert.strictEqual(status, 400, path)
          assert.include(body.error, 'unknown field "amonut"; ', path)
        }
        assert.deepStrictEqual((yield* admin("GET", "/accounts")).body, before)
      }),
    )
  })

  describe("AdminClient.make", () => {
    it.effect("calls every operation, and gets errors as tagged classes", () =>
      Effect.gen(function* () {
        const { handler } = yield* Harness
        const fetch = ((input: string | URL | Request, init?: RequestInit) =>
          handler(new Request(input, init))) as typeof globalThis.fetch
        const work = Effect.gen(function* () {
          const client = yield* AdminClient.make({ baseUrl: "http://localhost", token })
          const { id } = yield* client.accounts.create({ payload: { name: "Client" } })
          const payload = { label: "one" }
          const made = yield* client.keys.create({ params: { id }, payload })
          const params = { id, keyId: made.id }
          yield* client.keys.update({ params, payload: { perDay: 5 } })
          const revoked = yield* client.keys.revoke({ params })
          assert.isNotNull(revoked.revokedAt)
          const { items } = yield* client.keys.list({ params: { id } })
          assert.deepStrictEqual(items, [revoked])
          const unknown = client.keys.revoke({ params: { id, keyId: "key_none" } })
          assert.strictEqual((yield* Effect.flip(unknown))._tag, "NotFound")
        })
        yield* work.pipe(
          Effect.provide(FetchHttpClient.layer),
          Effect.provideService(FetchHttpClient.Fetch, fetch),
        )
      }),
    )
  })
})

describe("AdminAuthorization of wrong tokens", () => {
  it.effect("turns further ones away with 429, and never the right one", () =>
    Effect.gen(function* () {
      const ask = (key: string) => admin("GET", "/accounts", { key })
      for (const wrong of ["a", "b"]) assert.strictEqual((yield* ask(wrong)).status, 401)
      const { headers, status } = yield* ask("c")
      assert.deepStrictEqual([status, headers.get("retry-after")], [429, "60"])
      assert.strictEqual((yield* ask(token)).status, 200)
    }).pipe(
      Effect.provide(
        Mounted.pipe(
          Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, badTokensPerMinute: 2 })),
        ),
      ),
    ),
  )
})
