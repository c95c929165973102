/**
 * What every store must do with a new run that is only for a workflow as it is stored: it is made
 * while the account has the workflow at the run's revision, and leaves nothing behind otherwise.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { Run } from "@millrace/core/domain/Run"
import type { Workflow } from "@millrace/core/domain/Workflow"
import { auditAccount } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Services = WorkflowStore | RunStore | LedgerStore
type Tests = Vitest.MethodsNonLive<Services>

/** What a start brings along beside that its workflow has to be current. */
interface Extra {
  readonly key?: string
  readonly amount?: number
  readonly isCurrent?: boolean
}

const newRun = (run: Run, { amount = 0, isCurrent = true, key }: Extra) => {
  const idempotencyKey = key === undefined ? undefined : { key, bodyHash: "hash" }
  return Samples.newRun(
    { ...run, estimatedCredits: amount },
    {
      expected: { _tag: "New", definition: Samples.definitionFor(run), idempotencyKey, isCurrent },
      nodeRuns: [Samples.nodeRun("a")],
      events: [Samples.event(run, 1)],
      credits: amount === 0 ? [] : [Ledger.reserve(amount, run.createdAt)],
    },
  )
}

const start = (run: Run, extra: Extra = {}) =>
  RunStore.use((store) =>
    store.commit(newRun(run, extra)).pipe(
      Effect.as("applied" as const),
      Effect.catchTag(["StaleRun", "InsufficientCredits"], ({ _tag }) => Effect.succeed(_tag)),
    ),
  )

/** A run of this workflow as it is given. */
const of = ({ accountId, id, revision }: Workflow): Partial<Run> => ({
  accountId,
  workflowId: id,
  workflowRevision: revision,
})

const changed = (workflow: Workflow): Workflow => ({ ...workflow, revision: workflow.revision + 1 })

const saved = Effect.fnUntraced(function* (workflow: Workflow) {
  yield* WorkflowStore.use((store) => store.insert(workflow))
  return workflow
})

/** A workflow as it was before it was changed, and as it is. */
const outdated = Effect.fnUntraced(function* (samples: Samples.Samples) {
  const store = yield* WorkflowStore
  const before = yield* saved(samples.workflow())
  const now = changed(before)
  assert.strictEqual(yield* store.replace(now, before.revision), "replaced")
  return { before, now }
})

const assertAbsent = Effect.fnUntraced(function* (run: Run) {
  const store = yield* RunStore
  assert.isTrue(Option.isNone(yield* store.find(run.accountId, run.id)))
  assert.deepStrictEqual(yield* store.events(run.accountId, run.id, 0), [])
})

const fund = Effect.fnUntraced(function* (accountId: Run["accountId"], amount: number) {
  const ledger = yield* LedgerStore
  const operation = { accountId, actor: "ada", reason: "because" }
  yield* ledger.meter({ ...operation, id: "m" }, true)
  yield* ledger.grant({ ...operation, id: "g", amount, priority: 0, expiresAt: null })
})

const reserved = Effect.fnUntraced(function* (account: Run["accountId"]) {
  assert.deepStrictEqual(yield* auditAccount(account), [])
  return (yield* LedgerStore.use((ledger) => ledger.find(account))).account.reserved
})

const alone = (it: Tests): void => {
  it.effect("makes a run of the workflow that is stored, as often as it is asked to", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const workflow = yield* saved(samples.workflow({ revision: 7 }))
      const store = yield* RunStore
      for (let n = 0; n < 3; n++) {
        const run = samples.run(of(workflow))
        assert.strictEqual(yield* start(run), "applied")
        const record = Option.getOrThrow(yield* store.find(run.accountId, run.id))
        assert.strictEqual(record.run.workflowRevision, 7)
        assert.strictEqual(record.nodeRuns.length, 1)
      }
    }),
  )

  it.effect("makes none of a workflow that was changed, or that is not so far yet", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      for (const other of [before, changed(now)]) {
        const run = samples.run(of(other))
        assert.strictEqual(yield* start(run), "StaleRun")
        yield* assertAbsent(run)
      }
      assert.strictEqual(yield* start(samples.run(of(now))), "applied")
    }),
  )

  it.effect("makes none of a workflow that was deleted, or that never was", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = yield* saved(samples.workflow())
      yield* store.remove(workflow.accountId, workflow.id)
      for (const absent of [workflow, samples.workflow()]) {
        const run = samples.run(of(absent))
        assert.strictEqual(yield* start(run), "StaleRun")
        yield* assertAbsent(run)
      }
    }),
  )

  it.effect("makes none of another account's workflow", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const workflow = yield* saved(samples.workflow())
      const run = samples.run({ ...of(workflow), accountId: samples.stranger })
      assert.strictEqual(yield* start(run), "StaleRun")
      yield* assertAbsent(run)
    }),
  )

  it.effect("does not look at the workflow of a run that does not ask for it", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before } = yield* outdated(samples)
      assert.strictEqual(yield* start(samples.run(of(before)), { isCurrent: false }), "applied")
      assert.strictEqual(yield* start(samples.run(), { isCurrent: false }), "applied")
    }),
  )
}

