import { assert, describe, it } from "@effect/vitest"
import { IsDraining } from "@millrace/http/Health"
import { problemOfClock, StoreClock } from "@millrace/core/engine/StoreClock"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Harness, services } from "./Harness.ts"

/** The interface over a store of workflows that never answers. */
const overSilence = Harness.layerNoDeps.pipe(
  Layer.provideMerge(
    Layer.effect(
      WorkflowStore,
      Effect.map(WorkflowStore, (store) =>
        WorkflowStore.of({ ...store, find: () => Effect.uninterruptible(Effect.never) }),
      ),
    ),
  ),
  Layer.provideMerge(services),
)

/** The interface on a machine whose clock is two minutes behind the store's. */
const behind = Harness.layerNoDeps.pipe(
  Layer.provideMerge(
    Layer.effect(
      StoreClock,
      Effect.map(StoreClock, (clock) => StoreClock.of({ ...clock, aheadMillis: () => -120_000 })),
    ),
  ),
  Layer.provideMerge(services),
)

describe("Health.layer", () => {
  it.effect("says that the machine's clock is off, by how much and what to do; it can work", () =>
    Effect.gen(function* () {
      const { send } = yield* Harness
      const { body, status } = yield* send("GET", "/readyz")
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(body, { status: "ok", warnings: [problemOfClock(-120_000)] })
      assert.match(body.warnings[0], /is 120\.0 s behind the database's.*set it right/)
    }).pipe(Effect.provide(behind)),
  )

  it.effect("says within a second that the store does not answer", () =>
    Effect.gen(function* () {
      const { send } = yield* Harness
      const asked = yield* Effect.forkChild(send("GET", "/readyz"), { startImmediately: true })
      // The handler runs in the web's own time; once it sleeps, the clock goes on, once.
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Effect.repeat(turn, { times: 50 })
      assert.isUndefined(asked.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { body, status } = yield* Fiber.join(asked)
      assert.strictEqual(status, 503)
      assert.deepStrictEqual(body, { error: "The store is unavailable; try again" })
      assert.strictEqual((yield* send("GET", "/healthz")).status, 200)
    }).pipe(Effect.provide(overSilence)),
  )

  it.effect("says that it is about to stop, and lives until then", () => {
    let isDraining = false
    return Effect.gen(function* () {
      const { send } = yield* Harness
      assert.strictEqual((yield* send("GET", "/readyz")).status, 200)
      isDraining = true
      const { body, headers, status } = yield* send("GET", "/readyz")
      assert.strictEqual(status, 503)
      assert.deepStrictEqual(body, { error: "The server is shutting down; try again" })
      assert.strictEqual(headers.get("x-error-code"), "shutting_down")
      assert.strictEqual((yield* send("GET", "/healthz")).status, 200)
    }).pipe(
      Effect.provide(
        Layer.provide(
          Harness.layer,
          Layer.succeed(IsDraining, () => isDraining),
        ),
      ),
    )
  })
})
