/**
 * What a dispatcher claims before it has a slot for it: on the test clock, with a receiver that is
 * quick until it hangs; and what keeps it.
 */
import { assert, describe, expect, it } from "@effect/vitest"
import type { DeliveryItem } from "@millrace/core/domain/Delivery"
import { AccountId } from "@millrace/core/domain/Id"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Deferred, Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Prefetched } from "../src/internal/Prefetch.ts"
import { Prefetch } from "../src/internal/Prefetch.ts"
import { DeliveryQueue, LocalQueue } from "../src/LocalQueue.ts"
import type { Receive } from "./Harness.ts"
import { answer, claimFor, delivery, dispatcher, receiver, services } from "./Harness.ts"

/** Counts how often the dispatcher looks around. */
class Counting extends DeliveryQueue {
  rounds = 0
  override takeOverflow(): boolean {
    this.rounds += 1
    return super.takeOverflow()
  }
}

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

  it.effect("looks no more often than it should while all slots are taken", () =>
    Effect.gen(function* () {
      const queue = new Counting()
      const local = Layer.succeed(LocalQueue, queue)
      const letGo = yield* Deferred.make<void>()
      const hangs = receiver(() => Effect.as(Deferred.await(letGo), answer(200)))
      const full = { perOrigin: 2, atOnce: 2 }
      yield* Layer.build(Layer.provide(dispatcher(hangs, full), local))
      yield* Effect.addFinalizer(() => Deferred.succeed(letGo, undefined))
      const store = yield* WebhookStore
      for (let n = 0; n < 4; n++) yield* store.insert(delivery())
      yield* TestClock.adjust("2 seconds")
      yield* recorded
      assert.strictEqual(claimed(yield* items), 2)
      const before = queue.rounds
      for (let second = 0; second < 10; second++) {
        yield* Effect.andThen(TestClock.adjust("1 second"), recorded)
      }
      assert.isAtMost(queue.rounds - before, 11)
    }).pipe(Effect.provide(services)),
  )
})

const account = AccountId.make("acc_1")
const other = AccountId.make("acc_2")

/** Claimed for an account, to be sent to one origin. */
const waiting = (accountId: AccountId, origin: string): Prefetched => ({
  claimed: claimFor(accountId, origin),
  claimedAtNanos: 0n,
})

const bounds = { prefetchPerOrigin: 3, atOnce: 4, quickMillis: 50 }

describe("Prefetch.room", () => {
  it("is there for origins whose last attempt was quick, within both bounds", () => {
    const prefetch = new Prefetch(bounds)
    const rooms = () => ["a", "b", "c"].map((origin) => prefetch.room(origin))
    prefetch.learn("a", 50)
    prefetch.learn("b", 1)
    prefetch.learn("c", 51)
    expect(rooms()).toEqual([3, 3, 0])
    for (const origin of ["a", "a", "b"]) prefetch.reserve(origin)
    expect(rooms()).toEqual([1, 1, 0])
    prefetch.learn("a", 51)
    prefetch.release("b")
    expect(rooms()).toEqual([0, 2, 0])
  })

  it("is there for the thousand origins that were quick last", () => {
    const prefetch = new Prefetch(bounds)
    prefetch.learn("first", 1)
    prefetch.learn("second", 1)
    for (let n = 0; n < 998; n++) prefetch.learn(`origin ${n}`, 1)
    prefetch.learn("first", 1)
    prefetch.learn("last", 1)
    expect(["first", "second", "last"].map((each) => prefetch.room(each))).toEqual([3, 0, 3])
  })
})

describe("Prefetch.take", () => {
  it("gives partitions their turn, each its oldest first, and frees their places", () => {
    const prefetch = new Prefetch({ ...bounds, prefetchPerOrigin: 9, atOnce: 9 })
    prefetch.learn("a", 1)
    const all = [account, account, account, other, other].map((id) => waiting(id, "a"))
    for (const one of all) {
      prefetch.reserve("a")
      prefetch.put(one)
    }
    expect(prefetch.room("a")).toBe(4)
    const [first, second, third, fourth, fifth] = all
    expect([...prefetch.take(() => true)]).toEqual([first, fourth, second, fifth, third])
    expect(prefetch.room("a")).toBe(9)
  })

  it("leaves what is not next, and takes in what comes while it goes on", () => {
    const prefetch = new Prefetch(bounds)
    const [mine, theirs, late] = [account, other, other].map((id) => waiting(id, "a"))
    for (const one of [mine!, theirs!]) prefetch.put(one)
    const isTheirs = ({
      claimed: {
        delivery: { accountId },
      },
    }: Prefetched) => accountId === other
    const taken: Array<Prefetched> = []
    for (const one of prefetch.take(isTheirs)) {
      if (taken.push(one) === 1) prefetch.put(late!)
    }
    expect(taken).toEqual([theirs, late])
    expect([...prefetch.take(() => true)]).toEqual([mine])
  })
})
