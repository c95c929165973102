/**
 * Triggers that follow the runs of another workflow: what is accepted of them, and what becomes of
 * one end.
 *
 * Leaves out: which ends wait, and what crashes do; `Schedules.test.ts` has that.
 */
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { RunEndChange } from "@millrace/core/engine/RunEndTriggers"
import { RunEndTriggers } from "@millrace/core/engine/RunEndTriggers"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { Triggers } from "@millrace/core/engine/Triggers"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits, runsInSequence } from "@millrace/core/domain/Limits"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { account, digest, node, save, shared, types } from "./TestEngine.ts"

/** The shared store, which refuses commits of runs as long as `isLost`. */
const trouble = { isLost: false }
const lost = new StorageError({ operation: "RunStore.commit", cause: new Error("lost") })
const commits = Layer.effect(
  RunStore,
  Effect.map(RunStore, (runs) => ({
    ...runs,
    commit: (commit) =>
      Effect.suspend(() => (trouble.isLost ? Effect.fail(lost) : runs.commit(commit))),
  })),
)

const services = Layer.merge(Triggers.layer, RunEndTriggers.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Workflows.layer, Runs.layer)),
  Layer.provide(withoutWebhooks()),
  Layer.provideMerge(Runner.layer),
  Layer.provide([GraphCache.layer, LargeValues.layer, digest]),
  Layer.provide(NodeTypes.layer(...types)),
  Layer.provideMerge(commits),
  Layer.provideMerge(shared()),
)

/** Two workflows, of which the second follows the first. */
const scene = Effect.gen(function* () {
  const [first, second] = [yield* save([node("a", "pass")]), yield* save([node("b", "pass")])]
  const triggers = yield* RunEndTriggers
  const trigger = yield* triggers.create(account, second.id, { watch: first.id })
  return { first, second, trigger, triggers }
})

/** A run of a workflow that has ended, and whose end this process has claimed for each trigger. */
const ended = Effect.fnUntraced(function* (workflowId: WorkflowId, depth = 0) {
  const runs = yield* Runs
  const id = RunId.make(`run_ended-${depth}`)
  const after = depth === 0 ? undefined : { runId: RunId.make("run_before"), depth }
  yield* runs.startAs(account, { workflowId, values: { order: 7 }, after }, { runId: id })
  yield* TestClock.adjust("1 seconds")
  yield* (yield* TriggerStore).claimDue({ limit: 100, leaseMillis: 3_600_000 })
  return Option.getOrThrow(yield* (yield* RunStore).find(account, id)).run
})

const endOf = (trigger: RunEndTrigger | null, runId: RunId) => ({
  triggerId: trigger?.id ?? TriggerId.make("trg_gone"),
  runId,
  fence: 1,
  trigger,
})

/** The runs that follow others. */
const followers = Effect.gen(function* () {
  const { items } = yield* (yield* RunStore).list({ account, limit: 100 })
  return items.filter(({ source }) => source === "run_end")
})

