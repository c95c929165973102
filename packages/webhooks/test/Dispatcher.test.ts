/**
 * The dispatcher on the test clock: days pass at once, and a receiver is a function.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Delivery } from "@millrace/core/domain/Delivery"
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { headersPurpose, Webhooks } from "@millrace/core/engine/Webhooks"
import { Vault } from "@millrace/core/ports/Vault"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { Call } from "@millrace/egress/Egress"
import { EgressFailed, EgressRefused } from "@millrace/egress/Egress"
import { Clock, Deferred, Effect, Exit, Layer, Option, Random, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { layerWebhookStore, LocalQueue } from "../src/LocalQueue.ts"
import type { Receive } from "./Harness.ts"
import { account, answer, delivery, dispatcher, receiver, services, storeWith } from "./Harness.ts"

/** A receiver that remembers when it was called and answers in turn; the last answer stays. */
const recorder = (...answers: ReadonlyArray<ReturnType<Receive>>) => {
  const calls: Array<Call & { readonly at: number }> = []
  const receive: Receive = (call) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      calls.push({ ...call, at })
      return answers[Math.min(calls.length, answers.length) - 1]!
    })
  return { calls, receive }
}

const busy = Effect.succeed(answer(503))
const good = Effect.succeed(answer(200))

/** Lets everything happen that needs no time. */
const recorded = Effect.repeat(Effect.yieldNow, { times: 200 })

/** Starts a dispatcher, and lets it take its first poll. */
const start = (...args: Parameters<typeof dispatcher>) =>
  Effect.andThen(Layer.build(dispatcher(...args)), recorded)

/** Looks that are few, where days pass; retries of one's own need none. */
const rarely = { pollMillis: 60_000 }

const itemOf = (id: ReturnType<typeof delivery>["id"]) =>
  WebhookStore.use((store) => Effect.map(store.find(null, id), Option.getOrThrow))

const gapsOf = (calls: ReadonlyArray<{ readonly at: number }>) =>
  calls.slice(1).map(({ at }, index) => at - calls[index]!.at)

const seconds = (count: number) => count * 1_000
const delays = [seconds(5), seconds(300), seconds(1_800), seconds(7_200), seconds(28_800)]

