// A process that cannot renew its lease: it goes on for a while, and stops before others take over.
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, Gates, node, shared, start } from "./TestEngine.ts"

const away = Effect.fail(new StorageError({ operation: "heartbeat", cause: new Error("away") }))

/** A process with a lease of thirty seconds, and a run in it, that may lose its store. */
const scene = Effect.gen(function* () {
  const gates = yield* Gates
  const store = yield* RunStore
  const state = { isAway: false }
  const heartbeat: typeof store.heartbeat = (...given) =>
    state.isAway ? away : store.heartbeat(...given)
  const claim: typeof store.claim = (...given) => (state.isAway ? away : store.claim(...given))
  const server = yield* boot().pipe(Effect.provideService(RunStore, { ...store, claim, heartbeat }))
  const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
  yield* gates.untilArrived("n")
  return { gates, id, runs: Context.get(server.context, Runs), server, state }
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
