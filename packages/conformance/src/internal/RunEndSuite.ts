/**
 * How every store must keep the ends of runs that triggers follow: with the commit that ends the
 * run, for exactly those triggers, each for one claimer.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { RunId, TriggerId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import { neverStarted } from "@millrace/core/domain/TriggerFacts"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { ClaimedEnd } from "@millrace/core/ports/TriggerStore"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<TriggerStore | WorkflowStore | RunStore>

const hour = 3_600_000

/** A claimed end as `pairOf` has it. */
const claimedPair = ({ runId, triggerId }: ClaimedEnd) => `${triggerId} ${runId}`

/** A workflow, another one whose runs triggers of the first follow, and what ends its runs. */
const scene = Effect.gen(function* () {
  const samples = yield* Samples.make
  const store = yield* TriggerStore
  const workflows = yield* WorkflowStore
  const runs = yield* RunStore
  const [workflow, watched] = [samples.workflow(), samples.workflow()]
  for (const each of [workflow, watched]) yield* workflows.insert(each)
  let count = 0
  const trigger = (fields: Partial<RunEndTrigger> = {}): RunEndTrigger => ({
    ...neverStarted,
    id: TriggerId.make(`trg_${samples.account}_end_${String((count += 1)).padStart(4, "0")}`),
    accountId: samples.account,
    workflowId: workflow.id,
    type: "run_end",
    watch: watched.id,
    on: ["COMPLETED"],
    into: { order: "output.order" },
    values: { text: "a\u0000b" },
    version: null,
    webhook: Samples.webhook,
    enabled: true,
    createdAt: 5 + count,
    updatedAt: 6,
    ...fields,
  })
  const made = Effect.fnUntraced(function* (fields?: Partial<RunEndTrigger>) {
    const one = trigger(fields)
    assert.isTrue(yield* store.insert(one))
    return one
  })
  const begun = Effect.fnUntraced(function* (fields?: Partial<Run>) {
    const run = samples.run({
      status: "RUNNING",
      owner: samples.runner(),
      fence: 1,
      workflowId: watched.id,
      ...fields,
    })
    yield* runs.commit(Samples.newRun(run))
    return run
  })
  const endOf = (run: Run, status: Run["status"] = "COMPLETED"): RunCommit =>
    Samples.step(run, { status, finishedAt: Samples.epoch + 99 })
  const ended = Effect.fnUntraced(function* (fields?: Partial<Run>, status?: Run["status"]) {
    const run = yield* begun(fields)
    yield* runs.commit(endOf(run, status))
    return run
  })
  /** Claims the ends of this test, with what the store has of others. */
  const claim = (leaseMillis = hour) =>
    Effect.map(store.claimDue({ limit: 1_000, leaseMillis }), ({ ends }) =>
      ends.filter(({ triggerId }) => triggerId.includes(samples.account)),
    )
  const pairs = Effect.map(claim(), (ends) => ends.map(claimedPair).toSorted())
  return {
    samples,
    store,
    workflows,
    runs,
    workflow,
    watched,
    trigger,
    made,
    begun,
    endOf,
    ended,
    claim,
    pairs,
  }
})

const pairOf = (trigger: RunEndTrigger, run: Run) => `${trigger.id} ${run.id}`

const together = (it: Tests): void => {
  it.effect("has the ends of many runs that end at once, for the triggers that follow each", () =>
    Effect.gen(function* () {
      const { begun, endOf, made, pairs, runs, workflow } = yield* scene
      const [one, two] = [yield* made(), yield* made({ on: ["FAILED"] })]
      const all = yield* Effect.forEach(
        Array.from({ length: 60 }, (_, n) => n),
        (n) => begun(n % 3 === 0 ? { workflowId: workflow.id } : {}),
      )
      const commits = all.map((run, n) => endOf(run, n % 2 === 0 ? "COMPLETED" : "FAILED"))
      yield* Effect.forEach(commits, (commit) => runs.commit(commit), { concurrency: "unbounded" })
      const expected = all.flatMap((run, n) => {
        if (n % 3 === 0) return []
        return [pairOf(n % 2 === 0 ? one : two, run)]
      })
      assert.deepStrictEqual(yield* pairs, expected.toSorted())
    }),
  )
}