describe("Dispatcher.layer", () => {
  it.effect("makes exactly six attempts on the delays of the specification, then none", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(busy)
      const one = delivery()
      yield* (yield* WebhookStore).insert(one)
      yield* start(receiver(receive), rarely)
      yield* TestClock.adjust("12 hours")
      assert.strictEqual(calls.length, 6)
      for (const [index, gap] of gapsOf(calls).entries()) {
        assert.isAtLeast(gap, delays[index]! * 0.9)
        assert.isAtMost(gap, delays[index]! * 1.1)
      }
      const { attempts, item } = yield* itemOf(one.id)
      assert.deepStrictEqual([item.state, item.attempts, item.nextAttemptAt], ["FAILED", 6, null])
      assert.deepStrictEqual(
        attempts.map(({ error, number, status }) => [number, status, error]),
        Array.from({ length: 6 }, (_, index) => [index + 1, 503, "status" as const]),
      )
      assert.deepStrictEqual(
        attempts.map(({ nextAt }) => nextAt === null),
        [false, false, false, false, false, true],
      )
      yield* TestClock.adjust("10 days")
      assert.strictEqual(calls.length, 6)
    }).pipe(Effect.provide(services), Random.withSeed("six attempts")),
  )

  it.effect("sends the same bytes under the same identifier each time, freshly signed", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(busy, busy, good)
      const vault = yield* Vault
      const custom = { authorization: "Bearer custom", "webhook-id": "forged", host: "forged" }
      const headers = yield* vault.seal(headersPurpose(account), JSON.stringify(custom))
      const one = delivery({ headers, createdAt: 1_700_000_000_000 })
      yield* (yield* WebhookStore).insert(one)
      yield* TestClock.setTime(1_700_000_000_000)
      yield* start(receiver(receive))
      yield* TestClock.adjust("6 minutes")
      assert.strictEqual(calls.length, 3)
      const [secret] = yield* (yield* Webhooks).secrets(account)
      const verifier = new Webhook(Redacted.value(secret!.secret))
      for (const { at, body, headers: sent = {}, method, url } of calls) {
        assert.deepStrictEqual([method, url], ["POST", one.url])
        assert.strictEqual(Buffer.from(body as Uint8Array).toString(), one.body)
        assert.strictEqual(sent["webhook-id"], one.id)
        assert.strictEqual(sent["webhook-timestamp"], String(Math.floor(at / 1_000)))
        assert.strictEqual(sent["authorization"], "Bearer custom")
        assert.isUndefined(sent["host"])
        const time = new Date(Number(sent["webhook-timestamp"]) * 1_000)
        const expected = verifier.sign(one.id, time, one.body)
        assert.strictEqual(sent["webhook-signature"], expected)
      }
      assert.strictEqual((yield* itemOf(one.id)).item.state, "DELIVERED")
    }).pipe(Effect.provide(services)),
  )

  it.effect("lets a busy receiver lengthen a delay, and never follows a redirect", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(
        Effect.succeed(answer(429, { "retry-after": "8" })),
        Effect.succeed(answer(302, { location: "http://169.254.169.254/" })),
        good,
      )
      yield* (yield* WebhookStore).insert(delivery())
      yield* start(receiver(receive))
      yield* TestClock.adjust("6 minutes")
      assert.isTrue(calls.every(({ url }) => url === "https://receiver.example/hook"))
      const [first, second] = gapsOf(calls)
      assert.isAtLeast(first!, 8_000)
      assert.isAtMost(first!, 8_001)
      assert.isAtLeast(second!, 270_000)
    }).pipe(Effect.provide(services)),
  )

  it.effect("ends all deliveries of a run whose receiver answers 410, and no others", () =>
    Effect.gen(function* () {
      const runId = RunId.make("run_gone")
      const [a, b, later] = [1, 2, 3].map((sequence) => delivery({ runId, sequence }))
      const other = delivery()
      const { calls, receive } = recorder(busy, Effect.succeed(answer(410)), good)
      const store = yield* WebhookStore
      const queue = yield* LocalQueue
      yield* start(receiver(receive), rarely)
      const post = Effect.fnUntraced(function* (one: Delivery) {
        yield* store.insert(one)
        queue.put([one])
        yield* recorded
      })
      yield* post(b!)
      yield* post(a!)
      assert.strictEqual(calls.length, 2)
      yield* post(later!)
      yield* post(other)
      yield* TestClock.adjust("1 day")
      const records = yield* Effect.forEach([a!, b!, later!, other], ({ id }) => itemOf(id))
      assert.deepStrictEqual(
        records.map(({ item }) => [item.state, item.attempts]),
        [
          ["FAILED", 1],
          ["FAILED", 1],
          ["FAILED", 0],
          ["DELIVERED", 1],
        ],
      )
      assert.strictEqual(calls.length, 3)
    }).pipe(Effect.provide(services)),
  )

  it.effect("names the class of a failure in the log, and nothing of the network", () =>
    Effect.gen(function* () {
      const bounds = { timeoutMillis: 30_000, maxBodyBytes: 1 }
      const { receive } = recorder(
        Effect.fail(EgressRefused.of("10.0.0.1 is not public")),
        Effect.fail(EgressFailed.of("timeout", bounds)),
        Effect.fail(EgressFailed.of("tls", bounds)),
        Effect.fail(EgressFailed.unresolved("nowhere.example")),
        Effect.fail(EgressFailed.of("reset", bounds)),
        good,
      )
      const one = delivery()
      yield* (yield* WebhookStore).insert(one)
      yield* start(receiver(receive), rarely)
      yield* TestClock.adjust("12 hours")
      const { attempts } = yield* itemOf(one.id)
      const errors = attempts.map(({ error }) => error)
      assert.deepStrictEqual(errors, ["blocked", "timeout", "tls", "unresolvable", "reset", null])
      assert.strictEqual(attempts[5]!.answer, "ok")
      assert.notInclude(JSON.stringify(attempts), "10.0.0.1")
    }).pipe(Effect.provide(services)),
  )

  it.effect("sends at once what this process has just stored", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(good)
      const store = yield* WebhookStore
      const queue = yield* LocalQueue
      yield* start(receiver(receive))
      yield* TestClock.adjust(100)
      const one = delivery()
      yield* store.insert(one)
      queue.put([one])
      yield* recorded
      assert.deepStrictEqual(
        calls.map(({ at }) => at),
        [100],
      )
    }).pipe(Effect.provide(services)),
  )

  it.effect("sends at once what this process inserts, and what it is to send again", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(good)
      const store = yield* WebhookStore
      yield* start(receiver(receive))
      yield* TestClock.adjust(100)
      const one = delivery()
      yield* store.insert(one)
      yield* recorded
      yield* TestClock.adjust(100)
      yield* store.redeliver(account, one.id)
      yield* recorded
      assert.deepStrictEqual(
        calls.map(({ at }) => at),
        [100, 200],
      )
    }).pipe(Effect.provide(Layer.provideMerge(layerWebhookStore, services))),
  )

  it.effect("lets a slow receiver delay nobody else, and sends it no more than its share", () =>
    Effect.gen(function* () {
      const slow = "https://slow.example"
      let [open, most] = [0, 0]
      const receive: Receive = ({ url }) => {
        if (!url.startsWith(slow)) return good
        most = Math.max(most, (open += 1))
        return Effect.ensuring(
          Effect.delay(good, "30 seconds"),
          Effect.sync(() => (open -= 1)),
        )
      }
      const store = yield* WebhookStore
      for (let n = 0; n < 100; n++) yield* store.insert(delivery({ origin: slow }))
      yield* start(receiver(receive), { perOrigin: 8, atOnce: 16 })
      yield* TestClock.adjust("3 seconds")
      const quick = Array.from({ length: 50 }, () => delivery())
      for (const each of quick) yield* store.insert(each)
      yield* TestClock.adjust("2 seconds")
      const states = yield* Effect.forEach(quick, ({ id }) => itemOf(id))
      assert.isTrue(states.every(({ item }) => item.state === "DELIVERED"))
      assert.strictEqual(most, 8)
      yield* TestClock.adjust("8 minutes")
      const left = yield* store.list({ account: null, state: "PENDING", limit: 10 })
      assert.deepStrictEqual([left.items.length, most], [0, 8])
    }).pipe(Effect.provide(services)),
  )

  it.effect("keeps one account's many slow origins from using all slots", () =>
    Effect.gen(function* () {
      const greedy = AccountId.make("acc_greedy")
      const release = yield* Deferred.make<void>()
      const receive: Receive = ({ url }) =>
        url.includes("slow") ? Effect.andThen(Deferred.await(release), good) : good
      const store = yield* WebhookStore
      for (let n = 0; n < 50; n++) {
        yield* store.insert(delivery({ accountId: greedy, origin: `https://slow${n}.example` }))
      }
      const options = { atOnce: 20, perOrigin: 4, perAccount: 10 }
      yield* start(receiver(receive), options)
      yield* TestClock.adjust("2 seconds")
      const one = delivery()
      yield* store.insert(one)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* itemOf(one.id)).item.state, "DELIVERED")
      const open = yield* store.list({ account: greedy, limit: 60 })
      assert.strictEqual(open.items.filter(({ attempts }) => attempts === 1).length, 10)
      yield* Deferred.succeed(release, undefined)
      yield* recorded
    }).pipe(Effect.provide(services)),
  )

  it.effect("lets two accounts that share a receiver take turns, and sends each event once", () =>
    Effect.gen(function* () {
      const second = AccountId.make("acc_2")
      const first = Array.from({ length: 40 }, () => delivery())
      const others = Array.from({ length: 10 }, () => delivery({ accountId: second }))
      const store = yield* WebhookStore
      for (const each of [...first, ...others]) yield* store.insert(each)
      const order: Array<string> = []
      const receive: Receive = ({ headers }) => {
        order.push(headers!["webhook-id"]!)
        return Effect.delay(good, 10)
      }
      yield* start(receiver(receive), { perOrigin: 4, prefetchPerOrigin: 8 })
      ;(yield* LocalQueue).put([...first, ...others])
      yield* Effect.repeat(Effect.andThen(TestClock.adjust(10), recorded), { times: 30 })
      const all = [...first, ...others].map(({ id }) => id)
      assert.deepStrictEqual(order.toSorted(), all.toSorted())
      const lastOfOthers = order.lastIndexOf(others.at(-1)!.id)
      assert.isAtMost(lastOfOthers, 30)
      const states = yield* Effect.forEach(all, itemOf)
      assert.isTrue(states.every(({ item }) => item.state === "DELIVERED" && item.attempts === 1))
    }).pipe(Effect.provide(services)),
  )

  it.effect("lets attempts in progress end before it stops, and leaves the rest to others", () =>
    Effect.gen(function* () {
      const release = yield* Deferred.make<void>()
      const receive: Receive = ({ url }) =>
        url.includes("never") ? Effect.never : Effect.andThen(Deferred.await(release), good)
      const store = yield* WebhookStore
      const [quick, endless, unsent] = [
        delivery(),
        delivery({ origin: "https://never.example" }),
        delivery(),
      ]
      for (const each of [quick, endless]) yield* store.insert(each)
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(dispatcher(receiver(receive), { graceMillis: 5_000 }), scope)
      yield* TestClock.adjust("1 second")
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(0)
      yield* store.insert(unsent)
      yield* Deferred.succeed(release, undefined)
      yield* TestClock.adjust("4 seconds")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("2 seconds")
      assert.isDefined(closing.pollUnsafe())
      const states = yield* Effect.forEach([quick, endless, unsent], ({ id }) => itemOf(id))
      assert.deepStrictEqual(
        states.map(({ item }) => [item.state, item.attempts]),
        [
          ["DELIVERED", 1],
          ["PENDING", 1],
          ["PENDING", 0],
        ],
      )
      // Whoever polls next finds the attempt whose end nobody saw, and makes another one.
      const { calls, receive: again } = recorder(good)
      yield* start(receiver(again))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(calls.length, 2)
      const { attempts } = yield* itemOf(endless.id)
      assert.deepStrictEqual(
        attempts.map(({ error, number }) => [number, error]),
        [
          [1, "unknown"],
          [2, null],
        ],
      )
    }).pipe(Effect.provide(services)),
  )

  it.effect("shares the work of one store with other dispatchers", () =>
    Effect.gen(function* () {
      const counts = [0, 0, 0]
      const store = yield* WebhookStore
      const all = Array.from({ length: 300 }, () => delivery())
      for (const each of all) yield* store.insert(each)
      for (const index of counts.keys()) {
        const receive: Receive = () =>
          Effect.delay(
            Effect.suspend(() => {
              counts[index]! += 1
              return good
            }),
            "1 second",
          )
        yield* start(receiver(receive))
      }
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(
        counts.reduce((sum, each) => sum + each),
        300,
      )
      assert.isTrue(counts.every((each) => each > 30))
    }).pipe(Effect.provide(services)),
  )

  it.effect("signs with every live secret, and with no other one", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(good)
      const [store, webhooks] = [yield* WebhookStore, yield* Webhooks]
      yield* start(receiver(receive))
      const send = Effect.gen(function* () {
        yield* store.insert(delivery())
        yield* TestClock.adjust("2 seconds")
        return calls.at(-1)!.headers!["webhook-signature"]!.split(" ").length
      })
      assert.strictEqual(yield* send, 1)
      yield* webhooks.rotate(account, seconds(3_600))
      yield* webhooks.rotate(account, seconds(7_200))
      assert.strictEqual(yield* send, 3)
      yield* TestClock.adjust("90 minutes")
      assert.strictEqual(yield* send, 2)
      yield* webhooks.rotate(account, 0)
      assert.strictEqual(yield* send, 1)
    }).pipe(Effect.provide(services)),
  )

  it.effect("claims on once the store is back, and hands nothing out twice", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(good)
      const away = new StorageError({ operation: "claim", cause: "away" })
      const awayUntil = Effect.fnUntraced(function* <A, E>(call: Effect.Effect<A, E>) {
        const now = yield* Clock.currentTimeMillis
        if (now < 1_500) return yield* Effect.fail(away)
        return now < 2_500 ? yield* Effect.die("a fault of ours") : yield* call
      })
      const broken = storeWith((store) => ({
        claim: (...args) => awayUntil(Effect.orDie(store.claim(...args))),
        claimDue: (...args) => awayUntil(Effect.orDie(store.claimDue(...args))),
      }))
      const [store, queue] = [yield* WebhookStore, yield* LocalQueue]
      yield* Layer.build(Layer.provide(dispatcher(receiver(receive)), broken))
      for (const at of [0, 1_800]) {
        const one = delivery()
        yield* store.insert(one)
        yield* TestClock.setTime(at)
        queue.put([one])
        yield* recorded
      }
      for (const at of [2_000, 3_000, 4_000]) {
        yield* TestClock.setTime(at)
        yield* recorded
      }
      assert.deepStrictEqual(
        calls.map(({ at }) => at),
        [3_000, 3_000],
      )
    }).pipe(Effect.provide(services)),
  )

  it.effect("leaves to the next dispatcher what is stored after it was told to stop", () =>
    Effect.gen(function* () {
      const { calls, receive } = recorder(good)
      const [store, queue] = [yield* WebhookStore, yield* LocalQueue]
      // Only what is handed over is found.
      const blind = Layer.succeed(
        WebhookStore,
        WebhookStore.of({ ...store, claimDue: () => Effect.succeed([]) }),
      )
      const startBlind = Layer.build(Layer.provide(dispatcher(receiver(receive)), blind))
      yield* Effect.scoped(Effect.andThen(startBlind, recorded))
      const one = delivery()
      yield* store.insert(one)
      queue.put([one])
      yield* recorded
      assert.strictEqual(calls.length, 0)
      yield* Effect.andThen(startBlind, recorded)
      assert.strictEqual(calls.length, 1)
    }).pipe(Effect.provide(services)),
  )

  it.effect(
    "removes old deliveries in portions of 1,000, every ten minutes, also after a failure",
    () =>
      Effect.gen(function* () {
        const counts = [1_000, 1_000, 999, 5]
        const asked: Array<readonly [number, number, number]> = []
        const counted = storeWith(() => ({
          forget: (endedMillis, limit) =>
            Effect.flatMap(Clock.currentTimeMillis, (at) => {
              asked.push([at, endedMillis, limit])
              return asked.length === 4
                ? Effect.fail(new StorageError({ operation: "forget", cause: "away" }))
                : Effect.succeed(counts.shift() ?? 0)
            }),
        }))
        const { receive } = recorder(good)
        yield* Layer.build(Layer.provide(dispatcher(receiver(receive), rarely), counted))
        yield* TestClock.adjust("25 minutes")
        const minute = 60_000
        assert.deepStrictEqual(
          asked,
          [0, 0, 0, 10, 20].map((at) => [at * minute, 72 * 60 * minute, 1_000] as const),
        )
      }).pipe(Effect.provide(services)),
  )

  it.effect("forgets what ended three days ago", () =>
    Effect.gen(function* () {
      const { receive } = recorder(good)
      const store = yield* WebhookStore
      const one = delivery()
      yield* store.insert(one)
      yield* start(receiver(receive), rarely)
      yield* TestClock.adjust("71 hours")
      assert.isTrue(Option.isSome(yield* store.find(null, one.id)))
      yield* TestClock.adjust("90 minutes")
      assert.isTrue(Option.isNone(yield* store.find(null, one.id)))
    }).pipe(Effect.provide(services)),
  )
})
