/**
 * What every store must say of usage: sums of exactly the runs that were asked about.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { KeyId, WorkflowId } from "@millrace/core/domain/Id"
import { usageRows } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import { dayMillis, dayOf } from "@millrace/core/domain/Timestamp"
import { usageOf } from "@millrace/core/domain/Usage"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore | LedgerStore>

const today = dayOf(Samples.epoch)

const started = Effect.fnUntraced(function* (run: Run) {
  yield* RunStore.use((store) => store.commit(Samples.newRun(run)))
})

const ranking = (it: Tests): void => {
  it.effect("names what cost most, and of that only so much", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account } = samples
      const idOf = (n: number) => WorkflowId.make(`${account}-${String(n).padStart(3, "0")}`)
      for (let n = 0; n < usageRows + 3; n++) {
        const workflowId = idOf(n)
        const actualCredits = n < 3 ? n : 5
        yield* started(samples.run({ createdAt: today, workflowId, actualCredits }))
      }
      const { days, keys, workflows } = yield* LedgerStore.use((ledger) =>
        ledger.usage({ account, from: today, until: today + 1 }),
      )
      const named = Array.from({ length: usageRows }, (_, n) => idOf(n + 3))
      assert.deepStrictEqual(
        workflows.map(({ workflowId }) => workflowId),
        named,
      )
      assert.deepStrictEqual([days[0]?.runs, keys[0]?.runs], [usageRows + 3, usageRows + 3])
    }),
  )
}

const costs = (it: Tests): void => {
  it.effect("follows what a run costs with each commit, between any two moments", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [store, ledger] = [yield* RunStore, yield* LedgerStore]
      const hours = [0, 5, 23, 24, 30, 49]
      let runs = hours.map((hour) =>
        samples.run({ createdAt: today + hour * 3_600_000, estimatedCredits: 7 }),
      )
      for (const run of runs) yield* started(run)
      const times = [today, today + 5 * 3_600_000, today + dayMillis, today + dayMillis + 1]
      const changes = [
        { status: "RUNNING" },
        { actualCredits: 2 },
        { attempts: 3 },
        { actualCredits: 9 },
        { status: "COMPLETED", finishedAt: today, actualCredits: 11 },
      ] as const
      for (const change of changes) {
        runs = yield* Effect.forEach(runs, (run) => {
          const step = Samples.step(run, change)
          return Effect.as(store.commit(step), step.run)
        })
        for (const from of times) {
          for (const until of [...times, today + 3 * dayMillis]) {
            const query = { account: samples.account, from, until }
            assert.deepStrictEqual(yield* ledger.usage(query), usageOf(runs, query))
          }
        }
      }
    }),
  )
}

const ofWorkflows = (it: Tests): void => {
  it.effect("sums up the runs of some workflows, and says nothing of keys then", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { account } = samples
      const ids = ["a", "b", "c"].map((name) => WorkflowId.make(`${account}-${name}`))
      const runs = ids.flatMap((workflowId, n) =>
        [0, 1, 30].map((hour) =>
          samples.run({ createdAt: today + hour * 3_600_000, workflowId, actualCredits: n + 1 }),
        ),
      )
      for (const run of runs) yield* started(run)
      const ledger = yield* LedgerStore
      const workflows = ids.slice(1)
      for (const until of [today + dayMillis, today + dayMillis + 1, today + 2 * dayMillis]) {
        for (const from of [today, today + 3_600_000]) {
          const query = { account, from, until, workflows }
          const found = yield* ledger.usage(query)
          assert.deepStrictEqual(found, usageOf(runs, query))
          assert.deepStrictEqual(
            found.workflows.map(({ workflowId }) => workflowId),
            workflows.toReversed(),
          )
          assert.deepStrictEqual(found.keys, [])
        }
      }
      const none = { account, from: today, until: today + dayMillis, workflows: [] }
      assert.deepStrictEqual((yield* ledger.usage(none)).days, [])
    }),
  )
}

/** Registers the tests. */
export const usageSuite = (it: Tests): void => {
  describe("LedgerStore.usage", () => {
    ranking(it)
    costs(it)
    ofWorkflows(it)
    it.effect("sums up runs by the day of their creation, workflow and key", () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const { account } = samples
        const [a, b] = [WorkflowId.make(`${account}-a`), WorkflowId.make(`${account}-b`)]
        const key = KeyId.make(`${account}-key`)
        const make = (createdAt: number, workflowId: WorkflowId, more: Partial<Run>) =>
          started(samples.run({ createdAt, workflowId, estimatedCredits: 3, ...more }))
        yield* make(today, a, { workflowName: "Old", actualCredits: 5, keyId: key })
        yield* make(today + dayMillis - 1, b, { actualCredits: 9 })
        yield* make(today + dayMillis, a, { workflowName: "New", actualCredits: 6, keyId: key })
        yield* make(today - 1, a, { actualCredits: 1_000 })
        yield* make(today + 2 * dayMillis, a, { actualCredits: 1_000, workflowName: "Late" })
        yield* make(today, a, { accountId: samples.stranger, actualCredits: 1_000 })
        const usage = yield* LedgerStore.use((ledger) =>
          ledger.usage({ account, from: today, until: today + 2 * dayMillis }),
        )
        const sums = (runs: number, actualCredits: number) => ({
          runs,
          estimatedCredits: 3 * runs,
          actualCredits,
        })
        assert.deepStrictEqual(usage, {
          days: [
            { day: today, ...sums(2, 14) },
            { day: today + dayMillis, ...sums(1, 6) },
          ],
          workflows: [
            { workflowId: a, workflowName: "New", ...sums(2, 11) },
            { workflowId: b, workflowName: "A workflow", ...sums(1, 9) },
          ],
          keys: [
            { keyId: key, ...sums(2, 11) },
            { keyId: null, ...sums(1, 9) },
          ],
        })
      }),
    )

    it.effect("is empty where nothing ran", () =>
      Effect.gen(function* () {
        const { account } = yield* Samples.make
        const ledger = yield* LedgerStore
        const usage = yield* ledger.usage({ account, from: 0, until: today })
        assert.deepStrictEqual(usage, { days: [], workflows: [], keys: [] })
      }),
    )
  })
}
