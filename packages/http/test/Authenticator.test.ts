/**
 * What counts against whom: bad tokens against their address, requests for nothing against their
 * key (specification, parts 5 and 8).
 */
import { assert, describe, it } from "@effect/vitest"
import { secretOf } from "@millrace/core/domain/ApiKey"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { Keys } from "@millrace/core/engine/Keys"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { FailedAuthLimiter } from "../src/internal/FailedAuthLimiter.ts"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import type { Answer } from "./Harness.ts"
import { Harness, types } from "./Harness.ts"
import { create, hello } from "./Samples.ts"

const perMinute = 3

const few = Layer.succeed(CurrentLimits, {
  ...defaultLimits,
  badTokensPerMinute: perMinute,
  badTokenSources: 3,
})

const Live = Harness.layer.pipe(Layer.provideMerge(few))

/** Well formed, and nobody's. */
const unknown = secretOf(new Uint8Array(32).fill(1), "mr_")

type Changed = KeyStore | WorkflowStore

/** The interface over stores that answer differently. */
const over = (
  change: Layer.Layer<Changed, never, Changed> | Layer.Layer<KeyStore, never, KeyStore>,
) =>
  Harness.layerNoDeps.pipe(
    Layer.provideMerge(Engine.layerWithoutWebhooks),
    Layer.provideMerge(change),
    Layer.provideMerge(Layer.merge(Stores.layer, types)),
  )

const get = Effect.fnUntraced(function* (key: string | undefined, path = "/api/v1/workflows") {
  const { send } = yield* Harness
  return yield* send("GET", path, { key })
})

const headersOf = ({ headers }: Answer) => ({
  left: headers.get("x-ratelimit-remaining"),
  retryAfter: headers.get("retry-after"),
  code: headers.get("x-error-code"),
})

describe("Authorization of bad tokens", () => {
  it.effect("turns further bad tokens away with 429 until the minute ends, and no good key", () =>
    Effect.gen(function* () {
      const { key } = yield* (yield* Harness).tenant()
      yield* TestClock.adjust("50500 millis")
      for (const bad of ["junk", unknown, "junk"]) {
        assert.strictEqual((yield* get(bad)).status, 401)
      }
      for (const bad of ["junk", unknown, `${key}x`]) {
        const answer = yield* get(bad)
        assert.strictEqual(answer.status, 429)
        assert.deepStrictEqual(headersOf(answer), {
          left: null,
          retryAfter: "10",
          code: "too_many_bad_tokens",
        })
        assert.deepStrictEqual(Object.keys(answer.body), ["error"])
      }
      assert.strictEqual((yield* get(key)).status, 200)
      yield* TestClock.adjust("9500 millis")
      assert.strictEqual((yield* get("junk")).status, 401)
    }).pipe(Effect.provide(Live)),
  )

  it.effect("counts no request that carries no token", () =>
    Effect.gen(function* () {
      for (let n = 0; n < 20; n++) assert.strictEqual((yield* get(undefined)).status, 401)
      assert.strictEqual((yield* get("junk")).status, 401)
    }).pipe(Effect.provide(Live)),
  )

  it.effect("counts keys that were revoked or have expired as bad tokens", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { id } = yield* keys.createAccount("Acme")
      const { key, secret } = yield* Effect.orDie(keys.create(id, { label: "one" }))
      yield* Effect.orDie(keys.revoke(id, key.id))
      const ask = get(Redacted.value(secret))
      const answers = yield* Effect.all(Array.from({ length: perMinute + 1 }, () => ask))
      assert.deepStrictEqual(
        answers.map(({ status }) => status),
        [401, 401, 401, 429],
      )
    }).pipe(Effect.provide(Live)),
  )

  it.effect("asks the store about no junk", () =>
    Effect.gen(function* () {
      for (const bad of ["junk", "mr_", unknown.slice(1), `${unknown}0`, unknown.toLowerCase()]) {
        assert.strictEqual((yield* get(bad)).status, 401)
      }
      assert.strictEqual((yield* get(unknown)).status, 500)
    }).pipe(
      Effect.provide(
        over(
          Layer.effect(
            KeyStore,
            Effect.map(KeyStore, (store) =>
              KeyStore.of({ ...store, admit: () => Effect.die(new Error("asked")) }),
            ),
          ),
        ),
      ),
    ),
  )
})

/** A request from an address. */
const from = (address: string | undefined) =>
  HttpServerRequest.fromWeb(new Request("http://localhost/")).modify({
    remoteAddress: Option.fromUndefinedOr(address),
  })

