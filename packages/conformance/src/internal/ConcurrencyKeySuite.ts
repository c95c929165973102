/**
 * What every run store must do with concurrency keys: who is given one, when, and until when.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const idsOf = (records: ReadonlyArray<RunRecord>) => records.map(({ run }) => run.id)

/** A queued run with a key that so many may hold. */
const keyed = (samples: Samples.Samples, change?: Partial<Run>) =>
  Scenes.started(samples.run({ concurrencyKey: "k", concurrency: 1, ...change }))

/** The end of a run, committed by its owner. */
const end = Effect.fnUntraced(function* (run: Run) {
  const store = yield* RunStore
  const status = "COMPLETED" as const
  yield* store.commit(Samples.step(run, { status, finishedAt: Samples.epoch }))
})

const all = (samples: Samples.Samples) => Scenes.claim(samples.runner(), 99)

const order = (it: Tests): void => {
  it.effect("are held by as many runs as may, in order, until one of them has ended", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const runs = yield* Effect.forEach([1, 2, 3, 4], () => keyed(samples, { concurrency: 2 }))
      const [one, two, three, four] = runs.map(({ id }) => id)
      const first = yield* all(samples)
      assert.deepStrictEqual(idsOf(first), [one, two])
      assert.deepStrictEqual(idsOf(yield* all(samples)), [])
      yield* end(first[1]!.run)
      assert.deepStrictEqual(idsOf(yield* all(samples)), [three])
      yield* end(first[0]!.run)
      assert.deepStrictEqual(idsOf(yield* all(samples)), [four])
    }),
  )

  it.effect("are different for each key, workflow and account, and none for a run without", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const same = yield* keyed(samples)
      const others = [
        yield* keyed(samples, { concurrencyKey: "K" }),
        yield* keyed(samples, { workflowId: WorkflowId.make(`wf_other_${samples.account}`) }),
        yield* keyed(samples, { accountId: AccountId.make(`${samples.account}_other`) }),
        yield* Scenes.started(samples.run()),
      ]
      const waiting = yield* keyed(samples)
      const claimed = idsOf(yield* all(samples))
      assert.sameMembers(
        claimed,
        [same, ...others].map(({ id }) => id),
      )
      assert.notInclude(claimed, waiting.id)
    }),
  )

  it.effect("go by priority, and to the first that waits as its own limit allows", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const slow = yield* keyed(samples, { priority: -1 })
      const wide = yield* keyed(samples, { concurrency: 3 })
      const urgent = yield* keyed(samples, { priority: 1 })
      assert.deepStrictEqual(idsOf(yield* all(samples)), [urgent.id, wide.id])
      const store = yield* RunStore
      assert.strictEqual(yield* store.queueLength(9), 0)
      assert.strictEqual((yield* Scenes.runOf(slow)).status, "QUEUED")
    }),
  )

  it.effect("are held exactly, however many claim at once, also under caps", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* Effect.forEach(Array.from({ length: 30 }), (_, n) =>
        keyed(samples, { concurrencyKey: `k${n % 3}`, concurrency: 1 + (n % 3) }),
      )
      const wishes = [{}, { runsPerAccount: 99, runsPerWorkflow: 99 }]
      const claims = Array.from({ length: 8 }, (_, n) =>
        Scenes.claim(samples.runner(), 5, wishes[n % 2]),
      )
      const records = (yield* Effect.all(claims, { concurrency: "unbounded" })).flat()
      records.push(...(yield* all(samples)))
      const counts = ["k0", "k1", "k2"].map(
        (key) => records.filter(({ run }) => run.concurrencyKey === key).length,
      )
      assert.deepStrictEqual([counts, records.length], [[1, 2, 3], 6])
    }),
  )
}

const holding = (it: Tests): void => {
  it.effect("stay with a run that is parked, given back, or whose owner has died", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* keyed(samples)
      yield* keyed(samples)
      const [first] = yield* Scenes.claim(samples.runner(), 9)
      assert.strictEqual(first!.run.id, run.id)
      const parked = Samples.step(first!.run, {
        status: "RUNNING",
        dueAt: Scenes.longAgo,
        owner: null,
      })
      yield* store.commit(parked)
      const runner = samples.runner()
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 9)), [run.id])
      yield* store.requeue(runner, [run.id])
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 9)), [run.id])
      yield* store.heartbeat(runner, 0)
      const [last, ...rest] = yield* all(samples)
      assert.deepStrictEqual([last!.run.id, rest], [run.id, []])
    }),
  )

  it.effect("are given to a run that is to start later when it is due", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const later = yield* keyed(samples, { startAt: Scenes.never, dueAt: Scenes.never })
      const run = yield* keyed(samples)
      const due = yield* keyed(samples, { startAt: Scenes.longAgo, dueAt: Scenes.longAgo })
      const [first, ...rest] = yield* all(samples)
      assert.deepStrictEqual([first!.run.id, rest], [due.id, []])
      yield* end(first!.run)
      assert.deepStrictEqual(idsOf(yield* all(samples)), [run.id])
      assert.strictEqual((yield* Scenes.runOf(later)).dueAt, Scenes.never)
    }),
  )
}

