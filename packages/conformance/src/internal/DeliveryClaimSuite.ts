/**
 * What every webhook store must do with deliveries that are on their way: take them in with the
 * commit of a run, hand each to one dispatcher at a time, and believe only who holds it.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { DeliveryId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { Claim, DueRequest } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option, Result } from "effect"
import { deliveryLateSuite } from "./DeliveryLateSuite.ts"
import {
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

/** Everything that is due, for an hour. */
const all: DueRequest = {
  limit: 100_000,
  perOrigin: 100_000,
  perAccount: 100_000,
  busy: [],
  visibilityMillis: hour,
}

const idsOf = (claims: ReadonlyArray<Claim>): ReadonlyArray<string> =>
  claims.map(({ id }) => id).toSorted()

/** Takes out of the way what other tests have left. */
const clear = WebhookStore.use((store) => store.claimDue(all))

const named = (it: Tests): void => {
  it.effect("takes in those of a start under a name once, however often it is repeated", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = yield* RunStore
      const store = yield* WebhookStore
      const newRuns = Array.from({ length: 3 }, () => {
        const run = samples.run()
        const definition = Samples.definitionFor(run)
        const idempotencyKey = { key: "order 7", bodyHash: "hash" }
        const deliveries = [samples.delivery({ runId: run.id })]
        return Samples.newRun(run, {
          expected: { _tag: "New", definition, idempotencyKey },
          deliveries,
        })
      })
      const commits = newRuns.map((newRun) => Effect.result(runs.commit(newRun)))
      const results = yield* Effect.all(commits, { concurrency: "unbounded" })
      const winner = newRuns[results.findIndex(Result.isSuccess)]
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      const { items } = yield* store.list({ account: samples.account, limit: 10 })
      const ids = items.map(({ id }) => id)
      assert.deepStrictEqual(
        ids,
        winner?.deliveries.map(({ id }) => id),
      )
    }),
  )
}

const outbox = (it: Tests): void => {
  it.effect("takes deliveries in with the commit that brings them", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = yield* RunStore
      const store = yield* WebhookStore
      const webhook = {
        url: "https://receiver.example/",
        origin: "https://receiver.example",
        events: null,
        metadata: { hard: Samples.hardJson.nul },
        headers: "sealed",
      }
      const run = samples.run({ webhook })
      const body = JSON.stringify(Samples.hardJson)
      const delivery = samples.delivery({ runId: run.id, sequence: 1, type: "run.started", body })
      yield* runs.commit(Samples.newRun(run, { deliveries: [delivery] }))
      const first = { id: delivery.id, attempt: 1, earlier: 0, isGone: false, secrets: [] }
      const claim = yield* claimOne(delivery.id, 0)
      assert.deepStrictEqual(claim, { ...first, fence: 1, lostAt: null })
      const due = yield* store.claimDue(all)
      const { createdAt } = delivery
      const found = due.find(({ id }) => id === delivery.id)
      const { lostAt = null } = found ?? {}
      assert.isNotNull(lostAt)
      assert.deepStrictEqual(found, { ...first, fence: 2, lostAt, delivery, createdAt })
      const stored = Option.getOrThrow(yield* runs.find(samples.account, run.id))
      assert.deepStrictEqual(stored.run.webhook, webhook)
    }),
  )

  it.effect("takes in those of a run that the commit starts and that has ended", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = yield* RunStore
      const store = yield* WebhookStore
      const [run, item] = [samples.run(), samples.run({ status: "COMPLETED" })]
      const delivery = samples.delivery({ runId: item.id })
      yield* runs.commit(Samples.newRun(run))
      const start = { run: item, definition: Samples.definitionFor(item), deliveries: [delivery] }
      yield* runs.commit(Samples.step(run, {}, { starts: [start] }))
      assert.isTrue(Option.isSome(yield* store.find(null, delivery.id)))
      assert.strictEqual((yield* claimOne(delivery.id)).attempt, 1)
    }),
  )

  it.effect("takes nothing in with a commit that is refused", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = yield* RunStore
      const store = yield* WebhookStore
      const run = samples.run()
      yield* runs.commit(Samples.newRun(run))
      const [late, good] = [samples.delivery({ runId: run.id }), samples.delivery()]
      const stale = Samples.step({ ...run, fence: 7 }, {}, { deliveries: [late] })
      const started = Samples.newRun(samples.run(), { deliveries: [] })
      const other = { ...started, deliveries: [{ ...good, runId: started.run.id }] }
      const outcomes = [Effect.exit(runs.commit(stale)), Effect.exit(runs.commit(other))]
      yield* Effect.all(outcomes, { concurrency: 2 })
      assert.isTrue(Option.isNone(yield* store.find(null, late.id)))
      assert.isTrue(Option.isSome(yield* store.find(null, good.id)))
    }),
  )
}

