/**
 * What every run store must do with runs and nodes that wait: rows that are written again, and runs
 * that nobody owns until their time has come.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore, type RunCommit } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const { longAgo, never } = Scenes

const rowsOf = Effect.fnUntraced(function* (run: Run) {
  const store = yield* RunStore
  return Option.getOrThrow(yield* store.find(run.accountId, run.id)).nodeRuns
})

const waitingRow = Samples.nodeRun("a", {
  status: "WAITING",
  output: null,
  error: "It broke",
  finishedAt: null,
})

/** A run in which the node "a" waits and "b" has settled. */
const withWaitingNode = Effect.gen(function* () {
  const samples = yield* Samples.make
  const store = yield* RunStore
  const run = samples.run({ status: "RUNNING", fence: 3 })
  const settled = Samples.nodeRun("b", { ordinal: 1 })
  yield* store.commit(Samples.newRun(run, { nodeRuns: [waitingRow, settled] }))
  return { run, settled, store }
})

const rewriting = (it: Tests): void => {
  it.effect("replaces the row of a node that waited, in every part, and no other", () =>
    Effect.gen(function* () {
      const { run, settled, store } = yield* withWaitingNode
      const again = Samples.nodeRun("a", {
        attempt: 2,
        input: { text: "again" },
        logs: [{ at: Samples.epoch, level: "warn", message: "Twice \u0000", attempt: 2 }],
        credits: 7,
        sequence: 1,
        startedAt: Samples.epoch + 30,
        finishedAt: Samples.epoch + 40,
      })
      const next = Samples.step(run, { sequence: 1 }, { rewritten: [again] })
      yield* store.commit(next)
      assert.deepStrictEqual(yield* rowsOf(run), [again, settled])
      const events = yield* store.events(run.accountId, run.id, 0)
      assert.deepStrictEqual(
        events.map(({ at, sequence, type }) => ({ at, sequence, type })),
        [{ at: Samples.epoch + 40, sequence: 1, type: "node.completed" }],
      )
    }),
  )

  it.effect("replaces a row as often as its node waits, beside first rows of others", () =>
    Effect.gen(function* () {
      const { run, settled, store } = yield* withWaitingNode
      const second = { ...waitingRow, attempt: 2 }
      const first = Samples.nodeRun("c", { ordinal: 2 })
      const next = Samples.step(run, {}, { rewritten: [second], nodeRuns: [first] })
      yield* store.commit(next)
      assert.deepStrictEqual(yield* rowsOf(run), [second, settled, first])
      const last = Samples.nodeRun("a", { attempt: 3 })
      yield* store.commit(Samples.step(next.run, {}, { rewritten: [last] }))
      assert.deepStrictEqual(yield* rowsOf(run), [last, settled, first])
    }),
  )

  it.effect("replaces nothing with a commit that is refused", () =>
    Effect.gen(function* () {
      const { run, settled, store } = yield* withWaitingNode
      const commit = Samples.step(run, {}, { rewritten: [Samples.nodeRun("a", { attempt: 2 })] })
      for (const expected of [
        { fence: run.fence + 1, revision: run.revision },
        { fence: run.fence, revision: run.revision + 1 },
      ]) {
        const late: RunCommit = { ...commit, expected: { _tag: "Existing", ...expected } }
        assert.strictEqual((yield* Effect.flip(store.commit(late)))._tag, "StaleRun")
      }
      assert.deepStrictEqual(yield* rowsOf(run), [waitingRow, settled])
    }),
  )
}

