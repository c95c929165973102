/**
 * What a dispatcher claims before it has a slot for it: on the test clock, with a receiver that is
 * quick until it hangs.
 */
import { assert, describe, it } from "@effect/vitest"
import type { DeliveryItem } from "@millrace/core/domain/Delivery"
import type { DueRequest } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { LocalQueue } from "../src/LocalQueue.ts"
import type { Receive } from "./Harness.ts"
import { answer, delivery, dispatcher, receiver, services, storeWith } from "./Harness.ts"

/** The store that is there, and how often it was polled. */
const counting = (polls: Array<DueRequest>) =>
  storeWith((store) => ({
    claimDue: (request) => {
      polls.push(request)
      return store.claimDue(request)
    },
  }))

const recorded = Effect.repeat(Effect.yieldNow, { times: 300 })

const options = { perOrigin: 4, prefetchPerOrigin: 8, quickMillis: 50, graceMillis: 5_000 }

/** Answers after so long, and from its ninth call on not before it is let go. */
const makeReceiver = (tookMillis: number) =>
  Effect.map(Deferred.make<void>(), (letGo) => {
    const seen = { calls: 0, open: 0, most: 0 }
    const receive: Receive = () =>
      Effect.suspend(() => {
        seen.calls += 1
        seen.most = Math.max(seen.most, (seen.open += 1))
        const waits = seen.calls > 8 ? Deferred.await(letGo) : Effect.sleep(tookMillis)
        return Effect.ensuring(
          Effect.as(waits, answer(200)),
          Effect.sync(() => (seen.open -= 1)),
        )
      })
    return { letGo: Deferred.succeed(letGo, undefined), receive, seen }
  })

/** Stores so many and hands them to the dispatcher of this process. */
const send = Effect.fnUntraced(function* (count: number) {
  const store = yield* WebhookStore
  const all = Array.from({ length: count }, () => delivery())
  for (const each of all) yield* store.insert(each)
  ;(yield* LocalQueue).put(all)
  yield* recorded
})

const items = WebhookStore.use((store) => store.list({ account: null, limit: 100 })).pipe(
  Effect.map(({ items: all }) => all),
)

const claimed = (all: ReadonlyArray<DeliveryItem>) =>
  all.filter(({ attempts, state }) => state === "PENDING" && attempts === 1).length

/** Starts a dispatcher, and lets the receiver go before it has to end. */
const start = ({ letGo, receive }: Effect.Success<ReturnType<typeof makeReceiver>>) =>
  Effect.andThen(
    Layer.build(dispatcher(receiver(receive), options)),
    Effect.addFinalizer(() => letGo),
  )

/** Brings the receiver to where it hangs, with many more that wait. */
const untilItHangs = Effect.gen(function* () {
  yield* send(8)
  for (let round = 0; round < 10; round++) yield* TestClock.adjust(100)
  yield* send(40)
  yield* TestClock.adjust(100)
  yield* recorded
})

describe("Dispatcher.layer, ahead of its slots", () => {
  it.effect("claims for a receiver that answers quickly, and sends it no more than its share", () =>
    Effect.gen(function* () {
      const made = yield* makeReceiver(10)
      const { letGo, seen } = made
      yield* start(made)
      yield* untilItHangs
      assert.deepStrictEqual([seen.open, claimed(yield* items)], [4, 4 + 8])
      yield* letGo
      for (let round = 0; round < 20; round++) yield* Effect.andThen(TestClock.adjust(10), recorded)
      const all = yield* items
      assert.isTrue(all.every(({ attempts, state }) => state === "DELIVERED" && attempts === 1))
      assert.deepStrictEqual([seen.calls, seen.most], [48, 4])
    }).pipe(Effect.provide(services)),
  )

  it.effect("claims nothing for one that takes its time", () =>
    Effect.gen(function* () {
      yield* start(yield* makeReceiver(60))
      yield* untilItHangs
      assert.strictEqual(claimed(yield* items), 4)
    }).pipe(Effect.provide(services)),
  )

  it.effect("gives back what it has not sent when it stops, with its attempt", () =>
    Effect.gen(function* () {
      const { letGo, receive, seen } = yield* makeReceiver(10)
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(dispatcher(receiver(receive), options), scope)
      yield* untilItHangs
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* recorded
      assert.deepStrictEqual([seen.open, claimed(yield* items)], [4, 4])
      yield* letGo
      yield* TestClock.adjust(10)
      yield* recorded
      assert.isDefined(closing.pollUnsafe())
      const all = yield* items
      assert.strictEqual(all.filter(({ attempts }) => attempts === 1).length, 12)
      assert.isTrue(all.every(({ attempts, state }) => attempts === (state === "PENDING" ? 0 : 1)))
    }).pipe(Effect.provide(services)),
  )

  it.effect("gives back what has waited for five seconds, though no slot comes free", () =>
    Effect.gen(function* () {
      const made = yield* makeReceiver(10)
      const { letGo, seen } = made
      yield* start(made)
      yield* untilItHangs
      yield* TestClock.adjust("4 seconds")
      yield* recorded
      assert.strictEqual(claimed(yield* items), 12)
      for (let second = 0; second < 3; second++) {
        yield* TestClock.adjust("1 second")
        yield* recorded
      }
      assert.deepStrictEqual([seen.open, claimed(yield* items)], [4, 4])
      yield* letGo
      for (let round = 0; round < 20; round++) {
        yield* Effect.andThen(TestClock.adjust("1 second"), recorded)
      }
      assert.strictEqual(seen.calls, 48)
      assert.isTrue((yield* items).every(({ attempts }) => attempts === 1))
    }).pipe(Effect.provide(services)),
  )

  it.effect("polls no more often than it should while all slots are taken", () =>
    Effect.gen(function* () {
      const polls: Array<DueRequest> = []
      const letGo = yield* Deferred.make<void>()
      const hangs = receiver(() => Effect.as(Deferred.await(letGo), answer(200)))
      const full = { perOrigin: 2, atOnce: 2 }
      yield* Layer.build(Layer.provide(dispatcher(hangs, full), counting(polls)))
      yield* Effect.addFinalizer(() => Deferred.succeed(letGo, undefined))
      const store = yield* WebhookStore
      for (let n = 0; n < 4; n++) yield* store.insert(delivery())
      yield* TestClock.adjust("2 seconds")
      yield* recorded
      assert.strictEqual(claimed(yield* items), 2)
      const before = polls.length
      for (let second = 0; second < 10; second++) {
        yield* Effect.andThen(TestClock.adjust("1 second"), recorded)
      }
      assert.isAtMost(polls.length - before, 11)
    }).pipe(Effect.provide(services)),
  )
})
