// What a start stores, and what becomes of a run that is canceled or awaited at an odd moment.
import { AccountId, KeyId, RunId, RunnerId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { at as credits, fund, spends } from "./TestCredits.ts"
import { account, boot, byNode, engine, Gates, node, save, shared, start } from "./TestEngine.ts"

const at = Effect.provide(engine())
const stranger = AccountId.make("acc_stranger")

const found = (id: RunId) =>
  Effect.flatMap(
    RunStore.use((store) => store.find(account, id)),
    Effect.fromOption,
  )

describe("a start", () => {
  it.effect("stores what was asked for, and for the rest what is usual", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5_000)
      const runs = yield* Runs
      const workflow = yield* save([node("a", "pass"), node("b", "pass")])
      const usual = yield* runs.start(account, { workflowId: workflow.id })
      assert.deepInclude(usual, {
        accountId: account,
        workflowId: workflow.id,
        workflowName: "Test",
        workflowRevision: 1,
        definitionId: `${workflow.id}@1+n+e`,
        mode: "full",
        source: "api",
        singleNodeId: null,
        keyId: null,
        triggerId: null,
        values: {},
        inputOverrides: {},
        viewport: null,
        webhook: null,
        maxCredits: null,
        estimatedCredits: 0,
        createdAt: 5_000,
        startedAt: 5_000,
        revision: 1,
        fence: 1,
      })
      const asked = {
        values: { order: 7 },
        graphInputOverrides: { a: { input: 1 } },
        viewport: { zoom: 2 },
        source: "ui",
        singleNodeId: "a",
        maxCredits: 9,
        keyId: KeyId.make("key_1"),
      } as const
      const { graphInputOverrides: inputOverrides, ...same } = asked
      const run = yield* runs.start(account, { workflowId: workflow.id, ...asked })
      assert.deepInclude(run, { ...same, inputOverrides, mode: "single" })
      assert.deepStrictEqual((yield* found(run.id)).run.values, { order: 7 })
      assert.match(run.executionId, /^exe_/)
    }).pipe(at),
  )

  it.effect("may cost as much as it allows, and no more", () =>
    Effect.gen(function* () {
      const allowed = yield* start([spends("a", 3)], [], { maxCredits: 3_000_000 })
      assert.strictEqual(allowed.maxCredits, 3_000_000)
      const refused = yield* Effect.flip(start([spends("a", 3)], [], { maxCredits: 2_999_999 }))
      assert.strictEqual((refused as { _tag: string })._tag, "BeyondMaxCredits")
    }).pipe(credits),
  )

  it.effect("that was refused keeps no slot", () =>
    Effect.gen(function* () {
      yield* fund(1)
      yield* Effect.flip(start([spends("a", 3)]))
      const run = yield* start([node("g", "gate")])
      assert.strictEqual(run.status, "RUNNING")
      const queued = yield* start([node("h", "gate")])
      assert.strictEqual(queued.status, "QUEUED")
      assert.deepInclude(queued, { owner: null, fence: 0, startedAt: null, revision: 1 })
      yield* Effect.flatMap(Gates, (gates) => Effect.forEach(["g", "h"], gates.open))
      yield* TestClock.adjust("1 second")
    }).pipe(credits, Effect.provideService(CurrentLimits, { ...defaultLimits, runsAtOnce: 1 })),
  )

  it.effect(
    "can be tried before: its problems, its warnings and its price, and nothing is stored",
    () =>
      Effect.gen(function* () {
        const runs = yield* Runs
        const { id } = yield* save([node("sum", "add", { left: 1, right: 2 }), node("left", "add")])
        const good = yield* runs.validate(account, { workflowId: id })
        assert.deepInclude(good, { problems: [], estimatedCredits: 2_000_000 })
        assert.deepStrictEqual(
          good.warnings.map(({ nodeId }) => nodeId),
          ["left"],
        )
        const bad = { workflowId: id, graphInputOverrides: { sum: { left: "one" } } }
        const { estimatedCredits, problems } = yield* runs.validate(account, bad)
        assert.deepStrictEqual([estimatedCredits, problems.length], [null, 1])
        const single = yield* runs.estimate(account, { workflowId: id, singleNodeId: "left" })
        assert.match(single.problems[0]!.message, /cannot run alone/)
        assert.deepInclude(single, { estimatedCredits: 0, nodes: [] })
        const store = yield* RunStore
        assert.deepStrictEqual((yield* store.list({ account, limit: 5 })).items, [])
      }).pipe(at),
  )

  it.effect("cannot be tried of a workflow that the account does not have", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* save([node("a", "pass")])
      for (const tried of [
        Effect.asVoid(runs.validate(stranger, { workflowId: id })),
        Effect.asVoid(runs.estimate(stranger, { workflowId: id })),
        Effect.asVoid(runs.estimate(account, { workflowId: WorkflowId.make("wf_none") })),
      ]) {
        const error = yield* Effect.flip(tried)
        assert.match(error.message, /^Workflow wf_\w+ does not exist$/)
      }
    }).pipe(at),
  )
})