const hands = (it: Tests): void => {
  it.effect("hands each delivery to one claimer, however many ask at once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      yield* clear
      const deliveries = Array.from({ length: 40 }, () => samples.delivery())
      yield* insertAll(deliveries)
      const ids = deliveries.map(({ id }) => id)
      const looks = Array.from({ length: 6 }, () => store.claimDue({ ...all, limit: 10 }))
      const calls = [...looks, store.claim(ids.slice(0, 20), hour)]
      const claims = (yield* Effect.all(calls, { concurrency: 7 })).flat()
      const rest = yield* store.claimDue(all)
      assert.deepStrictEqual(idsOf([...claims, ...rest]), ids.toSorted())
      assert.deepStrictEqual(yield* store.claimDue(all), [])
      assert.deepStrictEqual(yield* store.claim(ids, hour), [])
    }),
  )

  it.effect("hands a delivery out again that was not recorded in time, to record its attempt", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      const first = yield* claimOne(delivery.id, 0)
      // Whoever takes it to record it may die, too: that is no further attempt.
      const second = yield* claimOne(delivery.id, 0)
      const third = yield* claimOne(delivery.id)
      const { fence, id, lostAt } = third
      assert.deepStrictEqual([first.attempt, second.attempt, third.attempt], [1, 1, 1])
      assert.deepStrictEqual([second.fence, fence], [first.fence + 1, first.fence + 2])
      assert.isNull(first.lostAt)
      assert.deepStrictEqual([second.lostAt, typeof lostAt], [lostAt, "number"])
      assert.deepStrictEqual((yield* recordOf(delivery)).attempts, [])
      const attempt = { ...unknown, at: lostAt! }
      assert.isFalse(yield* recordNext(first, failed))
      assert.isTrue(yield* recordAttempt({ id, fence, number: 1, attempt, next: retry(hour) }))
      assert.deepStrictEqual(yield* store.claim([id], hour), [])
      const { attempts, item } = yield* recordOf(delivery)
      const { nextAt, ...logged } = attempts[0]!
      assert.deepStrictEqual(logged, { number: 1, ...attempt })
      assert.deepStrictEqual([item.attempts, item.nextAttemptAt], [1, nextAt])
      assert.isAtLeast(nextAt!, lostAt! + hour)
    }),
  )

  it.effect("makes the next attempt after one whose end nobody knows, under the next number", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      yield* claimOne(delivery.id, 0)
      yield* loseOne(delivery.id, retry(0))
      const next = yield* claimOne(delivery.id)
      assert.deepStrictEqual([next.attempt, next.lostAt], [2, null])
      assert.isTrue(yield* recordNext(next, delivered))
      assert.isFalse(yield* recordNext(next, failed))
      const { attempts, item } = yield* recordOf(delivery)
      assert.deepStrictEqual(
        attempts.map(({ error, number }) => [number, error]),
        [
          [1, "unknown"],
          [2, null],
        ],
      )
      assert.strictEqual(item.state, "DELIVERED")
    }),
  )
}

const recording = (it: Tests): void => {
  it.effect("logs an attempt and says when the next one is due", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      assert.isTrue(yield* recordNext(yield* claimOne(delivery.id), retry(hour)))
      const { attempts, body, item } = yield* recordOf(delivery)
      const { nextAt, ...logged } = attempts[0]!
      assert.deepStrictEqual(logged, { number: 1, ...Samples.attempted })
      assert.strictEqual(item.nextAttemptAt, nextAt)
      assert.deepStrictEqual([item.state, item.settledAt], ["PENDING", null])
      assert.strictEqual(body, delivery.body)
      assert.deepStrictEqual(yield* store.claim([delivery.id], hour), [])
    }),
  )

  it.effect("is done with a delivery that has ended, and records many at once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const deliveries = Array.from({ length: 6 }, () => samples.delivery())
      yield* insertAll(deliveries)
      const ids = deliveries.map(({ id }) => id)
      const claims = yield* store.claim(ids, hour)
      const nexts = [delivered, failed, retry(0), delivered, retry(hour), failed]
      const answers = yield* Effect.forEach(
        claims,
        (claim, index) => recordNext(claim, nexts[index]!),
        { concurrency: 6 },
      )
      assert.deepStrictEqual(
        answers,
        Array.from(answers, () => true),
      )
      const records = yield* Effect.forEach(deliveries, recordOf)
      const states = records.map(({ item }) => item.state)
      const expected = ["DELIVERED", "FAILED", "PENDING", "DELIVERED", "PENDING", "FAILED"]
      assert.deepStrictEqual(states, expected)
      const over = records.map(({ item }) => item.nextAttemptAt === null)
      assert.deepStrictEqual(over, [true, true, false, true, false, true])
      assert.deepStrictEqual(idsOf(yield* store.claim(ids, hour)), [claims[2]!.id])
    }),
  )
}

