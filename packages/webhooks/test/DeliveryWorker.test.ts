/**
 * What becomes of an attempt when the store or the way out fails: on the test clock, with a store
 * that is away for a while.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Delivery } from "@millrace/core/domain/Delivery"
import { Vault, VaultClosed } from "@millrace/core/ports/Vault"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as MasterVault from "../src/MasterVault.ts"
import type { Receive } from "./Harness.ts"
import {
  account,
  answer,
  delivery,
  dispatcher,
  masterKey,
  receiver,
  services,
  storeWith,
} from "./Harness.ts"

/** The store that is there, but it cannot record anything before a time; and when it was asked. */
const awayUntil = (back: number, asked: Array<number>) =>
  storeWith((store) => ({
    record: (record) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        asked.push(now)
        return now < back
          ? Effect.fail(new StorageError({ operation: "record", cause: "away" }))
          : store.record(record)
      }),
  }))

const recorded = Effect.repeat(Effect.yieldNow, { times: 100 })

const pass = Effect.fnUntraced(function* (seconds: number) {
  for (let passed = 0; passed < seconds; passed++) {
    yield* Effect.andThen(TestClock.adjust("1 second"), recorded)
  }
})

/** Sends one delivery for so long, while the store is away; gives back what became of it. */
const send = Effect.fnUntraced(function* (back: number, seconds: number, status = 200) {
  const asked: Array<number> = []
  const seen = { calls: 0 }
  const receive: Receive = () =>
    Effect.sync(() => {
      seen.calls += 1
      return answer(status)
    })
  const store = yield* WebhookStore
  yield* store.insert(delivery())
  yield* Layer.build(Layer.provide(dispatcher(receiver(receive)), awayUntil(back, asked)))
  yield* pass(seconds)
  const { items } = yield* store.list({ account: null, limit: 1 })
  return { asked, calls: seen.calls, state: items[0]!.state }
})

/** A vault that can open nothing before a time, and what it was asked to open. */
const sealedUntil = (back: number, opened: Array<string>) =>
  Layer.effect(
    Vault,
    Effect.map(Vault, (vault) => ({
      ...vault,
      open: (purpose: string, sealed: string) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          opened.push(sealed)
          const closed = new VaultClosed({ message: "closed" })
          return now < back ? Effect.fail(closed) : vault.open(purpose, sealed)
        }),
    })),
  ).pipe(Layer.provide(MasterVault.layer(masterKey)))

describe("DeliveryWorker.send", () => {
  /** Sends one delivery after the other, with this vault. */
  const sendAll = Effect.fnUntraced(function* (
    all: ReadonlyArray<Delivery>,
    vault: Layer.Layer<Vault>,
  ) {
    const calls: Array<number> = []
    const receive: Receive = () =>
      Effect.map(Clock.currentTimeMillis, (now) => (calls.push(now), answer(204)))
    const store = yield* WebhookStore
    yield* Layer.build(dispatcher(receiver(receive), {}, vault))
    for (const each of all) {
      yield* store.insert(each)
      yield* pass(2)
    }
    return calls
  })

  it.effect("makes a secret for an account that has none, and opens it once", () =>
    Effect.gen(function* () {
      const opened: Array<string> = []
      const calls = yield* sendAll(
        [1, 2, 3].map(() => delivery()),
        sealedUntil(0, opened),
      )
      assert.strictEqual(calls.length, 3)
      const [secret] = yield* WebhookStore.use((store) => store.secrets(account))
      assert.deepStrictEqual(opened, [secret!.sealed])
    }).pipe(Effect.provide(services), Effect.provide(MasterVault.layer(masterKey))),
  )

  it.effect("sends nothing unsigned, and tries again after a minute, with its first attempt", () =>
    Effect.gen(function* () {
      const calls = yield* sendAll([delivery()], sealedUntil(30_000, []))
      yield* pass(56)
      assert.deepStrictEqual(calls, [])
      yield* pass(10)
      assert.strictEqual(calls.length, 1)
      const { items } = yield* WebhookStore.use((store) => store.list({ account: null, limit: 1 }))
      assert.deepStrictEqual([items[0]!.state, items[0]!.attempts], ["DELIVERED", 1])
    }).pipe(Effect.provide(services), Effect.provide(MasterVault.layer(masterKey))),
  )
})

describe("DeliveryWorker.record", () => {
  it.effect("stores what came of an attempt as soon as the store is back, and sends once", () =>
    Effect.gen(function* () {
      const { asked, calls, state } = yield* send(3_000, 10)
      assert.deepStrictEqual([calls, state], [1, "DELIVERED"])
      // At once, and then after pauses that double, each a fifth longer or shorter at most.
      const pauses = asked.slice(1).map((at, index) => at - asked[index]!)
      assert.isAtLeast(pauses.length, 5)
      for (const [index, pause] of pauses.entries()) {
        assert.isAtLeast(pause, 50 * 2 ** index * 0.8 - 1)
        assert.isAtMost(pause, 50 * 2 ** index * 1.2 + 1)
      }
    }).pipe(Effect.provide(services)),
  )

  it.effect("leaves a failure to whoever claims it next when the store stays away", () =>
    Effect.gen(function* () {
      const { asked, calls, state } = yield* send(30_000, 40, 500)
      assert.deepStrictEqual([calls, state], [1, "PENDING"])
      assert.isAtMost(asked.at(-1)!, 15_000)
    }).pipe(Effect.provide(services)),
  )

  it.effect("notes that a delivery was made however long the store was away, and sends once", () =>
    Effect.gen(function* () {
      // Its claim has run out long before that.
      const { calls, state } = yield* send(120_000, 140)
      assert.deepStrictEqual([calls, state], [1, "DELIVERED"])
    }).pipe(Effect.provide(services)),
  )

  it.effect("frees its slot when an attempt ends in a way that nobody expected", () =>
    Effect.gen(function* () {
      let calls = 0
      const receive: Receive = () =>
        ++calls <= 2 ? Effect.die("a fault of ours") : Effect.succeed(answer(200))
      const store = yield* WebhookStore
      for (let n = 0; n < 6; n++) yield* store.insert(delivery())
      yield* Layer.build(dispatcher(receiver(receive), { perOrigin: 2 }))
      yield* pass(5)
      const { items } = yield* store.list({ account: null, limit: 10 })
      assert.strictEqual(items.filter(({ state }) => state === "DELIVERED").length, 4)
      // What nobody knows the end of is tried again once its claim has run out.
      yield* pass(60)
      const later = yield* store.list({ account: null, limit: 10 })
      assert.isTrue(later.items.every(({ state }) => state === "DELIVERED"))
    }).pipe(Effect.provide(services)),
  )
})
