/**
 * Keys and rate limits at authentication (specification, parts 5, 7 and 8).
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { isWellFormed } from "@millrace/core/domain/ApiKey"
import { Keys } from "@millrace/core/engine/Keys"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Clock, Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import type { Answer } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { create, hello } from "./Samples.ts"

const refusal = { error: "API key is missing, invalid or expired" }

const isRefused = ({ body, headers, status }: Answer) => {
  assert.strictEqual(status, 401)
  assert.deepStrictEqual(body, refusal)
  assert.strictEqual(headers.get("x-error-code"), "key_refused")
  assert.strictEqual(headers.get("www-authenticate"), "Bearer")
  assert.isNull(headers.get("x-ratelimit-remaining"))
}

const list = Effect.fnUntraced(function* (key: string | undefined) {
  const { send } = yield* Harness
  return yield* send("GET", "/api/v1/workflows", { key })
})

/** A key with these properties in a new account. */
const newKey = Effect.fnUntraced(function* (properties: object) {
  const keys = yield* Keys
  const { accountId } = yield* (yield* Harness).tenant()
  const made = yield* Effect.orDie(keys.create(accountId, { label: "second", ...properties }))
  return { accountId, id: made.key.id, key: Redacted.value(made.secret) }
})

const operations: ReadonlyArray<readonly [string, string]> = [
  ["GET", "/workflows"],
  ["POST", "/workflows"],
  ["GET", "/workflows/wf_1"],
  ["PATCH", "/workflows/wf_1"],
  ["DELETE", "/workflows/wf_1"],
  ["POST", "/workflows/wf_1/duplicate"],
  ["POST", "/workflows/wf_1/nodes"],
  ["GET", "/runs"],
  ["POST", "/runs"],
  ["POST", "/runs/batch"],
  ["GET", "/runs/run_1"],
  ["POST", "/runs/run_1/cancel"],
  ["POST", "/runs/run_1/signals/paid"],
  ["POST", "/workflows/wf_1/signals/paid"],
  ["POST", "/runs/run_1/rerun"],
  ["POST", "/runs/rerun-failed"],
  ["POST", "/runs/run_1/rerun/plan"],
  ["GET", "/node-types"],
]

layer(Harness.layer)("keys", (it) => {
  describe("Authorization of every operation", () => {
    for (const [method, path] of operations) {
      it.effect(`refuses ${method} ${path} without a key with 401`, () =>
        Effect.gen(function* () {
          const { send } = yield* Harness
          isRefused(yield* send(method, `/api/v1${path}`))
        }),
      )
    }

    it.effect("says the same whatever is wrong with the key", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const { key: unknown } = yield* newKey({})
        const edited = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0")
        assert.isFalse(isWellFormed(edited))
        const authorizations = [
          "",
          "Bearer",
          "Bearer ",
          `Basic ${btoa(`${key}:`)}`,
          key,
          "Bearer junk",
          `Bearer ${edited}`,
          `Bearer ${unknown.slice(0, -1)}`,
          `Bearer ${key} ${key}`,
          `Bearer mr_${"0".repeat(49)}`,
          `Bearer ${"x".repeat(5_000)}`,
        ]
        for (const authorization of authorizations) {
          isRefused(yield* send("GET", "/api/v1/workflows", { headers: { authorization } }))
        }
      }),
    )

    it.effect("takes the scheme in any case", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const headers = { authorization: `bEARER ${key}` }
        assert.strictEqual((yield* send("GET", "/api/v1/workflows", { headers })).status, 200)
      }),
    )

    it.effect("refuses a revoked key from the next request on; others go on", () =>
      Effect.gen(function* () {
        const store = yield* KeyStore
        const { tenant } = yield* Harness
        const other = yield* tenant()
        const { accountId, id, key } = yield* newKey({})
        assert.strictEqual((yield* list(key)).status, 200)
        yield* Effect.orDie(store.revoke(accountId, id))
        isRefused(yield* list(key))
        assert.strictEqual((yield* list(other.key)).status, 200)
      }),
    )

    it.effect("refuses an expired key from its time on", () =>
      Effect.gen(function* () {
        const expiresAt = (yield* Clock.currentTimeMillis) + 10_000
        const { key } = yield* newKey({ expiresAt })
        assert.strictEqual((yield* list(key)).status, 200)
        yield* TestClock.adjust("10 seconds")
        isRefused(yield* list(key))
      }),
    )

    it.effect("looks at the key before the body", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        isRefused(yield* send("POST", "/api/v1/runs", { raw: "{" }))
        isRefused(yield* send("GET", "/api/v1/runs?limit=0"))
      }),
    )
  })
})