const ends = (it: Tests): void => {
  it.effect("takes back the number of an attempt that sent nothing", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      const { attempt: number, fence, id } = yield* claimOne(delivery.id)
      yield* recordAttempt({ id, fence, number, attempt: null, next: retry(0) })
      const again = yield* claimOne(delivery.id)
      assert.strictEqual(again.attempt, 1)
      yield* recordAttempt({ id, fence: again.fence, number, attempt: null, next: failed })
      const { attempts, item } = yield* recordOf(delivery)
      assert.deepStrictEqual([attempts, item.attempts, item.state], [[], 0, "FAILED"])
    }),
  )

  it.effect("hurries the deliveries of a run whose receiver is gone, until one is sent again", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const { id: runId } = samples.run()
      const [a, b, c] = [1, 2, 3].map((sequence) => samples.delivery({ runId, sequence }))
      const stranger = samples.delivery()
      yield* insertAll([a!, b!, stranger])
      yield* recordNext(yield* claimOne(b!.id), retry(hour))
      yield* recordNext(yield* claimOne(stranger.id), retry(hour))
      yield* recordNext(yield* claimOne(a!.id), { _tag: "Failed", isGone: true })
      yield* insertAll([c!])
      const claims = yield* store.claim([a!.id, b!.id, c!.id, stranger.id], 0)
      assert.deepStrictEqual(idsOf(claims), [b!.id, c!.id])
      assert.deepStrictEqual(
        claims.map(({ isGone }) => isGone),
        [true, true],
      )
      yield* store.redeliver(samples.account, a!.id)
      assert.isFalse((yield* claimOne(c!.id)).isGone)
    }),
  )

  it.effect(
    "sends what waits of a run at once when one is sent again to a receiver once gone",
    () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const store = yield* WebhookStore
        const { id: runId } = samples.run()
        const [gone, waiting] = [1, 2].map((sequence) => samples.delivery({ runId, sequence }))
        yield* insertAll([gone!, waiting!])
        yield* recordNext(yield* claimOne(waiting!.id), retry(hour))
        yield* recordNext(yield* claimOne(gone!.id), { _tag: "Failed", isGone: true })
        yield* store.redeliver(samples.account, gone!.id)
        const { attempt, isGone } = yield* claimOne(waiting!.id)
        assert.deepStrictEqual({ attempt, isGone }, { attempt: 2, isGone: false })
      }),
  )
}

const bounds = (it: Tests): void => {
  it.effect("hides nothing behind a long line for one origin", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      yield* clear
      const long = Array.from({ length: 30 }, () => samples.delivery({ origin: "https://long" }))
      const short = samples.delivery({ origin: "https://short" })
      yield* insertAll([...long, short])
      const claims = yield* store.claimDue({ ...all, limit: 5, perOrigin: 4 })
      const first = long.slice(0, 4).map(({ id }) => id)
      assert.deepStrictEqual(idsOf(claims), [...first, short.id].toSorted())
    }),
  )

  it.effect("takes those of one origin first that have been due for longest", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      yield* clear
      const made = [1, 3, 2].map((hours) => ({
        ...samples.delivery({ origin: "https://x" }),
        hours,
      }))
      for (const { hours, ...delivery } of made) {
        yield* store.insert(delivery)
        yield* recordNext(yield* claimOne(delivery.id), retry(-hours * hour))
      }
      const taken = yield* Effect.forEach(made, () => store.claimDue({ ...all, limit: 1 }))
      const expected = made.toSorted((a, b) => b.hours - a.hours).map(({ id }) => id)
      assert.deepStrictEqual(
        taken.flat().map(({ id }) => id),
        expected,
      )
    }),
  )

  it.effect("counts what the dispatcher has in hand already", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      yield* clear
      const { account: accountId, stranger } = samples
      const [x, y] = ["https://x", "https://y"]
      const ofX = Array.from({ length: 5 }, () => samples.delivery({ origin: x }))
      const ofY = Array.from({ length: 5 }, () => samples.delivery({ origin: y }))
      const other = samples.delivery({ accountId: stranger, origin: y })
      yield* insertAll([...ofX, ...ofY, other])
      const busy = [
        { accountId, origin: x, count: 2 },
        { accountId: stranger, origin: y, count: 3 },
      ]
      const claims = yield* store.claimDue({ ...all, perOrigin: 4, perAccount: 5, busy })
      // Two more of x and one of y: then y is full, and so is what the account may have.
      const expected = [...ofX.slice(0, 2), ofY[0]!]
      assert.deepStrictEqual(idsOf(claims), expected.map(({ id }) => id).toSorted())
      const few = yield* store.claimDue({ ...all, perAccount: 6, busy: [busy[0]!] })
      assert.strictEqual(few.filter((each) => each.delivery.accountId === accountId).length, 4)
      assert.isTrue(few.some((each) => each.delivery.id === other.id))
    }),
  )
}