const messageOf = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("RunEndTriggers", () => {
  it.effect("refuse to watch nothing, the own workflow, and one that is not there", () =>
    Effect.gen(function* () {
      const { first, second, triggers } = yield* scene
      const create = (watch?: WorkflowId) =>
        messageOf(triggers.create(account, second.id, { watch }))
      assert.strictEqual(yield* create(), "watch: expected the id of a workflow")
      assert.match(yield* create(second.id), /^watch: expected another workflow; a run cannot/)
      const none = WorkflowId.make("wf_none")
      assert.strictEqual(yield* create(none), "watch: workflow wf_none does not exist")
      const gone = triggers.create(account, none, { watch: first.id })
      assert.strictEqual((yield* Effect.flip(gone))._tag, "WorkflowNotFound")
      assert.lengthOf(yield* (yield* TriggerStore).list(account, second.id), 1)
    }).pipe(Effect.provide(services)),
  )

  it.effect(
    "follow what has completed, unless something else is said; each status counts once",
    () =>
      Effect.gen(function* () {
        const { first, trigger, triggers } = yield* scene
        assert.deepInclude(trigger, { on: ["COMPLETED"], into: null, values: {}, enabled: true })
        const wish = { into: { id: "runId" }, values: { a: 1 } }
        yield* TestClock.adjust("5 seconds")
        const changed = yield* triggers.update(trigger, { ...wish, on: ["FAILED", "FAILED"] })
        const set = { ...wish, on: ["FAILED" as const], watch: first.id }
        assert.deepInclude(changed, { ...set, enabled: true, createdAt: trigger.createdAt })
        assert.strictEqual(changed.updatedAt, trigger.createdAt + 5_000)
        const cleared = yield* triggers.update(trigger, { into: null, enabled: false })
        assert.deepInclude(cleared, { ...set, into: null, enabled: false })
        const stored = Option.getOrThrow(yield* (yield* TriggerStore).find(trigger))
        assert.deepInclude(stored, { ...set, into: null, enabled: false })
      }).pipe(Effect.provide(services)),
  )

  it.effect("are not what an unknown trigger is, nor a schedule", () =>
    Effect.gen(function* () {
      const { second, trigger, triggers } = yield* scene
      const schedule = yield* (yield* Triggers).create(account, second.id, { everySeconds: 60 })
      for (const key of [schedule, { ...trigger, id: TriggerId.make("trg_none") }]) {
        const refused = yield* Effect.flip(triggers.update(key, { enabled: false }))
        assert.strictEqual(refused._tag, "TriggerNotFound")
      }
    }).pipe(Effect.provide(services)),
  )

  it.effect("start one run for an end, however often it is claimed", () =>
    Effect.gen(function* () {
      const { first, second, trigger, triggers } = yield* scene
      const changed = yield* triggers.update(trigger, { into: { by: "runId", at: "status" } })
      const run = yield* ended(first.id, 3)
      const done = yield* triggers.start(endOf(changed, run.id))
      assert.deepStrictEqual(yield* triggers.start(endOf(changed, run.id)), done)
      const [follower, ...others] = yield* followers
      assert.lengthOf(others, 0)
      const facts = { missed: 0 as const, lastAt: run.finishedAt, lastRunId: follower!.id }
      assert.deepStrictEqual(done, { triggerId: trigger.id, runId: run.id, fence: 1, ...facts })
      const { after, triggerId, values, workflowId } = follower!
      assert.deepStrictEqual(values, { by: run.id, at: "COMPLETED" })
      assert.deepStrictEqual(after, { runId: run.id, depth: 4 })
      assert.deepStrictEqual([triggerId, workflowId], [trigger.id, second.id])
    }).pipe(Effect.provide(services)),
  )

  it.effect("take the version that they name, and name none that there is not", () =>
    Effect.gen(function* () {
      const { first, second, trigger, triggers } = yield* scene
      const { publish } = yield* WorkflowStore
      const head = { account, id: second.id, expectedRevision: 1, number: 1, note: null }
      yield* publish({ ...head, publishedAt: 0, mostVersions: 10 })
      yield* (yield* Workflows).update(account, second.id, { nodes: [node("c", "pass")] })
      const unknown = yield* Effect.flip(triggers.update(trigger, { version: 9 }))
      assert.deepInclude(unknown, { _tag: "VersionNotFound", number: 9 })
      const takes: Array<number | null> = []
      for (const [depth, version] of [null, "draft", 1, undefined].entries()) {
        const changed = yield* triggers.update(trigger, { version } as RunEndChange)
        assert.strictEqual(changed.version, version === undefined ? 1 : version)
        const run = yield* ended(first.id, depth)
        yield* triggers.start(endOf(changed, run.id))
        const follower = (yield* followers).find(({ after }) => after?.runId === run.id)
        takes.push(follower!.workflowVersion)
      }
      assert.deepStrictEqual(takes, [1, null, 1, 1])
    }).pipe(Effect.provide(services)),
  )

  it.effect("start nothing for an end that somebody else has claimed since", () =>
    Effect.gen(function* () {
      const { first, trigger, triggers } = yield* scene
      const run = yield* ended(first.id)
      const end = endOf(trigger, run.id)
      assert.isUndefined(yield* triggers.start({ ...end, fence: 0 }))
      assert.lengthOf(yield* followers, 0)
      assert.strictEqual((yield* triggers.start(end))?.missed, 0)
      assert.lengthOf(yield* followers, 1)
    }).pipe(Effect.provide(services)),
  )

  it.effect("start nothing once they are switched off or gone, and miss nothing by that", () =>
    Effect.gen(function* () {
      const { first, trigger, triggers } = yield* scene
      const run = yield* ended(first.id)
      for (const now of [null, { ...trigger, enabled: false }]) {
        assert.strictEqual((yield* triggers.start(endOf(now, run.id)))?.missed, 0)
      }
      assert.lengthOf(yield* followers, 0)
    }).pipe(Effect.provide(services)),
  )

  it.effect("start nothing for an end in a pause, and miss one that was left before it", () =>
    Effect.gen(function* () {
      const { first, trigger, triggers } = yield* scene
      const run = yield* ended(first.id)
      const at = run.finishedAt!
      const start = (since: number, until: number | null) =>
        triggers.start(endOf(trigger, run.id), { accountId: account, since, until })
      const why = "All triggers were paused before it was started"
      assert.deepInclude(yield* start(at + 1, null), {
        missed: 1,
        lastMissedAt: at,
        lastError: why,
      })
      for (const until of [null, at, at + 1]) {
        const done = yield* start(at, until)
        assert.deepInclude(done, { missed: 0 })
        assert.notProperty(done, "lastAt")
      }
      assert.lengthOf(yield* followers, 0)
      assert.deepInclude(yield* start(at - 2, at - 1), { missed: 0, lastAt: at })
      // Whoever claims it a second time does not know that it has its run.
      assert.deepInclude(yield* start(at - 2, null), { missed: 0, lastAt: at })
      assert.lengthOf(yield* followers, 1)
    }).pipe(Effect.provide(services)),
  )

  it.effect("let ten runs follow each other, and say why no more do", () =>
    Effect.gen(function* () {
      const { first, trigger, triggers } = yield* scene
      const chain = "10 runs have followed each other's ends before it"
      const [last, over] = [yield* ended(first.id, 9), yield* ended(first.id, runsInSequence)]
      assert.strictEqual((yield* triggers.start(endOf(trigger, last.id)))?.missed, 0)
      assert.deepInclude(yield* triggers.start(endOf(trigger, over.id)), {
        missed: 1,
        lastMissedAt: over.finishedAt!,
        lastError: `Nothing follows run ${over.id}: ${chain}`,
      })
      assert.deepStrictEqual(
        (yield* followers).map(({ after }) => after?.depth),
        [runsInSequence],
      )
    }).pipe(Effect.provide(services)),
  )

  it.effect("say which run is gone, and why a start was refused", () =>
    Effect.gen(function* () {
      const { first, triggers } = yield* scene
      const broken = yield* save([node("b", "nothing")])
      const trigger = yield* triggers.create(account, broken.id, { watch: first.id })
      const run = yield* ended(first.id)
      const refused = yield* triggers.start(endOf(trigger, run.id))
      assert.deepInclude(refused, { missed: 1, lastMissedAt: run.finishedAt! })
      assert.match(refused?.lastError ?? "", /nothing/)
      const gone = yield* triggers.start(endOf(trigger, RunId.make("run_gone")))
      assert.strictEqual(gone?.lastError, "Run run_gone does not exist any more")
      assert.lengthOf(yield* followers, 0)
    }).pipe(Effect.provide(services)),
  )

  it.effect("fill fields that have the names of facts, unless places are said", () =>
    Effect.gen(function* () {
      const { first, triggers } = yield* scene
      const fields = [
        { name: "runId", type: "string" },
        { name: "other", type: "string" },
      ]
      const { id } = yield* save([node("r", "request", { fields })])
      const trigger = yield* triggers.create(account, id, { watch: first.id })
      const into = { other: "runId" }
      const placed = yield* triggers.create(account, id, { watch: first.id, into })
      const run = yield* ended(first.id)
      yield* triggers.start(endOf(trigger, run.id))
      yield* triggers.start(endOf(placed, run.id))
      const all = (yield* followers).map(({ triggerId, values }) => [triggerId, values] as const)
      const expected = [
        [trigger.id, { runId: run.id }],
        [placed.id, { other: run.id }],
      ] as const
      assert.deepStrictEqual(new Map(all), new Map<TriggerId | null, object>(expected))
    }).pipe(Effect.provide(services)),
  )

  it.effect("start nothing after a run with more than a start may bring", () =>
    Effect.gen(function* () {
      const { first, trigger, triggers } = yield* scene
      const run = yield* ended(first.id)
      const done = yield* Effect.provideService(
        triggers.start(endOf(trigger, run.id)),
        CurrentLimits,
        { ...defaultLimits, bodyBytes: 1 },
      )
      const said = `The output of run ${run.id} is larger than what a run may be started with`
      assert.strictEqual(done?.lastError, said)
      assert.lengthOf(yield* followers, 0)
    }).pipe(Effect.provide(services)),
  )

  it.effect("leave an end to the next claim if the store fails", () =>
    Effect.gen(function* () {
      const { first, trigger, triggers } = yield* scene
      const run = yield* ended(first.id)
      trouble.isLost = true
      const failed = yield* Effect.forkChild(triggers.start(endOf(trigger, run.id)))
      yield* TestClock.adjust("5 minutes")
      trouble.isLost = false
      assert.isUndefined(yield* Fiber.join(failed))
      assert.strictEqual((yield* triggers.start(endOf(trigger, run.id)))?.missed, 0)
      assert.lengthOf(yield* followers, 1)
    }).pipe(Effect.provide(services)),
  )
})
