// Runs that have lost owners, in the hands of an operator: listed, released, ended.
import { RunId, RunnerId } from "@millrace/core/domain/Id"
import { Quarantine } from "@millrace/core/engine/Quarantine"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, Gates, node, shared, start } from "./TestEngine.ts"

const dead = RunnerId.make("exe_dead")
const claimer = RunnerId.make("exe_claimer")

const at = Effect.provide(
  Layer.provideMerge(Quarantine.layer, Layer.merge(RunNotifier.layer, shared())),
)

/** A run with one loss: its owner died while its node was in progress, and another one has it. */
const suspect = Effect.gen(function* () {
  const [gates, store] = [yield* Gates, yield* RunStore]
  const server = yield* boot()
  const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
  yield* gates.untilArrived("n")
  yield* store.heartbeat(dead, 1_000)
  yield* store.takeOver(account, id, dead)
  yield* server.stop
  yield* TestClock.adjust("2 seconds")
  yield* store.claim({ runner: claimer, leaseMillis: 60_000, limit: 1 })
  return id
})

const stored = Effect.fnUntraced(function* (id: RunId) {
  return Option.getOrThrow(yield* RunStore.use((store) => store.find(account, id)))
})

describe("Quarantine", () => {
  it.effect("lists runs with losses, and who has them", () =>
    Effect.gen(function* () {
      const quarantine = yield* Quarantine
      assert.deepStrictEqual(yield* quarantine.list, [])
      const id = yield* suspect
      const [found, ...others] = yield* quarantine.list
      assert.deepStrictEqual([found?.record.run.id, found?.holder, others], [id, claimer, []])
    }).pipe(at),
  )

  it.effect("releases a run: its losses are forgotten, and it is in quarantine no more", () =>
    Effect.gen(function* () {
      const quarantine = yield* Quarantine
      const id = yield* suspect
      yield* quarantine.release(id)
      assert.deepStrictEqual((yield* stored(id)).run.losses, [])
      assert.deepStrictEqual(yield* quarantine.list, [])
      const again = yield* Effect.flip(quarantine.release(id))
      assert.strictEqual(again._tag, "NotInQuarantine")
    }).pipe(at),
  )

  it.effect("ends a run whoever has it, and says who ended it and why", () =>
    Effect.gen(function* () {
      const [quarantine, store] = [yield* Quarantine, yield* RunStore]
      const id = yield* suspect
      const before = yield* stored(id)
      const ended = yield* quarantine.end(id)
      const { run } = yield* stored(id)
      assert.deepStrictEqual(run.status, "FAILED")
      assert.strictEqual(
        run.error,
        'The run was ended by an operator: its process died once while node "n" was in progress',
      )
      assert.strictEqual(ended.error, run.error)
      // Who had it writes nothing more.
      const { fence, revision } = before.run
      const late = store.commit({
        expected: { _tag: "Existing", fence, revision },
        run: { ...before.run, revision: revision + 1 },
        nodeRuns: [],
        rewritten: [],
        events: [],
        deliveries: [],
      })
      assert.strictEqual((yield* Effect.flip(late))._tag, "StaleRun")
      const again = yield* Effect.flip(quarantine.end(id))
      assert.strictEqual(again._tag, "NotInQuarantine")
    }).pipe(at),
  )

  it.effect("knows no run that has lost nobody", () =>
    Effect.gen(function* () {
      const quarantine = yield* Quarantine
      yield* suspect
      const unknown = RunId.make("run_unknown")
      for (const operation of [
        Effect.asVoid(quarantine.end(unknown)),
        quarantine.release(unknown),
      ]) {
        const error = yield* Effect.flip(operation)
        assert.include(error.message, "Run run_unknown is not in quarantine")
      }
    }).pipe(at),
  )

  it.effect("ends a run although another process takes it at that very moment", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const id = yield* suspect
      let commits = 0
      const racing = RunStore.of({
        ...store,
        commit: (commit) =>
          Effect.suspend(() => {
            commits += 1
            const first = commits === 1 ? store.takeOver(account, id, claimer) : Effect.void
            return Effect.andThen(Effect.orDie(first), store.commit(commit))
          }),
      })
      const quarantine = yield* Effect.provide(Quarantine, Layer.fresh(Quarantine.layer)).pipe(
        Effect.provideService(RunStore, racing),
      )
      assert.strictEqual((yield* quarantine.end(id)).status, "FAILED")
      assert.strictEqual(commits, 2)
      assert.strictEqual((yield* stored(id)).run.status, "FAILED")
    }).pipe(at),
  )

  it.effect("leaves a run alone that has ended at that very moment", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const id = yield* suspect
      const other = yield* Quarantine
      const owners: Array<string> = []
      const racing = RunStore.of({
        ...store,
        takeOver: (...given) =>
          Effect.gen(function* () {
            owners.push(given[2])
            yield* Effect.orDie(other.end(id))
            return yield* store.takeOver(...given)
          }),
      })
      const quarantine = yield* Effect.provide(Quarantine, Layer.fresh(Quarantine.layer)).pipe(
        Effect.provideService(RunStore, racing),
      )
      const { revision } = (yield* stored(id)).run
      assert.strictEqual((yield* Effect.flip(quarantine.end(id)))._tag, "NotInQuarantine")
      assert.strictEqual(owners.length, 1)
      assert.match(owners[0]!, /^exe_/)
      assert.strictEqual((yield* stored(id)).run.revision, revision + 1)
    }).pipe(at),
  )

  it.effect("looks again where the run is gone at that very moment", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const id = yield* suspect
      let takes = 0
      const racing = RunStore.of({
        ...store,
        takeOver: (...given) =>
          Effect.suspend(() => (takes++ === 0 ? Effect.succeedNone : store.takeOver(...given))),
      })
      const quarantine = yield* Effect.provide(Quarantine, Layer.fresh(Quarantine.layer)).pipe(
        Effect.provideService(RunStore, racing),
      )
      assert.strictEqual((yield* quarantine.end(id)).status, "FAILED")
    }).pipe(at),
  )

  it.effect("tells of a store that fails, and ends nothing", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const id = yield* suspect
      const away = new StorageError({ operation: "suspects", cause: new Error("away") })
      const quarantine = yield* Effect.provide(Quarantine, Layer.fresh(Quarantine.layer)).pipe(
        Effect.provideService(RunStore, { ...store, suspects: () => Effect.fail(away) }),
      )
      assert.strictEqual((yield* Effect.flip(quarantine.end(id)))._tag, "StorageError")
      assert.strictEqual((yield* stored(id)).run.status, "RUNNING")
    }).pipe(at),
  )
})
