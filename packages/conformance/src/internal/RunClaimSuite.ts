/**
 * What every run store must do when runners take runs over: claims, seizing, leases.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { RunnerId } from "@millrace/core/domain/Id"
import { RunId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import {
  started,
  claim,
  claimed,
  hourMillis,
  orphan,
  parked,
  quiet,
  runOf,
  takenOver,
} from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const claims = (it: Tests): void => {
  it.effect("raises the fence, sets the owner and changes nothing else", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = samples.run({ fence: 6, sequence: 1, values: { a: [1] } })
      const nodeRuns = [Samples.nodeRun("b", { ordinal: 1 }), Samples.nodeRun("a")]
      const events = [Samples.event(run, 1)]
      yield* store.commit(Samples.newRun(run, { nodeRuns, events }))
      const runner = samples.runner()
      const record = {
        run: claimed(run, runner),
        definition: Samples.definitionFor(run),
        nodeRuns: nodeRuns.toReversed(),
      }
      assert.deepStrictEqual(yield* claim(runner, 10), [record])
      const stored = yield* store.find(samples.account, run.id)
      assert.deepStrictEqual(Option.getOrUndefined(stored), record)
      assert.deepStrictEqual(yield* store.events(samples.account, run.id, 0), events)
    }),
  )

  it.effect("takes expired runs first, then queued ones, each oldest first", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const queued = [yield* started(samples.run()), yield* started(samples.run())]
      const young = yield* orphan(samples, { createdAt: 9 })
      const orphans = [yield* orphan(samples, { createdAt: 8 }), young]
      const oldest = yield* started(samples.run({ createdAt: 5 }))
      const expected = [...orphans, oldest, ...queued].map(({ id }) => id)
      const runner = samples.runner()
      const first = yield* claim(runner, 1)
      assert.deepStrictEqual(
        first.map(({ run }) => run.id),
        expected.slice(0, 1),
      )
      const second = yield* claim(runner, 2)
      assert.deepStrictEqual(
        second.map(({ run }) => run.id),
        expected.slice(1, 3),
      )
      const third = yield* claim(runner, 9)
      assert.deepStrictEqual(
        third.map(({ run }) => run.id),
        expected.slice(3),
      )
    }),
  )

  it.effect("returns what it claimed in the order of the claim", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const b = yield* started(samples.run({ createdAt: 2 }))
      const a = yield* started(samples.run({ createdAt: 1 }))
      const d = yield* orphan(samples, { createdAt: 4 })
      const c = yield* orphan(samples, { createdAt: 3 })
      const records = yield* claim(samples.runner(), 9)
      const ids = records.map(({ run }) => run.id)
      assert.deepStrictEqual(ids, [c.id, d.id, a.id, b.id])
    }),
  )
}

const bounds = (it: Tests): void => {
  it.effect("takes no more than its limit, and with a limit of 0 nothing", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      for (let n = 0; n < 5; n++) yield* started(samples.run())
      const sizes: Array<number> = []
      for (const limit of [0, 2, 2, 2, 2]) {
        sizes.push((yield* claim(samples.runner(), limit)).length)
      }
      assert.deepStrictEqual(sizes, [0, 2, 2, 1, 0])
    }),
  )

  it.effect("takes queued runs of an owner that is gone, too", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const run = yield* orphan(samples, { status: "QUEUED" })
      const unheard = yield* started(samples.run({ owner: samples.runner() }))
      const runner = samples.runner()
      const records = yield* claim(runner, 9)
      const expected = [claimed(run, runner), claimed(unheard, runner)]
      assert.deepStrictEqual(
        records.map((record) => record.run),
        expected,
      )
    }),
  )

  it.effect("takes nothing of an owner that is alive, and no terminal run", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      yield* store.heartbeat(owner, hourMillis)
      for (const status of ["QUEUED", "RUNNING"] as const) {
        yield* started(samples.run({ status, owner }))
      }
      for (const status of ["COMPLETED", "FAILED", "CANCELED"] as const) {
        yield* orphan(samples, { status })
        yield* started(samples.run({ status }))
      }
      assert.deepStrictEqual(yield* claim(samples.runner(), 9), [])
    }),
  )
}

const endings = (it: Tests): void => {
  it.effect("forgets a run that ended while it waited", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const [queued, running] = [yield* started(samples.run()), yield* orphan(samples)]
      yield* store.commit(Samples.step(queued, { status: "CANCELED" }))
      yield* store.commit(Samples.step(running, { status: "COMPLETED" }))
      assert.deepStrictEqual(yield* claim(samples.runner(), 9), [])
    }),
  )

  it.effect("fences the previous owner off", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = yield* orphan(samples)
      const runner = samples.runner()
      const [record] = yield* claim(runner, 9)
      const late = Samples.step(run, { status: "COMPLETED" }, { nodeRuns: [Samples.nodeRun("a")] })
      assert.strictEqual((yield* Effect.flip(store.commit(late)))._tag, "StaleRun")
      assert.deepStrictEqual(yield* runOf(run), record!.run)
      yield* store.commit(Samples.step(record!.run, { status: "COMPLETED" }))
      assert.strictEqual((yield* runOf(run)).status, "COMPLETED")
    }),
  )
}

const races = (it: Tests): void => {
  it.effect("gives each run to exactly one of 20 concurrent claimers", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const ids: Array<RunId> = []
      for (let n = 0; n < 60; n++) ids.push((yield* started(samples.run())).id)
      for (let n = 0; n < 60; n++) ids.push((yield* orphan(samples)).id)
      const runners = Array.from({ length: 20 }, () => samples.runner())
      const work = Effect.fnUntraced(function* (runner: RunnerId) {
        const mine: Array<Run> = []
        for (;;) {
          const records = yield* claim(runner, 4)
          if (records.length === 0) return mine
          mine.push(...records.map(({ run }) => run))
        }
      })
      const results = yield* Effect.forEach(runners, work, { concurrency: "unbounded" })
      // A claimer that found everything locked gave up early; whoever comes next takes the rest.
      const rest = yield* work(samples.runner())
      const runs = [...results.flat(), ...rest]
      assert.deepStrictEqual(runs.map(({ id }) => id).toSorted(), ids.toSorted())
      for (const run of runs) assert.isAtMost(run.fence, 2)
      for (const [n, mine] of results.entries()) {
        for (const run of mine) assert.strictEqual(run.owner, runners[n])
      }
    }),
  )
}

const leases = (it: Tests): void => {
  it.effect("starts with a claim, also one that finds nothing", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const runner = samples.runner()
      assert.deepStrictEqual(yield* claim(runner, 9), [])
      yield* started(samples.run({ status: "RUNNING", owner: runner }))
      assert.deepStrictEqual(yield* claim(samples.runner(), 9), [])
    }),
  )

  it.effect("is renewed by a heartbeat, and ends when it is not", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = yield* orphan(samples)
      yield* store.heartbeat(run.owner!, hourMillis)
      assert.deepStrictEqual(yield* claim(samples.runner(), 9), [])
      yield* store.heartbeat(run.owner!, 0)
      assert.strictEqual((yield* claim(samples.runner(), 9)).length, 1)
    }),
  )

  it.effect("gives a runner its own runs again after its lease ran out", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const run = yield* orphan(samples)
      const records = yield* claim(run.owner!, 9)
      assert.deepStrictEqual(
        records.map((record) => record.run),
        [claimed(run, run.owner!)],
      )
      assert.deepStrictEqual(yield* claim(run.owner!, 9), [])
    }),
  )
}

const releases = (it: Tests): void => {
  it.effect("ends at once when the runner releases it", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const run = yield* started(samples.run())
      const [first, second] = [samples.runner(), samples.runner()]
      yield* claim(first, 9)
      assert.deepStrictEqual(yield* claim(second, 9), [])
      yield* store.endLease(first)
      yield* store.endLease(samples.runner())
      const records = yield* claim(second, 9)
      assert.deepStrictEqual(
        records.map((record) => record.run),
        [claimed(claimed(run, first), second)],
      )
    }),
  )

  it.effect("is told with the open runs that the runner still owns", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      assert.deepStrictEqual(yield* store.heartbeat(owner, hourMillis), new Map())
      const a = yield* started(samples.run({ status: "RUNNING", owner, fence: 2 }))
      const b = yield* started(samples.run({ owner, fence: 5 }))
      const done = yield* started(samples.run({ status: "RUNNING", owner }))
      yield* started(samples.run({ status: "RUNNING", owner: samples.runner() }))
      yield* store.commit(Samples.step(done, { status: "COMPLETED" }))
      const both = new Map([
        [a.id, 2],
        [b.id, 5],
      ])
      assert.deepStrictEqual(yield* store.heartbeat(owner, hourMillis), both)
      yield* store.takeOver(samples.account, a.id, samples.runner())
      const rest = new Map([[b.id, 5]])
      assert.deepStrictEqual(yield* store.heartbeat(owner, hourMillis), rest)
    }),
  )
}

const times = (it: Tests): void => {
  it.effect("is by the time that the store tells, in whole milliseconds", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const before = yield* store.now
      const due = yield* parked(samples, before)
      const later = yield* parked(samples, before + hourMillis)
      const records = yield* claim(samples.runner(), 9)
      assert.deepStrictEqual(
        records.map(({ run }) => run.id),
        [due.id],
      )
      assert.isTrue(Number.isInteger(before))
      assert.isAtLeast(yield* store.now, before)
      yield* store.commit(Samples.step(later, { status: "CANCELED", dueAt: null }))
    }),
  )
}

const abandons = (it: Tests): void => {
  it.effect("gives back the open runs of the runner, and fences it off", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      yield* store.heartbeat(owner, hourMillis)
      const mine = yield* started(samples.run({ status: "RUNNING", owner, fence: 4 }))
      const kept = yield* started(samples.run({ status: "RUNNING", owner }))
      const done = yield* started(samples.run({ status: "COMPLETED", owner }))
      const other = yield* started(samples.run({ status: "RUNNING", owner: samples.runner() }))
      yield* store.heartbeat(other.owner!, hourMillis)
      const unknown = RunId.make("run_\u0000unknown")
      yield* store.requeue(owner, [mine.id, done.id, other.id, unknown, mine.id])
      yield* store.requeue(owner, [])
      const given = { ...mine, fence: 5, owner: null }
      assert.deepStrictEqual(yield* runOf(mine), given)
      for (const run of [kept, done, other]) assert.deepStrictEqual(yield* runOf(run), run)
      const late = yield* Effect.flip(store.commit(Samples.step(mine, { nodeRunCount: 1 })))
      assert.strictEqual(late._tag, "StaleRun")
      const runner = samples.runner()
      const records = yield* claim(runner, 9)
      assert.deepStrictEqual(
        records.map((record) => record.run),
        [claimed(given, runner)],
      )
    }),
  )
}

const seize = (it: Tests): void => {
  it.effect("takes an open run over, whoever owns it", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      yield* store.heartbeat(owner, hourMillis)
      const runner = samples.runner()
      yield* store.heartbeat(runner, hourMillis)
      const owned = samples.run({ status: "RUNNING", owner, fence: 3 })
      for (const run of [owned, samples.run()]) {
        const nodeRuns = [Samples.nodeRun("b", { ordinal: 1 }), Samples.nodeRun("a")]
        yield* store.commit(Samples.newRun(run, { nodeRuns }))
        const result = yield* store.takeOver(samples.account, run.id, runner)
        const record = {
          run: takenOver(run, runner),
          definition: Samples.definitionFor(run),
          nodeRuns: nodeRuns.toReversed(),
        }
        assert.deepStrictEqual(Option.getOrUndefined(result), record)
        const late = yield* Effect.flip(store.commit(Samples.step(run, { nodeRunCount: 1 })))
        assert.strictEqual(late._tag, "StaleRun")
        assert.deepStrictEqual(yield* runOf(run), record.run)
        yield* store.commit(Samples.step(record.run, { status: "CANCELED" }))
      }
      assert.deepStrictEqual(yield* claim(samples.runner(), 9), [])
    }),
  )

  it.effect("ends the wait of a parked run, whose time has not come by that", () =>
    Effect.gen(function* () {
      const samples = yield* quiet
      const store = yield* RunStore
      const owner = samples.runner()
      const run = yield* started(samples.run({ status: "RUNNING", owner, fence: 3 }))
      yield* store.commit(Samples.step(run, { dueAt: Samples.epoch + 1e12, owner: null }))
      const result = yield* store.takeOver(samples.account, run.id, samples.runner())
      const taken = Option.getOrThrow(result).run
      assert.strictEqual(taken.dueAt, null)
      assert.deepStrictEqual(yield* runOf(run), taken)
      yield* store.commit(Samples.step(taken, { status: "CANCELED" }))
    }),
  )

  it.effect("returns a terminal run unchanged", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = yield* started(samples.run({ status: "COMPLETED", fence: 2 }))
      const result = yield* store.takeOver(samples.account, run.id, samples.runner())
      assert.deepStrictEqual(Option.getOrUndefined(result)?.run, run)
      assert.deepStrictEqual(yield* runOf(run), run)
    }),
  )
}

const seizeEdges = (it: Tests): void => {
  it.effect("finds nothing under an unknown or a foreign identifier", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const runner = samples.runner()
      const run = yield* started(samples.run())
      for (const id of [RunId.make("run_unknown"), RunId.make("a\u0000b")]) {
        assert.isTrue(Option.isNone(yield* store.takeOver(samples.account, id, runner)))
      }
      assert.isTrue(Option.isNone(yield* store.takeOver(samples.stranger, run.id, runner)))
      assert.deepStrictEqual(yield* runOf(run), run)
    }),
  )

  it.effect("gives each of many concurrent callers a fence of its own", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = yield* started(samples.run())
      const records = yield* Effect.forEach(
        Array.from({ length: 20 }, () => samples.runner()),
        (runner) => store.takeOver(samples.account, run.id, runner),
        { concurrency: "unbounded" },
      )
      const fences = records.map((record) => Option.getOrThrow(record).run.fence)
      assert.strictEqual(new Set(fences).size, 20)
      assert.strictEqual((yield* runOf(run)).fence, 20)
      yield* store.commit(Samples.step(yield* runOf(run), { status: "CANCELED" }))
    }),
  )
}

/** Registers the tests of taking runs over. */
export const runClaimSuite = (it: Tests): void => {
  describe("RunStore.claim", () => {
    claims(it)
    bounds(it)
    endings(it)
    races(it)
  })
  describe("RunStore.heartbeat and release", () => {
    leases(it)
    releases(it)
  })
  describe("RunStore.now", () => {
    times(it)
  })
  describe("RunStore.requeue", () => {
    abandons(it)
  })
  describe("RunStore.takeOver", () => {
    seize(it)
    seizeEdges(it)
  })
}
