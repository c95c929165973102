/**
 * How long a runner waits for a store that does not answer.
 */
import { it } from "@effect/vitest"
import type { RunnerId } from "@millrace/core/domain/Id"
import { limitedRuns, orFirst } from "@millrace/core/engine/StoreDeadline"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"

describe("StoreDeadline.limitedRuns", () => {
  const runner = "exe_test" as RunnerId

  it.effect("fails what a runner asks of a store that is silent", () =>
    Effect.gen(function* () {
      const silence = Effect.uninterruptible(Effect.never)
      const store = yield* RunStore
      const silent = limitedRuns({ ...store, heartbeat: () => silence, claim: () => silence })
      const asked = [
        [Effect.asVoid(silent.heartbeat(runner, 30_000)), 5_000],
        [Effect.asVoid(silent.claim({ runner, leaseMillis: 30_000, limit: 1 })), 10_000],
      ] as const
      for (const [ask, limit] of asked) {
        const fiber = yield* Effect.forkChild(Effect.flip(ask))
        yield* TestClock.adjust(limit - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "StorageError")
      }
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("changes nothing about a store that answers", () =>
    Effect.gen(function* () {
      const runs = limitedRuns(yield* RunStore)
      assert.deepStrictEqual(yield* runs.heartbeat(runner, 1_000), new Map())
      assert.deepStrictEqual(yield* runs.claim({ runner, leaseMillis: 1_000, limit: 1 }), [])
    }).pipe(Effect.provide(Stores.layer)),
  )
})

describe("StoreDeadline.orFirst", () => {
  const silence = Effect.uninterruptible(Effect.never)

  it.effect("gives the outcome that comes first", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* orFirst(Effect.never)(Effect.succeed("mine")), "mine")
      assert.strictEqual(yield* Effect.flip(orFirst(Effect.never)(Effect.fail("mine"))), "mine")
      assert.strictEqual(yield* orFirst(Effect.succeed("other"))(silence), "other")
    }),
  )

  it.effect("interrupts what comes later, without waiting for it", () =>
    Effect.gen(function* () {
      let wasInterrupted = false
      const later = Effect.onInterrupt(Effect.never, () =>
        Effect.andThen(
          Effect.sync(() => (wasInterrupted = true)),
          Effect.never,
        ),
      )
      assert.strictEqual(yield* orFirst(Effect.succeed("other"))(later), "other")
      yield* Effect.yieldNow
      assert.isTrue(wasInterrupted)
    }),
  )

  it.effect("is interrupted together with its effect", () =>
    Effect.gen(function* () {
      let wasInterrupted = false
      const mine = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => (wasInterrupted = true)),
      )
      const fiber = yield* Effect.forkChild(orFirst(Effect.never)(mine), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* Effect.yieldNow
      assert.isTrue(wasInterrupted)
    }),
  )
})
