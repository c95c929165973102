/**
 * What every run store must say of the activity of workflows.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { dayMillis, dayOf } from "@millrace/core/domain/Timestamp"
import type { ActivityQuery } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const today = dayOf(Samples.epoch)

/** Stores runs of a workflow, one for each of these times and states. */
const stored = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  changes: ReadonlyArray<Partial<Run>>,
) {
  const store = yield* RunStore
  const runs = changes.map((change) => samples.run(change))
  for (const run of runs) yield* store.commit(Samples.newRun(run))
  return runs
})

const activity = (query: ActivityQuery) => RunStore.use((store) => store.activity(query))

const counts = (it: Tests): void => {
  it.effect("gives the last run of each workflow, and counts the runs since a day", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account, stranger } = samples
      const idOf = (n: number) => WorkflowId.make(`${account}-${n}`)
      const [a, b, c, d] = [idOf(1), idOf(2), idOf(3), idOf(4)]
      const runs = yield* stored(samples, [
        { workflowId: a, createdAt: today - 1, status: "FAILED", error: "too early" },
        { workflowId: a, createdAt: today, status: "FAILED", error: "\u0000" },
        { workflowId: a, createdAt: today + dayMillis, status: "FAILED" },
        { workflowId: a, createdAt: today + dayMillis + 2, status: "RUNNING" },
        { workflowId: a, createdAt: today + dayMillis + 1, status: "CANCELED" },
        { workflowId: b, createdAt: today - 2, status: "FAILED" },
        { workflowId: c, createdAt: today + 5, status: "FAILED" },
        { workflowId: d, createdAt: today, accountId: stranger },
      ])
      const query = { account, since: today, failuresRead: 100 }
      assert.deepStrictEqual(
        yield* activity({ ...query, workflowIds: [a, b, d, idOf(5), a] }),
        new Map([
          [a, { lastRun: runs[3]!, runs: 4, failed: 2 }],
          [b, { lastRun: runs[5]!, runs: 0, failed: 0 }],
        ]),
      )
      assert.deepStrictEqual(yield* activity({ ...query, workflowIds: [] }), new Map())
      const foreign = yield* activity({ ...query, account: stranger, workflowIds: [a, d] })
      assert.deepStrictEqual([...foreign.keys()], [d])
    }),
  )
}

const ends = (it: Tests): void => {
  it.effect("counts a run as failed once it has failed", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [run] = yield* stored(samples, [{ createdAt: today, status: "RUNNING" }])
      const { workflowId } = run!
      const query = {
        account: samples.account,
        workflowIds: [workflowId],
        since: today,
        failuresRead: 1,
      }
      const before = yield* activity(query)
      assert.deepStrictEqual(before.get(workflowId), { lastRun: run!, runs: 1, failed: 0 })
      const step = Samples.step(run!, { status: "FAILED", error: "no", finishedAt: today + 9 })
      yield* store.commit(step)
      const after = yield* activity(query)
      assert.deepStrictEqual(after.get(workflowId), { lastRun: step.run, runs: 1, failed: 1 })
    }),
  )
}

const bound = (it: Tests): void => {
  it.effect("counts failures among the newest of the account", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account } = samples
      const [a, b] = [WorkflowId.make(`${account}-a`), WorkflowId.make(`${account}-b`)]
      const times = [0, 1, 2, 3, 4, 5]
      const failures = times.map((n) => ({
        workflowId: n % 2 === 0 ? a : b,
        createdAt: today + n,
        status: "FAILED" as const,
      }))
      yield* stored(samples, failures)
      const failed = Effect.fnUntraced(function* (failuresRead: number) {
        const query = { account, workflowIds: [a, b], since: today, failuresRead }
        const found = yield* activity(query)
        return [found.get(a)?.failed, found.get(b)?.failed]
      })
      assert.deepStrictEqual(yield* failed(0), [0, 0])
      assert.deepStrictEqual(yield* failed(3), [1, 2])
      assert.deepStrictEqual(yield* failed(6), [3, 3])
    }),
  )
}

/** Registers the tests of `RunStore.activity`. */
export const runActivitySuite = (it: Tests): void => {
  describe("RunStore.activity", () => {
    counts(it)
    ends(it)
    bound(it)
  })
}