/** Publishes a workflow as this version. */
const published = (workflow: Workflow, number: number) =>
  WorkflowStore.use((store) =>
    store.publish({
      account: workflow.accountId,
      id: workflow.id,
      expectedRevision: workflow.revision,
      number,
      note: null,
      publishedAt: 1,
      mostVersions: 9,
    }),
  )

const versions = (it: Tests): void => {
  it.effect("makes a run of the published version, whatever the draft has become", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const draft = yield* saved(samples.workflow())
      assert.strictEqual(yield* published(draft, 1), "published")
      const ofVersion = (workflowVersion: number | null) =>
        samples.run({ ...of(draft), workflowVersion })
      assert.strictEqual(yield* start(ofVersion(1)), "applied")
      for (const other of [null, 2]) {
        const run = ofVersion(other)
        assert.strictEqual(yield* start(run), "StaleRun")
        yield* assertAbsent(run)
      }
      const next = changed(draft)
      yield* store.replace(next, draft.revision)
      assert.strictEqual(yield* start(ofVersion(1)), "applied")
      assert.strictEqual(yield* start(samples.run(of(next))), "StaleRun")
      yield* published(next, 2)
      const outcomes = yield* Effect.forEach([1, 2, null], (each) => start(ofVersion(each)), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(outcomes, ["StaleRun", "applied", "StaleRun"])
      const strange = samples.run({ ...of(draft), workflowVersion: 2, accountId: samples.stranger })
      assert.strictEqual(yield* start(strange), "StaleRun")
      yield* store.unpublish(draft.accountId, draft.id)
      assert.strictEqual(yield* start(ofVersion(2)), "StaleRun")
      assert.strictEqual(yield* start(samples.run(of(next))), "applied")
    }),
  )

  it.effect("says of a run which version it was started from", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run({ workflowVersion: 7 })
      assert.strictEqual(yield* start(run, { isCurrent: false }), "applied")
      const record = Option.getOrThrow(yield* store.find(run.accountId, run.id))
      assert.strictEqual(record.run.workflowVersion, 7)
    }),
  )
}

const together = (it: Tests): void => {
  it.effect("answers each of many newRuns for itself", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      const other = yield* saved(samples.workflow())
      const newRuns = Array.from({ length: 120 }, (_, n) => {
        const workflow = [now, before, other, before, now][n % 5]!
        return { run: samples.run(of(workflow)), isCurrent: n % 5 !== 3 }
      })
      const outcomes = yield* Effect.forEach(
        newRuns,
        ({ isCurrent, run }) => start(run, { isCurrent }),
        { concurrency: "unbounded" },
      )
      for (const [n, { run }] of newRuns.entries()) {
        assert.strictEqual(outcomes[n], n % 5 === 1 ? "StaleRun" : "applied")
        if (n % 5 === 1) yield* assertAbsent(run)
      }
    }),
  )

  it.effect("goes by what is stored, while it is changed again and again", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      let workflow = yield* saved(samples.workflow())
      for (let round = 0; round < 10; round++) {
        const next = changed(workflow)
        yield* store.replace(next, workflow.revision)
        const outcomes = yield* Effect.forEach(
          [workflow, next, next, workflow],
          (each) => start(samples.run(of(each))),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(outcomes, ["StaleRun", "applied", "applied", "StaleRun"])
        workflow = next
      }
    }),
  )
}