const written = (it: Tests): void => {
  it.effect("has the end of a run for every trigger that follows it, with the commit", () =>
    Effect.gen(function* () {
      const { begun, claim, endOf, made, pairs, runs } = yield* scene
      const [one, two] = [yield* made(), yield* made({ on: ["FAILED", "CANCELED", "COMPLETED"] })]
      yield* made({ on: ["FAILED"] })
      const run = yield* begun()
      yield* runs.commit(Samples.step(run, { sequence: 1 }))
      assert.deepStrictEqual(yield* claim(0), [])
      const stepped = { ...run, sequence: 1, revision: run.revision + 1 }
      // Of an owner that lost the run.
      const stale = Samples.step({ ...stepped, fence: 0 }, { status: "COMPLETED", finishedAt: 9 })
      assert.strictEqual((yield* Effect.result(runs.commit(stale)))._tag, "Failure")
      assert.deepStrictEqual(yield* claim(0), [])
      yield* runs.commit(endOf(stepped))
      assert.deepStrictEqual(yield* pairs, [pairOf(one, run), pairOf(two, run)])
      assert.deepStrictEqual(yield* pairs, [])
    }),
  )

  it.effect("has the end of a run that ends with its first commit", () =>
    Effect.gen(function* () {
      const { made, pairs, runs, samples, watched } = yield* scene
      const one = yield* made({ on: ["FAILED"] })
      const failed = { status: "FAILED" as const, finishedAt: Samples.epoch + 9 }
      const run = samples.run({ ...failed, workflowId: watched.id })
      yield* runs.commit(Samples.newRun(run))
      assert.deepStrictEqual(yield* pairs, [pairOf(one, run)])
    }),
  )

  it.effect("has the end of a run that has ended when the commit of another run starts it", () =>
    Effect.gen(function* () {
      const { begun, made, pairs, runs, samples, watched } = yield* scene
      const one = yield* made()
      const ended = { status: "COMPLETED" as const, finishedAt: Samples.epoch + 9 }
      const run = samples.run({ ...ended, workflowId: watched.id })
      const starts = [{ run, definition: Samples.definitionFor(run) }]
      yield* runs.commit(Samples.step(yield* begun(), {}, { starts }))
      assert.deepStrictEqual(yield* pairs, [pairOf(one, run)])
    }),
  )

  it.effect("has no end of a child, of a single node, of another workflow or account", () =>
    Effect.gen(function* () {
      const { ended, made, pairs, samples, workflow } = yield* scene
      yield* made()
      const runId = RunId.make("run_above")
      const parent = { runId, nodeId: "a", index: 0, rootRunId: runId, depth: 1 }
      yield* ended({ parent })
      yield* ended({ mode: "single", singleNodeId: "a" })
      yield* ended({ workflowId: workflow.id })
      yield* ended({ accountId: samples.stranger })
      assert.deepStrictEqual(yield* pairs, [])
    }),
  )
}

