/**
 * What every run store must do when it is asked for the events of runs.
 */
import { assert, type Vitest } from "@effect/vitest"
import { RunId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { ofNode } from "@millrace/core/domain/RunEvent"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const strange = RunId.make("run_a\u0000b\ud800'%")

const eventsOfOne = (it: Tests): void => {
  it.effect("returns the events after a sequence, and none of an unknown run", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run({ sequence: 3 })
      const all = [1, 2, 3].map((sequence) => Samples.event(run, sequence))
      yield* store.commit(Samples.newRun(run, { events: all }))
      assert.deepStrictEqual(yield* store.events(samples.account, run.id, 0), all)
      assert.deepStrictEqual(yield* store.events(samples.account, run.id, 1), all.slice(1))
      assert.deepStrictEqual(yield* store.events(samples.account, run.id, 3), [])
      assert.deepStrictEqual(yield* store.events(samples.stranger, run.id, 0), [])
      assert.deepStrictEqual(yield* store.events(samples.account, strange, 0), [])
    }),
  )
}

const eventsOfMany = (it: Tests): void => {
  it.effect("returns the events of many runs, each after a sequence of its own", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const runs = [3, 2, 1].map((sequence) => samples.run({ sequence }))
      const foreign = samples.run({ accountId: samples.stranger, sequence: 1 })
      const eventsOf = (run: Run) =>
        Array.from({ length: run.sequence }, (_, n) => Samples.event(run, n + 1))
      for (const run of [...runs, foreign]) {
        yield* store.commit(Samples.newRun(run, { events: eventsOf(run) }))
      }
      const [first, second, third] = runs.map(({ id }) => id)
      const { account, stranger } = samples
      const found = yield* store.eventsOfMany([
        { account, runId: first!, after: 1 },
        { account, runId: second!, after: 2 },
        { account, runId: third!, after: 0 },
        { account: stranger, runId: foreign.id, after: 0 },
        { account, runId: strange, after: 0 },
      ])
      assert.deepStrictEqual(
        new Map(found.map((each) => [each.runId, each.events])),
        new Map([
          [first!, eventsOf(runs[0]!).slice(1)],
          [third!, eventsOf(runs[2]!)],
          [foreign.id, eventsOf(foreign)],
        ]),
      )
      const notMine = [{ account, runId: foreign.id, after: 0 }]
      assert.deepStrictEqual(yield* store.eventsOfMany(notMine), [])
      assert.deepStrictEqual(yield* store.eventsOfMany([]), [])
    }),
  )
}

const eventsOfMoved = (it: Tests): void => {
  it.effect("finds a run whose revision has moved, also without events", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const { account, stranger } = samples
      const run = samples.run({ sequence: 1 })
      const events = [Samples.event(run, 1)]
      yield* store.commit(Samples.newRun(run, { events }))
      const ask = (after: number, revision?: number, of = account) =>
        store.eventsOfMany([{ account: of, runId: run.id, after, revision }])
      const first = run.revision
      assert.deepStrictEqual(yield* ask(1, first), [])
      assert.deepStrictEqual(yield* ask(1), [])
      assert.deepStrictEqual(yield* ask(0, first), [{ runId: run.id, revision: first, events }])
      const taken = Option.getOrThrow(yield* store.takeOver(account, run.id, samples.runner())).run
      yield* store.commit(Samples.step(taken, {}))
      const revision = first + 1
      assert.deepStrictEqual(yield* ask(1, first), [{ runId: run.id, revision, events: [] }])
      assert.deepStrictEqual(yield* ask(0, first), [{ runId: run.id, revision, events }])
      assert.deepStrictEqual(yield* ask(0), [{ runId: run.id, revision, events }])
      assert.deepStrictEqual(yield* ask(1, revision), [])
      assert.deepStrictEqual(yield* ask(0, first, stranger), [])
    }),
  )
}

const eventsOfNodes = (it: Tests): void => {
  it.effect("tells of the ends of nodes between the run's own events", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run({ sequence: 4 })
      const [first, last] = [Samples.event(run, 1), Samples.event(run, 4)]
      const nodeRuns = [
        Samples.nodeRun("c", { sequence: 3, status: "FAILED", error: "It \u0000 broke \ud800" }),
        Samples.nodeRun("a", { sequence: 2, attempt: 3 }),
        Samples.nodeRun("b", { sequence: null, status: "SKIPPED" }),
      ]
      yield* store.commit(Samples.newRun(run, { nodeRuns, events: [last, first] }))
      const [failed, completed] = nodeRuns.map((nodeRun) => ofNode(run, nodeRun)!)
      const all = [first, completed!, failed!, last]
      assert.deepStrictEqual(yield* store.events(samples.account, run.id, 0), all)
      assert.deepStrictEqual(yield* store.events(samples.account, run.id, 2), all.slice(2))
      assert.deepStrictEqual(yield* store.events(samples.stranger, run.id, 0), [])
    }),
  )
}

/** Registers the tests of events. */
export const runEventCases = (it: Tests): void => {
  eventsOfOne(it)
  eventsOfMany(it)
  eventsOfMoved(it)
  eventsOfNodes(it)
}
