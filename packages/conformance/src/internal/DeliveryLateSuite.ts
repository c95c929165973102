/**
 * What every webhook store must do when it is told late that a delivery was made: by somebody whose
 * claim has run out, because he was paused or the store was away.
 */
import { assert, type Vitest } from "@effect/vitest"
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import {
  arrived,
  claimOne,
  delivered,
  failed,
  hour,
  insertAll,
  loseOne,
  recordOf,
  retry,
  recordAttempt,
  recordNext,
  unknown,
} from "./DeliveryScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<WebhookStore | RunStore>

/** What is left of a delivery, in short. */
const standingOf = Effect.fnUntraced(function* (delivery: Delivery) {
  const { attempts, item } = yield* recordOf(delivery)
  const log = attempts.map(({ error, number }) => `${number} ${error ?? "delivered"}`)
  return [item.state, item.attempts, item.nextAttemptAt === null, log.join(", ")]
})

const believes = (it: Tests): void => {
  it.effect("believes late that a delivery was made, also once it was given up", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const [unsettled, waiting, given] = [
        samples.delivery(),
        samples.delivery(),
        samples.delivery(),
      ]
      const all = [unsettled, waiting, given]
      yield* insertAll(all)
      const claims = yield* Effect.forEach(all, ({ id }) => claimOne(id, 0))
      yield* loseOne(waiting.id, retry(hour))
      yield* loseOne(given.id, failed)
      assert.strictEqual((yield* recordOf(given)).item.state, "FAILED")
      for (const claim of claims) assert.isTrue(yield* recordNext(claim, delivered))
      for (const each of all) {
        assert.deepStrictEqual(yield* standingOf(each), ["DELIVERED", 1, true, "1 delivered"])
      }
      const [{ nextAt, ...logged } = { nextAt: 0 }] = (yield* recordOf(given)).attempts
      assert.deepStrictEqual([logged, nextAt], [{ number: 1, ...arrived }, null])
      assert.deepStrictEqual(
        yield* store.claim(
          all.map(({ id }) => id),
          hour,
        ),
        [],
      )
      // Said twice it changes nothing, and is no reason to send it again.
      for (const claim of claims) assert.isFalse(yield* recordNext(claim, delivered))
      assert.deepStrictEqual(
        (yield* store.list({ account: samples.account, state: "FAILED", limit: 9 })).items,
        [],
      )
    }),
  )

  it.effect("takes it from whoever sends it again, whose attempt stays in the log", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      const first = yield* claimOne(delivery.id, 0)
      yield* loseOne(delivery.id, retry(0))
      const second = yield* claimOne(delivery.id)
      assert.isTrue(yield* recordNext(first, delivered))
      const over = ["DELIVERED", 2, true, "1 delivered, 2 unknown"]
      assert.deepStrictEqual(yield* standingOf(delivery), over)
      assert.isFalse(yield* recordNext(second, retry(hour)))
      assert.deepStrictEqual(yield* standingOf(delivery), over)
      assert.isTrue(yield* recordNext(second, delivered))
      const twice = ["DELIVERED", 2, true, "1 delivered, 2 delivered"]
      assert.deepStrictEqual(yield* standingOf(delivery), twice)
    }),
  )
}

const limits = (it: Tests): void => {
  it.effect("goes on with numbers and fences where somebody asks for it again", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const delivery = samples.delivery()
      const { accountId, id } = delivery
      yield* insertAll([delivery])
      const first = yield* claimOne(id, 0)
      yield* loseOne(id, failed)
      yield* store.redeliver(accountId, id)
      assert.isTrue(yield* recordNext(first, delivered))
      // It was asked for after that attempt, so it is sent all the same.
      assert.strictEqual((yield* recordOf(delivery)).item.state, "PENDING")
      const again = yield* claimOne(id)
      assert.deepStrictEqual([again.attempt, again.earlier, again.fence], [2, 1, 3])
      const attempt = { ...unknown, status: 500, error: "status" as const }
      const { fence, attempt: number } = again
      assert.isTrue(yield* recordAttempt({ id, fence, number, attempt, next: failed }))
      const ended = ["FAILED", 2, true, "1 delivered, 2 status"]
      assert.deepStrictEqual(yield* standingOf(delivery), ended)
    }),
  )

  it.effect("believes nothing else late: no failure, and no attempt that is recorded", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      const first = yield* claimOne(delivery.id, 0)
      yield* loseOne(delivery.id, retry(0))
      assert.isFalse(yield* recordNext(first, failed))
      assert.isFalse(yield* recordNext(first, retry(0)))
      assert.isFalse(yield* recordNext({ ...first, attempt: 2 }, delivered))
      const second = yield* claimOne(delivery.id)
      const { fence, id } = second
      const attempt = { ...unknown, status: 500, error: "status" as const }
      assert.isTrue(yield* recordAttempt({ id, fence, number: 2, attempt, next: failed }))
      assert.isFalse(yield* recordNext(second, delivered))
      const expected = ["FAILED", 2, true, "1 unknown, 2 status"]
      assert.deepStrictEqual(yield* standingOf(delivery), expected)
    }),
  )
}

/** Registers the tests. */
export const deliveryLateSuite = (it: Tests): void => {
  believes(it)
  limits(it)
}