const switched = (it: Tests): void => {
  it.effect("has no end from before a trigger was there, or was switched on", () =>
    Effect.gen(function* () {
      const { ended, made, pairs, store } = yield* scene
      yield* ended()
      const one = yield* made()
      const off = yield* made({ enabled: false })
      const run = yield* ended()
      assert.isTrue(yield* store.replace({ ...off, enabled: true }))
      const again = yield* ended()
      assert.deepStrictEqual(
        yield* pairs,
        [pairOf(one, run), pairOf(one, again), pairOf(off, again)].toSorted(),
      )
    }),
  )

  it.effect("forgets what waits for a trigger that is switched off or removed", () =>
    Effect.gen(function* () {
      const { ended, made, pairs, store } = yield* scene
      const [one, two] = [yield* made(), yield* made()]
      yield* ended()
      assert.isTrue(yield* store.replace({ ...one, enabled: false }))
      assert.isTrue(yield* store.replace({ ...one, fence: 1 }))
      assert.isTrue(yield* store.remove(two))
      assert.deepStrictEqual(yield* pairs, [])
    }),
  )

  it.effect("keeps what waits for a trigger that a foreign key would remove", () =>
    Effect.gen(function* () {
      const { ended, made, pairs, store, watched } = yield* scene
      const trigger = yield* made()
      const run = yield* ended()
      const { accountId, id } = trigger
      assert.isFalse(yield* store.remove({ accountId, id, workflowId: watched.id }))
      assert.deepStrictEqual(yield* pairs, [pairOf(trigger, run)])
    }),
  )

  it.effect("follows another workflow once its owner says so", () =>
    Effect.gen(function* () {
      const { ended, made, pairs, samples, store, workflows } = yield* scene
      const one = yield* made()
      const other = samples.workflow()
      yield* workflows.insert(other)
      assert.isTrue(yield* store.replace({ ...one, watch: other.id, on: ["CANCELED"] }))
      yield* ended({}, "CANCELED")
      const run = yield* ended({ workflowId: other.id }, "CANCELED")
      assert.deepStrictEqual(yield* pairs, [pairOf(one, run)])
    }),
  )
}

const kept = (it: Tests): void => {
  it.effect("gives a trigger back as it was stored, and none for a foreign workflow", () =>
    Effect.gen(function* () {
      const { made, samples, store, trigger, workflow, workflows } = yield* scene
      const [one, two] = [yield* made({ into: null, lastError: "a\u0000" }), yield* made()]
      assert.deepStrictEqual(yield* store.find(two), Option.some(two))
      assert.deepStrictEqual(yield* store.list(samples.account, workflow.id), [one, two])
      const foreign = samples.workflow({ accountId: samples.stranger })
      yield* workflows.insert(foreign)
      assert.isFalse(yield* store.insert(trigger({ watch: foreign.id })))
      assert.lengthOf(yield* store.list(samples.account, workflow.id), 2)
    }),
  )

  it.effect("loses a trigger with the workflow that it watches", () =>
    Effect.gen(function* () {
      const { claim, ended, made, samples, store, watched, workflows } = yield* scene
      const one = yield* made()
      yield* ended()
      yield* workflows.remove(samples.account, watched.id)
      assert.deepStrictEqual(yield* store.find(one), Option.none())
      for (const { trigger } of yield* claim()) assert.isNull(trigger)
      yield* ended()
      assert.deepStrictEqual(yield* claim(), [])
    }),
  )
}