const names = (it: Tests): void => {
  it.effect("takes no name for a workflow that is not current", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      const runs = yield* RunStore
      assert.strictEqual(yield* start(samples.run(of(before)), { key: "k" }), "StaleRun")
      assert.isTrue(Option.isNone(yield* runs.findStart(samples.account, "k")))
      const run = samples.run(of(now))
      assert.strictEqual(yield* start(run, { key: "k" }), "applied")
      assert.strictEqual(yield* start(samples.run(of(now)), { key: "k" }), "StaleRun")
      const known = Option.getOrThrow(yield* runs.findStart(samples.account, "k"))
      assert.strictEqual(known.runId, run.id)
    }),
  )

  it.effect("gives a name to one that is current, whoever else asks for it at once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      const rivals = Array.from({ length: 90 }, (_, n) => ({
        run: samples.run(of(n % 3 === 0 ? before : now)),
        extra: { key: `k${Math.floor(n / 6)}`, isCurrent: n % 3 !== 2 },
      }))
      const outcomes = yield* Effect.forEach(rivals, ({ extra, run }) => start(run, extra), {
        concurrency: "unbounded",
      })
      for (let k = 0; k < 15; k++) {
        const own = rivals.filter(({ extra }) => extra.key === `k${k}`)
        const won = own.filter((rival) => outcomes[rivals.indexOf(rival)] === "applied")
        assert.strictEqual(won.length, 1)
        assert.strictEqual(won[0]!.run.workflowRevision, now.revision)
        const known = yield* RunStore.use((store) => store.findStart(samples.account, `k${k}`))
        assert.strictEqual(Option.getOrThrow(known).runId, won[0]!.run.id)
      }
    }),
  )
}

const credits = (it: Tests): void => {
  it.effect("sets nothing aside for a workflow that is not current", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      // Before the account was ever seen, where there is enough, and where there is not.
      assert.strictEqual(yield* start(samples.run(of(before)), { amount: 5 }), "StaleRun")
      yield* fund(samples.account, 10)
      assert.strictEqual(yield* start(samples.run(of(before)), { amount: 5 }), "StaleRun")
      assert.strictEqual(yield* start(samples.run(of(before)), { amount: 11 }), "StaleRun")
      assert.strictEqual(yield* reserved(samples.account), 0)
      assert.strictEqual(yield* start(samples.run(of(now)), { amount: 11 }), "InsufficientCredits")
      assert.strictEqual(yield* start(samples.run(of(now)), { amount: 10 }), "applied")
      assert.strictEqual(yield* reserved(samples.account), 10)
    }),
  )

  it.effect("refuses nobody for what a new run that is not current does not take", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      yield* fund(samples.account, 100)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n),
        (n) => start(samples.run(of(n % 4 === 3 ? now : before)), { amount: 10 }),
        { concurrency: "unbounded" },
      )
      const expected = outcomes.map((_, n) => (n % 4 === 3 ? "applied" : "StaleRun"))
      assert.deepStrictEqual(outcomes, expected)
      assert.strictEqual(yield* reserved(samples.account), 100)
    }),
  )

  it.effect("takes a name and credits for one that is current, or neither", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const { before, now } = yield* outdated(samples)
      yield* fund(samples.account, 40)
      const asks = [
        [before, "new"],
        [now, "new"],
        [now, "new"],
        [before, "gone"],
        [now, undefined],
        [before, undefined],
        [now, "other"],
      ] as const
      const outcomes = yield* Effect.forEach(
        asks,
        ([workflow, key]) =>
          start(samples.run(of(workflow)), { amount: 10, ...(key === undefined ? {} : { key }) }),
        { concurrency: "unbounded" },
      )
      const [first, second, third, ...rest] = outcomes
      assert.strictEqual(first, "StaleRun")
      assert.sameMembers([second, third], ["StaleRun", "applied"])
      assert.deepStrictEqual(rest, ["StaleRun", "applied", "StaleRun", "applied"])
      const gone = yield* RunStore.use((store) => store.findStart(samples.account, "gone"))
      assert.isTrue(Option.isNone(gone))
      assert.strictEqual(yield* reserved(samples.account), 30)
    }),
  )
}

/** Registers the tests. */
export const currentWorkflowSuite = (it: Tests, hasLedger: boolean): void => {
  describe("RunStore.commit for a current workflow", () => {
    alone(it)
    versions(it)
    together(it)
    names(it)
    if (hasLedger) credits(it)
  })
}
