// A process that cannot renew its lease: it goes on for a while, and stops before others take over.
import type { RunId } from "@millrace/core/domain/Id"
import { RunnerId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Runner } from "@millrace/core/engine/Runner"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, Gates, node, runnerOptions, shared, start } from "./TestEngine.ts"

const away = Effect.fail(new StorageError({ operation: "heartbeat", cause: new Error("away") }))

/** A process with a lease of thirty seconds, and a run in it, that may lose its store. */
const scene = Effect.gen(function* () {
  const gates = yield* Gates
  const store = yield* RunStore
  const state = { isAway: false }
  const beats: Array<RunnerId> = []
  const heartbeat: typeof store.heartbeat = (runner, ...given) => {
    beats.push(runner)
    return state.isAway ? away : store.heartbeat(runner, ...given)
  }
  const claim: typeof store.claim = (...given) => (state.isAway ? away : store.claim(...given))
  const server = yield* boot().pipe(Effect.provideService(RunStore, { ...store, claim, heartbeat }))
  const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
  yield* gates.untilArrived("n")
  return { beats, gates, id, runs: Context.get(server.context, Runs), server, state }
})

describe("a run that a process owns and does not execute", () => {
  it.effect("is given back if that is so for two seconds, not only for two heartbeats", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const first = yield* boot()
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(first.context))
      yield* store.takeOver(account, id, RunnerId.make("exe_dead"))
      yield* first.stop
      const given: Array<RunId> = []
      const claim: typeof store.claim = () => away
      const requeue: typeof store.requeue = (runner, ids) => {
        given.push(...ids)
        return store.requeue(runner, ids)
      }
      const server = yield* boot().pipe(
        Effect.provideService(RunStore, { ...store, claim, requeue }),
      )
      yield* store.takeOver(account, id, Context.get(server.context, Runner).id)
      yield* TestClock.adjust("2900 millis")
      assert.deepStrictEqual(given, [])
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual(given, [id])
      yield* server.stop
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, { ...runnerOptions, leaseMillis: 4_000 }),
    ),
  )
})

describe("a run that a process owns beside one that it executes", () => {
  it.effect("is given back after two seconds, too", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const first = yield* boot()
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(first.context))
      yield* store.takeOver(account, id, RunnerId.make("exe_dead"))
      yield* first.stop
      const given: Array<RunId> = []
      const requeue: typeof store.requeue = (runner, ids) => {
        given.push(...ids)
        return store.requeue(runner, ids)
      }
      const server = yield* boot().pipe(Effect.provideService(RunStore, { ...store, requeue }))
      yield* start([node("m", "gate")]).pipe(Effect.provideContext(server.context))
      yield* TestClock.adjust("1 second")
      yield* store.takeOver(account, id, Context.get(server.context, Runner).id)
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(given, [id])
      for (const each of ["n", "m"]) yield* gates.open(each)
      yield* TestClock.adjust("1 second")
      yield* server.stop
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, { ...runnerOptions, leaseMillis: 8_000 }),
    ),
  )
})

describe("Runner's lease", () => {
  it.effect("lets runs go on while it can be renewed again in time", () =>
    Effect.gen(function* () {
      const { gates, id, runs, server, state } = yield* scene
      state.isAway = true
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(gates.interrupted, [])
      state.isAway = false
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(gates.interrupted, [])
      yield* gates.open("n")
      assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is renewed again within a tenth of its time after a heartbeat that failed", () =>
    Effect.gen(function* () {
      const { beats, gates, id, runs, server, state } = yield* scene
      yield* TestClock.adjust("1 minute")
      state.isAway = true
      yield* TestClock.adjust("7500 millis")
      state.isAway = false
      const before = beats.length
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(beats.length, before + 1)
      yield* gates.open("n")
      yield* runs.wait(account, id)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("stops all runs once it was not renewed for two thirds of its time", () =>
    Effect.gen(function* () {
      const { gates, server, state } = yield* scene
      yield* TestClock.adjust("1 minute")
      state.isAway = true
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(gates.interrupted, [])
      yield* TestClock.adjust("13 seconds")
      assert.deepStrictEqual(gates.interrupted, ["n"])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})