const claimed = (it: Tests): void => {
  it.effect("gives an end to one claimer at a time, with its trigger", () =>
    Effect.gen(function* () {
      const { claim, ended, made } = yield* scene
      const one = yield* made()
      yield* Effect.forEach([1, 2, 3], () => ended())
      const all = yield* Effect.all([claim(), claim(), claim()], { concurrency: 3 })
      assert.lengthOf(all.flat(), 3)
      for (const { fence, trigger } of all.flat()) {
        assert.strictEqual(fence, 1)
        assert.deepStrictEqual(trigger, one)
      }
    }),
  )

  it.effect("finishes an end once, and notes on its trigger what became of it", () =>
    Effect.gen(function* () {
      const { claim, ended, made, store } = yield* scene
      const one = yield* made()
      yield* Effect.forEach([1, 2], () => ended())
      const before = yield* claim(0)
      assert.lengthOf(before, 2)
      const [first, second] = yield* claim(0)
      const lastRunId = RunId.make("run_after")
      const of = ({ fence, runId, triggerId }: typeof first & {}) => ({ fence, runId, triggerId })
      // Of a claim whose lease ran out.
      yield* store.finish([{ ...of(before[0]!), missed: 1, lastError: "late" }])
      const finished = [
        { ...of(first!), missed: 0 as const, lastAt: 7, lastRunId },
        { ...of(second!), missed: 1 as const, lastMissedAt: 8, lastError: "why\u0000" },
      ]
      yield* store.finish(finished)
      yield* store.finish(finished)
      const facts = { lastAt: 7, lastRunId, missed: 1, lastMissedAt: 8, lastError: "why\u0000" }
      const stored = { ...one, ...facts }
      assert.deepStrictEqual(yield* store.find(one), Option.some(stored))
      assert.deepStrictEqual(yield* claim(), [])
      // The fence is that of its owner's changes, who meanwhile read the trigger.
      assert.isTrue(yield* store.replace({ ...one, values: {} }))
      const changed = { ...stored, values: {}, fence: 1 }
      assert.deepStrictEqual(yield* store.find(one), Option.some(changed))
    }),
  )

  it.effect("says when an end may be claimed again, and claims no more than asked", () =>
    Effect.gen(function* () {
      const { claim, ended, made, store } = yield* scene
      yield* made()
      yield* ended()
      yield* ended()
      const { ends, now } = yield* store.claimDue({ limit: 1, leaseMillis: 30_000 })
      assert.lengthOf(ends, 1)
      const rest = yield* store.claimDue({ limit: 0, leaseMillis: hour })
      assert.deepStrictEqual(rest.ends, [])
      assert.isAtMost(rest.nextDueAt!, now + 30_000)
      assert.isAbove(rest.nextDueAt!, rest.now)
      yield* claim()
    }),
  )
}

const fences = (it: Tests): void => {
  it.effect("stores a run that follows an end only with the fence of its last claim", () =>
    Effect.gen(function* () {
      const { claim, ended, made, runs, samples, store, workflow } = yield* scene
      const one = yield* made()
      const other = yield* made()
      const run = yield* ended()
      /** Starts runs that follow the end at once, one with each fence. */
      const start = (given: ReadonlyArray<number>, triggerId = one.id, runId = run.id) =>
        Effect.forEach(
          given,
          (claimFence) => {
            const after = { runId, depth: 1 }
            const from = { triggerId, after, workflowId: workflow.id, source: "run_end" as const }
            const next = samples.run(from)
            const definition = Samples.definitionFor(next)
            const expected = { _tag: "New" as const, definition, isCurrent: false, claimFence }
            return Effect.result(runs.commit(Samples.newRun(next, { expected })))
          },
          { concurrency: "unbounded" },
        ).pipe(Effect.map((all) => all.map(({ _tag }) => _tag === "Success")))
      const claimedFences = (yield* claim(0)).map(({ fence }) => fence)
      assert.deepStrictEqual(claimedFences, [1, 1])
      assert.deepStrictEqual(yield* start([0, 1, 2, one.fence]), [false, true, false, false])
      yield* claim()
      assert.deepStrictEqual(yield* start([1, 2]), [false, true])
      assert.deepStrictEqual(yield* start([2], one.id, RunId.make("run_none")), [false])
      yield* store.finish([{ triggerId: one.id, runId: run.id, fence: 2, missed: 0 }])
      assert.deepStrictEqual(yield* start([2]), [false])
      assert.deepStrictEqual(yield* start([2], other.id), [true])
      yield* store.remove(other)
      assert.deepStrictEqual(yield* start([2], other.id), [false])
    }),
  )
}

/** Registers the tests. */
export const runEndSuite = (it: Tests): void => {
  describe("TriggerStore, of triggers that follow runs", () => {
    kept(it)
    claimed(it)
    fences(it)
  })
  describe("RunStore.commit, of a run that triggers follow", () => {
    written(it)
    together(it)
    switched(it)
  })
}