describe("FailedAuthLimiter.count", () => {
  const countFor = Effect.fnUntraced(function* (...addresses: ReadonlyArray<string | undefined>) {
    const { count } = yield* FailedAuthLimiter
    const answers = yield* Effect.forEach(addresses, (address) => count(from(address)))
    return answers.map((seconds) => seconds !== undefined)
  })
  const Counts = FailedAuthLimiter.layer.pipe(Layer.provide(few))

  it.effect("gives every address a budget of its own", () =>
    Effect.gen(function* () {
      const one = "192.0.2.1"
      const answers = yield* countFor(one, one, one, one, "192.0.2.2", one)
      assert.deepStrictEqual(answers, [false, false, false, true, false, true])
    }).pipe(Effect.provide(Counts)),
  )

  it.effect("counts a network of 64 bits as one, and IPv4 in whatever spelling", () =>
    Effect.gen(function* () {
      const six = ["2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::3", "2001:db8::4"]
      assert.deepStrictEqual(yield* countFor(...six), [false, false, false, true])
      assert.deepStrictEqual(yield* countFor("2001:db8:0:1::1"), [false])
      const four = ["192.0.2.1", "::ffff:192.0.2.1", "::ffff:c000:201", "192.0.2.1"]
      assert.deepStrictEqual(yield* countFor(...four), [false, false, false, true])
    }).pipe(Effect.provide(Counts)),
  )

  it.effect("counts those together that have no address or come when memory is full", () =>
    Effect.gen(function* () {
      yield* countFor("192.0.2.1", "192.0.2.2", "192.0.2.3")
      const strangers = [undefined, "192.0.2.4", "no address", "192.0.2.5"]
      assert.deepStrictEqual(yield* countFor(...strangers), [false, false, false, true])
      assert.deepStrictEqual(yield* countFor("192.0.2.1"), [false])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* countFor("192.0.2.5"), [false])
    }).pipe(Effect.provide(Counts)),
  )
})

const notFound: ReadonlyArray<readonly [number, string, string, string]> = [
  [404, "GET", "/api/v1/nothing", "unknown_route"],
  [404, "GET", "/api/v2/workflows", "unknown_route"],
  [404, "GET", "/api/v1//workflows", "unknown_route"],
  [404, "GET", "/API/v1/workflows", "unknown_route"],
  [405, "PUT", "/api/v1/workflows", "method_not_allowed"],
  [405, "DELETE", "/api/v1/runs/run_1", "method_not_allowed"],
]

describe("NotFound.layer", () => {
  for (const [status, method, path, code] of notFound) {
    it.effect(`tells a key of its limits on ${method} ${path}`, () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant({ perMinute: 2, perDay: 100 })
        const ask = send(method, path, { key })
        const first = yield* ask
        assert.strictEqual(first.status, status)
        assert.deepStrictEqual(headersOf(first), { left: "1", retryAfter: null, code })
        assert.deepStrictEqual(Object.keys(first.body), ["error"])
        assert.strictEqual(first.headers.get("x-ratelimit-reset"), "60000")
        assert.isNotNull(first.headers.get("x-request-id"))
        yield* ask
        const limited = yield* ask
        assert.strictEqual(limited.status, 429)
        assert.deepStrictEqual(headersOf(limited), {
          left: "0",
          retryAfter: "60",
          code: "limit_exceeded",
        })
        assert.isNotNull(limited.headers.get("x-request-id"))
        assert.strictEqual(limited.headers.get("x-content-type-options"), "nosniff")
      }).pipe(Effect.provide(Live)),
    )

    it.effect(`tells nothing of a bad token on ${method} ${path}, but counts it`, () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const anonymous = yield* send(method, path)
        for (let n = 0; n < perMinute; n++) {
          const answer = yield* send(method, path, { key: unknown })
          assert.strictEqual(answer.status, status)
          assert.deepStrictEqual(headersOf(answer), headersOf(anonymous))
          assert.strictEqual(answer.text, anonymous.text)
        }
        assert.strictEqual((yield* send(method, path, { key: unknown })).status, 429)
        assert.strictEqual((yield* send(method, path)).status, status)
      }).pipe(Effect.provide(Live)),
    )
  }
})

describe("Authorization of reading a workflow", () => {
  const eager = Layer.effect(
    KeyStore,
    Effect.gen(function* () {
      const store = yield* KeyStore
      const workflows = yield* WorkflowStore
      return KeyStore.of({
        ...store,
        admit: Effect.fnUntraced(function* (hash, ahead) {
          const admission = yield* store.admit(hash, ahead)
          if (admission._tag !== "Admitted" || ahead === undefined) return admission
          const workflow = yield* workflows.find(admission.accountId, ahead)
          return { ...admission, workflow }
        }),
      })
    }),
  )
  const lazy = Layer.effect(
    WorkflowStore,
    Effect.map(WorkflowStore, (store) =>
      WorkflowStore.of({ ...store, find: () => Effect.die(new Error("asked again")) }),
    ),
  )

  it.effect("is answered with what came along with the admission, without asking again", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const id = yield* create(owner, hello)
      const read = (path: string, key = owner.key) =>
        send("GET", `/api/v1/workflows/${path}`, { key })
      assert.strictEqual((yield* read(id)).body.name, "Hello")
      assert.strictEqual((yield* read(encodeURIComponent(id).replace("_", "%5F"))).status, 200)
      assert.strictEqual((yield* read("wf_none")).status, 404)
      assert.strictEqual((yield* read("a%00b")).status, 400)
      assert.strictEqual((yield* read(id, (yield* tenant()).key)).status, 404)
    }).pipe(Effect.provide(over(Layer.merge(eager, lazy)))),
  )
})