const ending = (it: Tests): void => {
  it.effect("are not held by a run that was canceled while it waited, nor leaked by one", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const [first, second, third] = yield* Effect.forEach([1, 2, 3], () => keyed(samples))
      const [holder] = yield* all(samples)
      assert.strictEqual(holder!.run.id, first!.id)
      const taken = yield* store.takeOver(second!.accountId, second!.id, samples.runner())
      const mine = Option.getOrThrow(taken).run
      yield* store.commit(Samples.step(mine, { status: "CANCELED", finishedAt: Samples.epoch }))
      assert.deepStrictEqual(idsOf(yield* all(samples)), [])
      yield* end(holder!.run)
      assert.deepStrictEqual(idsOf(yield* all(samples)), [third!.id])
    }),
  )

  it.effect("are waited for again by a run whose canceler has died", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      yield* keyed(samples)
      const waiting = yield* keyed(samples)
      const [holder] = yield* all(samples)
      const dead = samples.runner()
      yield* store.takeOver(waiting.accountId, waiting.id, dead)
      yield* store.heartbeat(dead, 0)
      assert.deepStrictEqual(idsOf(yield* all(samples)), [])
      assert.deepInclude(yield* Scenes.runOf(waiting), { status: "QUEUED", owner: null })
      yield* end(holder!.run)
      assert.deepStrictEqual(idsOf(yield* all(samples)), [waiting.id])
    }),
  )

  it.effect("are given to child runs that a commit starts", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const parent = yield* Scenes.owned(samples)
      const change = { concurrencyKey: "k", concurrency: 1 }
      const children = [samples.run(change), samples.run(change)]
      const starts = children.map((run) => {
        const { expected } = Samples.newRun(run)
        if (expected._tag !== "New") throw new Error("a new run is expected")
        return { run, credits: [], definition: expected.definition }
      })
      yield* store.commit(Samples.step(parent, {}, { starts }))
      assert.deepStrictEqual(idsOf(yield* all(samples)), [children[0]!.id])
    }),
  )
}

const loads = (it: Tests): void => {
  it.effect(
    "says how many runs of an account are at work, and no further than asked how many wait",
    () =>
      Effect.gen(function* () {
        const samples = yield* Scenes.quiet
        const store = yield* RunStore
        const { account } = samples
        const of = (limit: number, concurrencyKey: string) =>
          store.load({
            account,
            limit,
            key: { workflowId: WorkflowId.make(`wf-of-${account}`), concurrencyKey },
          })
        const none = { queued: 0, keyless: 0, owned: 0, ofKey: 0, runsAtOnce: null }
        assert.deepStrictEqual(yield* of(9, "k"), none)
        for (let n = 0; n < 3; n++) yield* keyed(samples)
        assert.deepStrictEqual(yield* of(9, "k"), { ...none, keyless: 3, ofKey: 3 })
        yield* all(samples)
        for (let n = 0; n < 2; n++) yield* Scenes.started(samples.run())
        yield* Scenes.owned(samples)
        yield* Scenes.parked(samples, Scenes.never)
        yield* keyed(samples, { accountId: AccountId.make(`${account}_other`) })
        yield* Scenes.started(samples.run({ status: "COMPLETED", finishedAt: Samples.epoch }))
        const some = { ...none, queued: 2, keyless: 2, owned: 2 }
        assert.deepStrictEqual(yield* of(9, "k"), { ...some, ofKey: 3 })
        assert.deepStrictEqual(yield* of(9, "other"), some)
        assert.deepStrictEqual(yield* store.load({ account, limit: 9 }), some)
        const few = { ...none, queued: 1, keyless: 1, owned: 2, ofKey: 1 }
        assert.deepStrictEqual(yield* of(1, "k"), few)
      }),
  )
}

/** Registers the tests of keys. */
export const concurrencyKeySuite = (it: Tests): void => {
  describe("RunStore: concurrency keys", () => {
    order(it)
    holding(it)
    ending(it)
  })
  describe("RunStore.load", () => {
    loads(it)
  })
}