const parking = (it: Tests): void => {
  it.effect("takes the owner, and keeps the fence and what waits", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.owned(samples, { fence: 5 })
      const at = Samples.epoch
      const waiting = [
        { ordinal: 0, attempt: 2, startedAt: at, due: never },
        { ordinal: 1, attempt: 1, startedAt: at, due: never + 1, state: { step: ["\u0000"] } },
      ]
      const change = { dueAt: never, waiting, attempts: 3, active: [] }
      // Also where the row still names the owner: a parked run has none.
      yield* store.commit(Samples.step(run, change))
      const expected = { ...run, ...change, owner: null, revision: 2 }
      assert.deepStrictEqual(yield* Scenes.runOf(run), expected)
    }),
  )

  it.effect("keeps other owners' runs and the lease out of it", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const stays = yield* Scenes.owned(samples)
      const run = yield* Scenes.parked(samples, never, { owner: stays.owner })
      const fences = yield* store.heartbeat(stays.owner!, Scenes.hourMillis)
      assert.deepStrictEqual(fences, new Map([[stays.id, stays.fence]]))
      assert.isFalse(fences.has(run.id))
    }),
  )

  it.effect("leaves the run to whoever holds its fence: its time may move", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, never)
      yield* store.commit(Samples.step(run, { dueAt: longAgo }))
      const records = yield* Scenes.claim(samples.runner(), 9)
      assert.deepStrictEqual(
        records.map((record) => [record.run.id, record.run.dueAt]),
        [[run.id, longAgo]],
      )
    }),
  )

  it.effect("puts a parked run that has no time any more into the queue", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      // Also where the commit names an owner: it has none until somebody claims it.
      for (const owner of [null, samples.runner()]) {
        const run = yield* Scenes.parked(samples, never)
        yield* store.commit(Samples.step(run, { dueAt: null, owner }))
        const capped = { runsPerAccount: 0 }
        assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9, capped), [])
        const [claimed] = yield* Scenes.claim(samples.runner(), 9)
        assert.strictEqual(claimed?.run.id, run.id)
      }
    }),
  )
}

const claiming = (it: Tests): void => {
  it.effect("takes no parked run before its time, whether it was started so or not", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      yield* Scenes.parked(samples, never)
      yield* Scenes.started(samples.run({ dueAt: never }))
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9), [])
    }),
  )

  it.effect("takes a parked run when its time has come, and changes nothing but its hands", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, longAgo)
      const runner = samples.runner()
      const records = yield* Scenes.claim(runner, 9)
      const expected = Scenes.claimed(run, runner)
      assert.deepStrictEqual(
        records.map((record) => record.run),
        [expected],
      )
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9), [])
      yield* store.commit(Samples.step(expected, { dueAt: null, status: "COMPLETED" }))
      assert.strictEqual((yield* Scenes.runOf(run)).status, "COMPLETED")
    }),
  )

  for (const runsPerAccount of [9, Number.POSITIVE_INFINITY]) {
    it.effect(`takes a due run under a cap of ${runsPerAccount}, though nothing else waits`, () =>
      Effect.gen(function* () {
        const samples = yield* Scenes.quiet
        const store = yield* RunStore
        const run = yield* Scenes.parked(samples, longAgo)
        const runner = samples.runner()
        const request = { runner, leaseMillis: 3_600_000, limit: 9, runsPerAccount }
        const ids = Effect.map(store.claim(request), (records) =>
          records.map((record) => record.run.id),
        )
        assert.deepStrictEqual(yield* ids, [run.id])
        const ended = { dueAt: null, status: "COMPLETED" as const }
        yield* store.commit(Samples.step(Scenes.claimed(run, runner), ended))
      }),
    )
  }
}

const turns = (it: Tests): void => {
  it.effect("takes what is due and what is queued in turn, by the time since which it waits", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const newer = yield* Scenes.started(samples.run({ createdAt: longAgo + 3 }))
      const older = yield* Scenes.started(samples.run({ createdAt: 3 }))
      const later = yield* Scenes.parked(samples, longAgo + 2, { createdAt: 2 })
      const first = yield* Scenes.parked(samples, longAgo, { createdAt: 4 })
      const second = yield* Scenes.started(samples.run({ dueAt: longAgo + 1, createdAt: 1 }))
      const expired = yield* Scenes.orphan(samples, { createdAt: 9 })
      const ids = [expired, older, first, second, later, newer].map(({ id }) => id)
      const runner = samples.runner()
      const claimed = [
        ...(yield* Scenes.claim(runner, 3)),
        ...(yield* Scenes.claim(runner, 1)),
        ...(yield* Scenes.claim(runner, 9)),
      ]
      assert.deepStrictEqual(
        claimed.map(({ run }) => run.id),
        ids,
      )
    }),
  )

  it.effect("lets no account's due runs go before what others have due or queued", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const [a, b, c] = ["a", "b", "c"].map((name) => ({
        accountId: AccountId.make(`${samples.account}_${name}`),
      }))
      const many: Array<Run> = []
      for (let n = 0; n < 9; n++) many.push(yield* Scenes.parked(samples, longAgo + n, a))
      const due = yield* Scenes.parked(samples, longAgo + 99, b)
      const take = Effect.fnUntraced(function* (limit: number, after?: AccountId) {
        const records = yield* Scenes.claim(samples.runner(), limit, { after })
        return records.map(({ run }) => run.id)
      })
      // Whether somebody is queued beside them or not.
      assert.deepStrictEqual(yield* take(3), [many[0]!.id, due.id, many[1]!.id])
      const queued = yield* Scenes.started(samples.run(c))
      assert.deepStrictEqual(yield* take(2), [many[2]!.id, queued.id])
      const again = yield* Scenes.parked(samples, longAgo + 99, c)
      assert.deepStrictEqual(yield* take(1, a!.accountId), [again.id])
      assert.deepStrictEqual(
        yield* take(99),
        many.slice(3).map(({ id }) => id),
      )
    }),
  )
}

