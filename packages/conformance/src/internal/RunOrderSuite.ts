/**
 * What every run store must do about order: priorities among the waiting runs of an account, and
 * runs that start later than they were accepted.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { priorityMillis } from "@millrace/core/domain/Limits"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Scenes from "../RunScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const idsOf = (records: ReadonlyArray<RunRecord>) => records.map(({ run }) => run.id)

/** A queued run that was created so many steps of priority after the epoch. */
const queued = (samples: Samples.Samples, steps: number, priority: number, change?: Partial<Run>) =>
  Scenes.started(
    samples.run({ createdAt: Samples.epoch + steps * priorityMillis, priority, ...change }),
  )

const priorities = (it: Tests): void => {
  it.effect("takes a run as if it had waited a minute longer for each step of its priority", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const usual = yield* queued(samples, 5, 0)
      const late = yield* queued(samples, 16, 10)
      const urgent = yield* queued(samples, 14, 10)
      const slow = yield* queued(samples, 0, -10)
      const expected = [urgent, usual, late, slow].map(({ id }) => id)
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(samples.runner(), 9)), expected)
    }),
  )

  it.effect("takes runs in this order one by one, and under caps", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const runs = [yield* queued(samples, 0, -3), yield* queued(samples, 0, 7)]
      runs.unshift(yield* queued(samples, 1, 9))
      const runner = samples.runner()
      const one = yield* Scenes.claim(runner, 1, { runsPerAccount: 9, runsPerWorkflow: 9 })
      const rest = [yield* Scenes.claim(runner, 1), yield* Scenes.claim(runner, 1)]
      const expected = [runs[0]!, runs[2]!, runs[1]!].map(({ id }) => id)
      assert.deepStrictEqual([one, ...rest].flatMap(idsOf), expected)
    }),
  )

  it.effect("never lets a priority take the turn of another account", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const of = (name: string) => ({ accountId: AccountId.make(`${samples.account}_${name}`) })
      const urgent = [
        yield* queued(samples, 0, 10, of("b")),
        yield* queued(samples, 1, 10, of("b")),
      ]
      const quiet = yield* queued(samples, 9, -10, of("a"))
      const expected = [quiet, ...urgent].map(({ id }) => id)
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(samples.runner(), 9)), expected)
    }),
  )

  it.effect("keeps the priority of a run that is parked, due, or given back", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const due = yield* Scenes.parked(samples, Scenes.longAgo, { priority: -1 })
      const earlier = Scenes.longAgo + priorityMillis
      const urgent = yield* Scenes.parked(samples, earlier - 1, { priority: 1 })
      const runner = samples.runner()
      const expected = [urgent.id, due.id]
      assert.deepStrictEqual(idsOf(yield* Scenes.claim(runner, 2)), expected)
      yield* store.requeue(runner, expected)
      const createdLater = yield* queued(samples, 0, 0)
      const again = idsOf(yield* Scenes.claim(samples.runner(), 9))
      assert.sameMembers(again, [...expected, createdLater.id])
      assert.isBelow(again.indexOf(urgent.id), again.indexOf(due.id))
      assert.strictEqual((yield* Scenes.runOf(urgent)).priority, 1)
    }),
  )
}

const laterStarts = (it: Tests): void => {
  it.effect("leaves a run that is to start later until then, whatever it is sent", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const startAt = Scenes.never
      const run = yield* Scenes.started(samples.run({ startAt, dueAt: startAt }))
      const sent = yield* store.send(run.accountId, run.id, {
        id: "m",
        name: "hello",
        payload: null,
      })
      assert.strictEqual(sent._tag, "Sent")
      assert.deepStrictEqual(yield* Scenes.claim(samples.runner(), 9), [])
      assert.deepInclude(yield* Scenes.runOf(run), { status: "QUEUED", dueAt: startAt, startAt })
    }),
  )

  it.effect("hands out a run that is due to start, at the place of that time", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const later = { startAt: Scenes.longAgo, dueAt: Scenes.longAgo }
      const old = yield* queued(samples, -30_000_000, 0)
      const due = yield* Scenes.started(samples.run(later))
      const young = yield* queued(samples, 0, 0)
      const runner = samples.runner()
      const records = yield* Scenes.claim(runner, 9)
      assert.deepStrictEqual(idsOf(records), [old.id, due.id, young.id])
      assert.deepInclude(records[1]!.run, { ...later, status: "QUEUED", owner: runner })
    }),
  )

  it.effect("lets a run that is to start later be canceled before", () =>
    Effect.gen(function* () {
      const samples = yield* Scenes.quiet
      const store = yield* RunStore
      const later = { startAt: Scenes.never, dueAt: Scenes.never }
      const run = yield* Scenes.started(samples.run(later))
      const runner = samples.runner()
      const taken = yield* store.takeOver(run.accountId, run.id, runner)
      const mine = Option.getOrThrow(taken).run
      assert.deepInclude(mine, { owner: runner, dueAt: null, startAt: Scenes.never })
      const end = { status: "CANCELED", finishedAt: Samples.epoch } as const
      yield* store.commit(Samples.step(mine, end))
      assert.strictEqual((yield* Scenes.runOf(run)).status, "CANCELED")
    }),
  )
}

/** Registers the tests of order. */
export const runOrderSuite = (it: Tests): void => {
  describe("RunStore.claim with priorities", () => {
    priorities(it)
  })
  describe("RunStore.claim of runs that start later", () => {
    laterStarts(it)
  })
}
