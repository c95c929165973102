/**
 * Attempts that nobody records: their dispatcher died, was paused for too long, or could not reach
 * the store. On the test clock.
 */
import { assert, describe, it } from "@effect/vitest"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Clock, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { defaultOptions } from "../src/DispatcherOptions.ts"
import type { Receive } from "./Harness.ts"
import { answer, delivery, dispatcher, receiver, services, storeWith } from "./Harness.ts"

const recorded = Effect.repeat(Effect.yieldNow, { times: 100 })

const pass = Effect.fnUntraced(function* (seconds: number) {
  for (let passed = 0; passed < seconds; passed++) {
    yield* Effect.andThen(TestClock.adjust("1 second"), recorded)
  }
})

const second = 1_000
const schedule = {
  delaysMillis: [5 * second, 60 * second, 20 * second, 20 * second, 20 * second],
  jitter: 0,
  lifeMillis: 3_600 * second,
}

/** A receiver in front of which dispatchers die, and when each attempt began. */
const deadly = (calls: Array<number>): Receive => {
  const died = Effect.die("its process was killed")
  return () => Effect.flatMap(Clock.currentTimeMillis, (now) => (calls.push(now), died))
}

const itemOf = Effect.fnUntraced(function* (id: ReturnType<typeof delivery>["id"]) {
  const store = yield* WebhookStore
  const { attempts, item } = Option.getOrThrow(yield* store.find(null, id))
  return { item, log: attempts.map(({ error, number }) => `${number} ${error}`), attempts }
})

describe("an attempt whose end nobody knows", () => {
  it.effect("is followed by the next one after the schedule's pause, six in all", () =>
    Effect.gen(function* () {
      const calls: Array<number> = []
      const one = delivery()
      yield* WebhookStore.use((store) => store.insert(one))
      yield* Layer.build(dispatcher(receiver(deadly(calls)), { schedule }))
      yield* pass(600)
      const { item, log } = yield* itemOf(one.id)
      assert.deepStrictEqual(
        log,
        [1, 2, 3, 4, 5, 6].map((number) => `${number} unknown`),
      )
      assert.deepStrictEqual([item.state, item.attempts, calls.length], ["FAILED", 6, 6])
      // It is noticed once its claim has run out, by a poll.
      const pollMillis = 1_000
      const { visibilityMillis } = defaultOptions
      for (const [index, delay] of schedule.delaysMillis.entries()) {
        const pause = calls[index + 1]! - calls[index]! - visibilityMillis - delay
        assert.isAtLeast(pause, 0)
        assert.isAtMost(pause, 2 * pollMillis)
      }
    }).pipe(Effect.provide(services)),
  )

  it.effect("is logged once, however many die that were to record it", () =>
    Effect.gen(function* () {
      const calls: Array<number> = []
      const away = new StorageError({ operation: "record", cause: "away" })
      const unsettling = storeWith(() => ({ record: () => Effect.fail(away) }))
      const one = delivery()
      yield* WebhookStore.use((store) => store.insert(one))
      const broken = dispatcher(receiver(deadly(calls)), { schedule })
      yield* Layer.build(Layer.provide(broken, unsettling)).pipe(
        Effect.andThen(pass(300)),
        Effect.scoped,
      )
      assert.deepStrictEqual([calls.length, (yield* itemOf(one.id)).log], [1, []])
      yield* Layer.build(
        dispatcher(
          receiver(() => Effect.succeed(answer(204))),
          { schedule },
        ),
      )
      yield* pass(60)
      const { item, log } = yield* itemOf(one.id)
      assert.deepStrictEqual(log, ["1 unknown", "2 null"])
      assert.deepStrictEqual([item.state, item.attempts], ["DELIVERED", 2])
    }).pipe(Effect.provide(services)),
  )

  it.effect("delivered after all where its 2xx is told later, also once it was given up", () =>
    Effect.gen(function* () {
      const one = delivery()
      yield* WebhookStore.use((store) => store.insert(one))
      const slow: Receive = () => Effect.delay(Effect.succeed(answer(204)), "90 seconds")
      // Paused for longer than its claim holds, as far as others can see.
      const last = { schedule: { ...schedule, delaysMillis: [] } }
      yield* Layer.build(dispatcher(receiver(slow), { ...last, timeoutMillis: 120 * second }))
      yield* pass(10)
      yield* Layer.build(
        dispatcher(
          receiver(() => Effect.die("must not be called")),
          last,
        ),
      )
      yield* pass(50)
      const given = yield* itemOf(one.id)
      assert.deepStrictEqual([given.item.state, given.log], ["FAILED", ["1 unknown"]])
      yield* pass(60)
      const { attempts, item } = yield* itemOf(one.id)
      assert.deepStrictEqual([item.state, item.attempts], ["DELIVERED", 1])
      assert.deepInclude(attempts[0], { number: 1, status: 204, error: null, nextAt: null })
      assert.strictEqual(attempts.length, 1)
    }).pipe(Effect.provide(services)),
  )
})