const overlapping = (it: Tests): void => {
  it.effect("keeps a log without gaps of what is sent again while it is being recorded", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const deliveries = Array.from({ length: 20 }, () => samples.delivery())
      yield* insertAll(deliveries)
      yield* Effect.forEach(
        deliveries,
        Effect.fnUntraced(function* ({ accountId, id }, index) {
          const claim = yield* claimOne(id)
          const record = recordNext(claim, index % 2 === 0 ? delivered : failed)
          const both = [record, Effect.asSome(store.redeliver(accountId, id))]
          yield* Effect.all(both, { concurrency: 2 })
          // It was in somebody's hand when it was asked for, or it is sent again.
          const [next] = yield* store.claim([id], hour)
          if (next !== undefined) assert.isTrue(yield* recordNext(next, delivered))
        }),
        { concurrency: 8 },
      )
      for (const each of deliveries) {
        const { attempts, item } = yield* recordOf(each)
        const numbers = attempts.map(({ number }) => number)
        assert.deepStrictEqual(numbers, item.attempts === 1 ? [1] : [1, 2])
        assert.notStrictEqual(item.state, "PENDING")
      }
    }),
  )
}

const again = (it: Tests): void => {
  it.effect("sends any delivery again on request, with a new budget and the log it has", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const { account, stranger } = samples
      const delivery = samples.delivery()
      yield* insertAll([delivery])
      yield* recordNext(yield* claimOne(delivery.id, 0), retry(0))
      yield* recordNext(yield* claimOne(delivery.id), delivered)
      assert.isTrue(Option.isNone(yield* store.redeliver(stranger, delivery.id)))
      assert.isTrue(Option.isNone(yield* store.redeliver(account, DeliveryId.make("msg_\u0000"))))
      const item = Option.getOrThrow(yield* store.redeliver(account, delivery.id))
      assert.deepStrictEqual([item.state, item.attempts, item.settledAt], ["PENDING", 2, null])
      const claim = yield* claimOne(delivery.id)
      assert.deepStrictEqual([claim.attempt, claim.earlier, claim.fence], [3, 2, 3])
      const held = Option.getOrThrow(yield* store.redeliver(null, delivery.id))
      assert.strictEqual(held.attempts, 3)
      assert.deepStrictEqual(yield* store.claim([delivery.id], hour), [])
      assert.isTrue(yield* recordNext(claim, delivered))
      assert.strictEqual((yield* recordOf(delivery)).attempts.length, 3)
    }),
  )

  it.effect("sends all failed ones since a time again", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const [old, first, second, good] = Array.from({ length: 4 }, () => samples.delivery())
      const foreign = samples.delivery({ accountId: samples.stranger })
      const everything = [old!, first!, second!, good!, foreign]
      yield* insertAll(everything)
      for (const each of everything) {
        yield* recordNext(yield* claimOne(each.id), each === good ? delivered : failed)
      }
      const since = first!.createdAt
      assert.strictEqual(yield* store.redeliverFailed(samples.account, since), 2)
      assert.strictEqual(yield* store.redeliverFailed(samples.account, since), 0)
      const ids = everything.map(({ id }) => id)
      const claims = idsOf(yield* store.claim(ids, hour))
      assert.deepStrictEqual(claims, [first!.id, second!.id].toSorted())
      assert.isAtLeast(yield* store.redeliverFailed(null, since), 1)
      assert.deepStrictEqual(idsOf(yield* store.claim(ids, hour)), [foreign.id])
    }),
  )
}

/** Registers the tests. */
export const deliveryClaimSuite = (it: Tests): void => {
  describe("RunStore.commit, of a run with a webhook", () => {
    outbox(it)
    named(it)
  })
  describe("WebhookStore.claim", () => {
    hands(it)
  })
  describe("WebhookStore.record", () => {
    recording(it)
    ends(it)
    deliveryLateSuite(it)
  })
  describe("WebhookStore.claimDue", () => {
    bounds(it)
  })
  describe("WebhookStore.redeliver", () => {
    again(it)
    overlapping(it)
  })
}