describe("a start whose store does something else meanwhile", () => {
  it.effect("is one of the workflow as it was read, though it has changed since", () =>
    Effect.gen(function* () {
      const store = yield* WorkflowStore
      const find: typeof store.find = (...of) =>
        Effect.tap(store.find(...of), (found) =>
          Option.match(found, {
            onNone: () => Effect.void,
            onSome: (stored) => store.replace({ ...stored, revision: 2 }, 1),
          }),
        )
      const server = yield* Effect.provideService(boot(), WorkflowStore, { ...store, find })
      const run = yield* start([node("a", "pass")]).pipe(Effect.provideContext(server.context))
      assert.strictEqual(run.workflowRevision, 1)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  /** A process whose first commit of a run goes otherwise, and a start in it with a key. */
  const onceWith = Effect.fnUntraced(function* (
    first: (commit: ReturnType<RunStore["Service"]["commit"]>) => typeof commit,
  ) {
    const store = yield* RunStore
    let count = 0
    const commit: typeof store.commit = (given) =>
      count++ === 0 ? first(store.commit(given)) : store.commit(given)
    const server = yield* Effect.provideService(boot(), RunStore, { ...store, commit })
    const runs = Context.get(server.context, Runs)
    const { id } = yield* save([node("a", "pass")]).pipe(Effect.provideContext(server.context))
    return runs.startOnce(account, { workflowId: id }, { key: "k", bodyHash: "same" })
  })

  it.effect("is made again where its key was taken by a run that nobody finds any more", () =>
    Effect.gen(function* () {
      const once = yield* onceWith(() => Effect.fail(new StaleRun({ runId: "run_gone" })))
      assert.isFalse((yield* once).isReplay)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("tells of a store that failed; with its key it is repeated, and starts one run", () =>
    Effect.gen(function* () {
      const lost = new StorageError({ operation: "commit", cause: new Error("lost") })
      const once = yield* onceWith((commit) => Effect.andThen(commit, Effect.fail(lost)))
      assert.strictEqual((yield* Effect.flip(once))._tag, "StorageError")
      assert.isTrue((yield* once).isReplay)
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.cancel", () => {
  it.effect("cancels a run although another process takes it at that very moment", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const other = RunnerId.make("exe_other")
      let races = 0
      const racing: typeof store.commit = (commit) =>
        commit.run.status === "CANCELED" && races++ === 0
          ? Effect.andThen(store.takeOver(account, commit.run.id, other), store.commit(commit))
          : store.commit(commit)
      const server = yield* Effect.provideService(boot(), RunStore, { ...store, commit: racing })
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      const canceled = yield* Context.get(server.context, Runs).cancel(account, id)
      assert.deepStrictEqual([canceled.status, races], ["CANCELED", 2])
      assert.strictEqual((yield* found(id)).run.status, "CANCELED")
      assert.deepStrictEqual(gates.interrupted, ["n"])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("says how a run has ended that cannot be canceled", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* start([node("a", "crash")])
      yield* runs.wait(account, id)
      const { message } = yield* Effect.flip(runs.cancel(account, id))
      assert.strictEqual(message, `Run ${id} has already ended: FAILED`)
    }).pipe(at),
  )
})

describe("Runs.wait", () => {
  it.effect("knows no foreign or unknown run, wherever it executes", () =>
    Effect.gen(function* () {
      const [gates, runs] = [yield* Gates, yield* Runs]
      const { id } = yield* start([node("g", "gate")])
      yield* gates.untilArrived("g")
      for (const refused of [runs.wait(stranger, id), runs.wait(account, RunId.make("run_none"))]) {
        assert.strictEqual((yield* Effect.flip(refused))._tag, "RunNotFound")
      }
      yield* gates.open("g")
      yield* TestClock.adjust(1)
    }).pipe(at),
  )

  it.effect("is handed a run that has ended here, and asks no store for it", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      let reads = 0
      const find: typeof store.find = (...of) =>
        Effect.suspend(() => {
          reads += 1
          return store.find(...of)
        })
      const server = yield* Effect.provideService(boot(), RunStore, { ...store, find })
      const { id } = yield* start([node("g", "gate")]).pipe(Effect.provideContext(server.context))
      const waiting = yield* Effect.forkChild(Context.get(server.context, Runs).wait(account, id))
      yield* gates.untilArrived("g")
      yield* gates.open("g")
      const record = yield* Fiber.join(waiting)
      assert.deepStrictEqual([record, reads], [yield* found(id), 0])
      // It has ended by now, and is remembered: for its own account.
      const { wait } = Context.get(server.context, Runs)
      assert.deepStrictEqual([yield* wait(account, id), reads], [record, 0])
      assert.strictEqual((yield* Effect.flip(wait(stranger, id)))._tag, "RunNotFound")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("hears of the end of a run elsewhere within a tenth of a second, and not before", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const [here, there] = [yield* boot(), yield* boot()]
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(there.context))
      yield* gates.untilArrived("n")
      const waiting = yield* Effect.forkChild(Context.get(here.context, Runs).wait(account, id))
      yield* TestClock.adjust("5 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* gates.open("n")
      yield* TestClock.adjust("100 millis")
      const record = yield* Fiber.join(waiting)
      assert.strictEqual(byNode(record)["n"]?.status, "COMPLETED")
      yield* here.stop
      yield* there.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("goes on waiting for a run that this process has parked, lost or given back", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const [here, there] = [yield* boot(), yield* boot()]
      const parked = yield* start([node("n", "nap", { millis: 6_000 })]).pipe(
        Effect.provideContext(here.context),
      )
      const lost = yield* start([node("g", "gate")]).pipe(Effect.provideContext(here.context))
      yield* gates.untilArrived("g")
      const runs = Context.get(here.context, Runs)
      const waiting = yield* Effect.forEach([parked, lost], ({ id }) =>
        Effect.forkChild(runs.wait(account, id)),
      )
      const other = RunnerId.make("exe_other")
      yield* store.takeOver(account, lost.id, other)
      yield* store.requeue(other, [lost.id])
      yield* TestClock.adjust("3 seconds")
      assert.isUndefined(waiting[0]!.pollUnsafe())
      assert.isUndefined(waiting[1]!.pollUnsafe())
      yield* gates.open("g")
      yield* TestClock.adjust("4 seconds")
      const records = yield* Effect.forEach(waiting, Fiber.join)
      assert.deepStrictEqual(
        records.map(({ run }) => [run.id, run.status]),
        [
          [parked.id, "COMPLETED"],
          [lost.id, "COMPLETED"],
        ],
      )
      yield* here.stop
      yield* there.stop
    }).pipe(Effect.provide(shared())),
  )
})
