/**
 * How every store must keep the tests of inbound webhooks: one address at a time, of that webhook
 * alone, and the last requests.
 */
import { assert, describe } from "@effect/vitest"
import { keptRequests } from "@millrace/core/domain/Limits"
import type { ReceivedRequest } from "@millrace/core/domain/WebhookTest"
import { Effect, Option } from "effect"
import type { Tests } from "./TriggerScenes.ts"
import { hour, scene } from "./TriggerScenes.ts"

const tests = (it: Tests): void => {
  const request = (n: number): ReceivedRequest => ({
    at: n,
    method: "POST",
    query: "a=b",
    headers: { "x-id": "1" },
    body: n % 2 === 0 ? "a\u0000b" : null,
    values: n % 2 === 0 ? { text: "a\u0000b" } : null,
    refused: n % 2 === 0 ? null : "body: expected an object",
  })

  it.effect("finds a webhook by its test address, also one that is switched off", () =>
    Effect.gen(function* () {
      const { samples, store, trigger, webhook, now } = yield* scene
      const [one, two] = [webhook(), webhook({ enabled: false })]
      const schedule = trigger()
      for (const each of [one, two, schedule]) yield* store.insert(each)
      const [hash, other] = [`test of ${one.id}`, `test of ${two.id}`]
      assert.deepStrictEqual(yield* store.findByTestAddress(hash), Option.none())
      const expiresAt = Option.getOrThrow(yield* store.beginTest(one, hash, hour))
      assert.isAtLeast(expiresAt, now + hour)
      yield* store.beginTest(two, other, hour)
      assert.deepStrictEqual(yield* store.findByTestAddress(hash), Option.some(one))
      assert.deepStrictEqual(yield* store.findByTestAddress(other), Option.some(two))
      assert.deepStrictEqual(yield* store.findByAddress(hash), Option.none())
      assert.deepStrictEqual(yield* store.findByTestAddress(one.addressHash), Option.none())
      for (const key of [schedule, { ...one, accountId: samples.stranger }]) {
        assert.deepStrictEqual(yield* store.beginTest(key, "x", hour), Option.none())
        assert.deepStrictEqual(yield* store.findTest(key), Option.none())
        assert.isFalse(yield* store.endTest(key))
      }
      assert.deepStrictEqual(yield* store.findByTestAddress(hash), Option.some(one))
      const again = Option.getOrThrow(yield* store.beginTest(one, `${hash} 2`, 0))
      assert.deepStrictEqual(yield* store.findByTestAddress(hash), Option.none())
      assert.deepStrictEqual(yield* store.findByTestAddress(`${hash} 2`), Option.none())
      const expired = { expiresAt: again, requests: [] }
      assert.deepStrictEqual(yield* store.findTest(one), Option.some(expired))
    }),
  )

  it.effect("keeps the last requests of a test, until there is another one or none", () =>
    Effect.gen(function* () {
      const { store, webhook } = yield* scene
      const [one, two] = [webhook(), webhook()]
      for (const each of [one, two]) yield* store.insert(each)
      yield* store.noteRequest(one.id, request(1))
      const none = Option.some({ expiresAt: null, requests: [] })
      assert.deepStrictEqual(yield* store.findTest(one), none)
      for (const each of [one, two]) yield* store.beginTest(each, `test of ${each.id}`, hour)
      const all = Array.from({ length: keptRequests + 3 }, (_, n) => request(n))
      for (const each of all) yield* store.noteRequest(one.id, each)
      yield* store.noteRequest(two.id, request(99))
      const kept = Effect.map(store.findTest(one), (test) => Option.getOrThrow(test).requests)
      assert.deepStrictEqual(yield* kept, all.toReversed().slice(0, keptRequests))
      yield* store.beginTest(one, `other test of ${one.id}`, hour)
      assert.deepStrictEqual(yield* kept, [])
      yield* store.noteRequest(one.id, request(2))
      assert.isTrue(yield* store.endTest(one))
      assert.deepStrictEqual(yield* store.findTest(one), none)
      assert.isTrue(yield* store.endTest(one))
      const other = Option.getOrThrow(yield* store.findTest(two))
      assert.deepStrictEqual(other.requests, [request(99)])
      yield* store.remove(two)
      assert.deepStrictEqual(yield* store.findTest(two), Option.none())
      yield* store.noteRequest(two.id, request(3))
      assert.deepStrictEqual(yield* store.findByTestAddress(`test of ${two.id}`), Option.none())
    }),
  )
}

/** Registers the tests. */
export const webhookTestSuite = (it: Tests): void => {
  describe("TriggerStore.beginTest", () => {
    tests(it)
  })
}