const races = (it: Tests): void => {
  it.effect("gives each due run to exactly one of 10 concurrent claimers", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const ids: Array<string> = []
      for (let n = 0; n < 50; n++) ids.push((yield* Scenes.parked(samples, longAgo + (n % 3))).id)
      const claims = yield* Effect.forEach(
        Array.from({ length: 10 }, () => samples.runner()),
        (runner) => Scenes.claim(runner, 5),
        { concurrency: "unbounded" },
      )
      // A claim that met others in the middle of their work may have found less than there is.
      const rest = yield* Scenes.claim(samples.runner(), 50)
      const taken = [...claims.flat(), ...rest].map(({ run }) => run.id)
      assert.deepStrictEqual(taken.toSorted(), ids.toSorted())
      for (const { length } of claims) assert.isAtMost(length, 5)
      assert.isAbove(claims.flat().length, 0)
    }),
  )
}

const hands = (it: Tests): void => {
  it.effect("lets a parked run be taken over and canceled, and forgets it then", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      for (const dueAt of [longAgo, never]) {
        const run = yield* Scenes.parked(samples, dueAt)
        const runner = samples.runner()
        yield* store.heartbeat(runner, Scenes.hourMillis)
        const taken = yield* store.takeOver(samples.account, run.id, runner)
        const expected = Scenes.takenOver(run, runner)
        assert.deepStrictEqual(Option.getOrUndefined(taken)?.run, expected)
        const fences = yield* store.heartbeat(runner, Scenes.hourMillis)
        assert.deepStrictEqual(fences, new Map([[run.id, expected.fence]]))
        assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9), [])
        yield* store.commit(Samples.step(expected, { status: "CANCELED", dueAt: null }))
        assert.deepStrictEqual(yield* store.heartbeat(runner, 0), new Map())
      }
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9), [])
    }),
  )

  it.effect("takes a run that was taken over while it was parked from an owner that is gone", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, never)
      const gone = samples.runner()
      yield* store.takeOver(samples.account, run.id, gone)
      const records = yield* Scenes.claim(samples.runner(), 9)
      assert.deepStrictEqual(
        records.map((record) => record.run.id),
        [run.id],
      )
    }),
  )
}

const requeues = (it: Tests): void => {
  it.effect("parks a due run again that is given back untouched", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, longAgo)
      const runner = samples.runner()
      yield* Scenes.claim(runner, 9)
      yield* store.requeue(runner, [run.id])
      assert.deepStrictEqual(yield* Scenes.runOf(run), { ...run, fence: run.fence + 2 })
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9, { runsPerAccount: 0 }), [])
      const records = yield* Scenes.claim(samples.runner(), 9)
      assert.deepStrictEqual(
        records.map((record) => record.run.id),
        [run.id],
      )
    }),
  )

  it.effect("queues a run that was parked before and has gone on since", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const run = yield* Scenes.parked(samples, longAgo)
      const runner = samples.runner()
      const [record] = yield* Scenes.claim(runner, 9)
      yield* store.commit(Samples.step(record!.run, { dueAt: null }))
      yield* store.requeue(runner, [run.id])
      const records = yield* Scenes.claim(samples.runner(), 9)
      assert.deepStrictEqual(
        records.map(({ run: { dueAt, id } }) => ({ dueAt, id })),
        [{ dueAt: null, id: run.id }],
      )
    }),
  )
}

/** Registers the tests of waiting nodes and parked runs. */
export const runParkingSuite = (it: Tests): void => {
  describe("RunStore.commit of a node that waited", () => {
    rewriting(it)
  })
  describe("RunStore.commit that parks", () => {
    parking(it)
  })
  describe("RunStore.claim of parked runs", () => {
    claiming(it)
    turns(it)
    races(it)
  })
  describe("RunStore.takeOver and requeue of parked runs", () => {
    hands(it)
    requeues(it)
  })
}