const remaining = ({ headers }: Answer) => Number(headers.get("x-ratelimit-remaining"))
const reset = ({ headers }: Answer) => Number(headers.get("x-ratelimit-reset"))

describe("Authorization of a key with limits", () => {
  const limited = (quota: { perMinute: number; perDay: number }) =>
    Effect.map(
      Effect.flatMap(Harness, ({ tenant }) => tenant(quota)),
      ({ key }) => list(key),
    )

  it.effect("counts down and says when the minute ends, in milliseconds", () =>
    Effect.gen(function* () {
      const request = yield* limited({ perMinute: 3, perDay: 100 })
      yield* TestClock.adjust("10 seconds")
      const first = yield* request
      const second = yield* request
      assert.deepStrictEqual([remaining(first), remaining(second)], [2, 1])
      assert.deepStrictEqual([reset(first), reset(second)], [60_000, 60_000])
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("answers 429 with Retry-After beyond the minute's limit, and goes on after it", () =>
    Effect.gen(function* () {
      const request = yield* limited({ perMinute: 2, perDay: 100 })
      yield* TestClock.adjust(12_500)
      yield* request
      yield* request
      const refused = yield* request
      assert.strictEqual(refused.status, 429)
      assert.deepStrictEqual(Object.keys(refused.body), ["error"])
      assert.match(refused.body.error, /limit .* exceeded/)
      assert.strictEqual(refused.headers.get("x-error-code"), "limit_exceeded")
      assert.strictEqual(refused.headers.get("retry-after"), "48")
      assert.deepStrictEqual([remaining(refused), reset(refused)], [0, 60_000])
      yield* TestClock.adjust("48 seconds")
      assert.strictEqual((yield* request).status, 200)
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("says at least one second", () =>
    Effect.gen(function* () {
      const request = yield* limited({ perMinute: 1, perDay: 100 })
      yield* TestClock.adjust(59_999)
      yield* request
      assert.strictEqual((yield* request).headers.get("retry-after"), "1")
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("reports the day where it is the tighter or the exceeded one", () =>
    Effect.gen(function* () {
      const request = yield* limited({ perMinute: 10, perDay: 2 })
      const first = yield* request
      assert.deepStrictEqual([remaining(first), reset(first)], [1, 86_400_000])
      yield* request
      const refused = yield* request
      assert.strictEqual(refused.status, 429)
      assert.strictEqual(reset(refused), 86_400_000)
      assert.strictEqual(refused.headers.get("retry-after"), "86400")
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("admits exactly as many of many requests at once", () =>
    Effect.gen(function* () {
      const request = yield* limited({ perMinute: 60, perDay: 1_000 })
      const answers = yield* Effect.all(
        Array.from({ length: 200 }, () => request),
        {
          concurrency: "unbounded",
        },
      )
      const admitted = answers.filter(({ status }) => status === 200).length
      const refused = answers.filter(({ status }) => status === 429).length
      assert.deepStrictEqual([admitted, refused], [60, 140])
    }).pipe(Effect.provide(Harness.layer)),
  )

  it.effect("is not touched by requests with other or no keys", () =>
    Effect.gen(function* () {
      const request = yield* limited({ perMinute: 2, perDay: 100 })
      yield* list(undefined)
      yield* list("junk")
      assert.strictEqual(remaining(yield* request), 1)
    }).pipe(Effect.provide(Harness.layer)),
  )
})

layer(Harness.layer)("rate headers", (it) => {
  describe("Authorization of requests that fail", () => {
    it.effect("puts the rate headers on every answer, errors included", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const { key } = owner
        const id = yield* create(owner, hello)
        const json = { "content-type": "application/json" }
        const answers: ReadonlyArray<readonly [number, Answer]> = [
          [200, yield* send("GET", `/api/v1/workflows/${id}`, { key })],
          [201, yield* send("POST", `/api/v1/workflows/${id}/duplicate`, { key })],
          [400, yield* send("GET", "/api/v1/runs?limit=0", { key })],
          [400, yield* send("POST", "/api/v1/runs", { key, raw: "{", headers: json })],
          [404, yield* send("GET", "/api/v1/runs/run_none", { key })],
          [413, yield* send("POST", "/api/v1/runs", { key, json: "x".repeat(1_048_576) })],
          [415, yield* send("POST", "/api/v1/runs", { key, raw: "{}" })],
          [204, yield* send("DELETE", `/api/v1/workflows/${id}`, { key })],
        ]
        const left: Array<number> = []
        for (const [status, answer] of answers) {
          assert.strictEqual(answer.status, status)
          assert.isAbove(reset(answer), 0)
          left.push(remaining(answer))
        }
        const first = left[0] ?? 0
        assert.deepStrictEqual(
          left,
          left.map((_, index) => first - index),
        )
      }),
    )
  })
})
