/**
 * Deliveries that only polls find: on the test clock, with a store whose polls take their time,
 * while attempts begin and end.
 */
import { assert, describe, it } from "@effect/vitest"
import type { DueRequest } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { LocalQueue } from "../src/LocalQueue.ts"
import type { Receive } from "./Harness.ts"
import { answer, delivery, dispatcher, receiver, services, storeWith } from "./Harness.ts"

const recorded = Effect.repeat(Effect.yieldNow, { times: 100 })

/** The store that is there, but what a poll has taken is heard of only after a while. */
const slowPolls = (requests: Array<DueRequest>) =>
  storeWith((store) => ({
    claimDue: (request) => {
      requests.push(request)
      return Effect.tap(store.claimDue(request), () => Effect.sleep(20))
    },
  }))

/** Takes 5, 15, 25 and 35 ms in turn, so that slots come free one after the other. */
const makeReceiver = () => {
  let calls = 0
  const receive: Receive = () => Effect.as(Effect.sleep(5 + 10 * (calls++ % 4)), answer(200))
  return receiver(receive)
}

const count = (counts: Array<number>) => (claims: ReadonlyArray<unknown>) =>
  Effect.sync(() => counts.push(claims.length))

const pass = Effect.fnUntraced(function* (millis: number) {
  for (let passed = 0; passed < millis; passed += 5) {
    yield* Effect.andThen(TestClock.adjust(5), recorded)
  }
})

describe("Dispatcher.layer, over a backlog", () => {
  it.effect("goes on polling while it finds as many as it has room for, and no longer", () =>
    Effect.gen(function* () {
      const requests: Array<DueRequest> = []
      const store = yield* WebhookStore
      for (let n = 0; n < 60; n++) yield* store.insert(delivery())
      const sends = dispatcher(makeReceiver(), { perOrigin: 4, pollMillis: 60_000 })
      yield* Layer.build(Layer.provide(sends, slowPolls(requests)))
      yield* pass(1_000)
      const { items } = yield* store.list({ account: null, limit: 100 })
      assert.isTrue(items.every(({ state }) => state === "DELIVERED"))
      // Slots that come free one by one are polled for together, and the last polls find nothing.
      assert.isAtMost(requests.length, 40)
      const before = requests.length
      yield* pass(1_000)
      assert.strictEqual(requests.length, before)
    }).pipe(Effect.provide(services)),
  )

  it.effect("finds nothing of what this process has stored before its dispatcher started", () =>
    Effect.gen(function* () {
      const [found, claimed]: [Array<number>, Array<number>] = [[], []]
      const counted = storeWith((store) => ({
        claim: (...args) => Effect.tap(store.claim(...args), count(claimed)),
        claimDue: (...args) => Effect.tap(store.claimDue(...args), count(found)),
      }))
      const store = yield* WebhookStore
      const all = Array.from({ length: 20 }, () => delivery())
      for (const each of all) yield* store.insert(each)
      ;(yield* LocalQueue).put(all)
      yield* Layer.build(Layer.provide(dispatcher(makeReceiver()), counted))
      yield* pass(200)
      const { items } = yield* store.list({ account: null, limit: 100 })
      assert.isTrue(items.every(({ state }) => state === "DELIVERED"))
      const sum = (counts: ReadonlyArray<number>) => counts.reduce((total, each) => total + each, 0)
      assert.deepStrictEqual([sum(claimed), sum(found)], [20, 0])
    }).pipe(Effect.provide(services)),
  )
})
