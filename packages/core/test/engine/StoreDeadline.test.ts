/**
 * How long a runner waits for a store that does not answer.
 */
import { it } from "@effect/vitest"
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import { limitedRuns, orFirst } from "@millrace/core/engine/StoreDeadline"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Stores from "@millrace/memory/Stores"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { assert, describe } from "vitest"

type Call = Effect.Effect<unknown, StorageError>

describe("StoreDeadline.limitedRuns", () => {
  const runner = "exe_test" as RunnerId

  it.effect("fails every call of a runner in time, each by its name", () =>
    Effect.gen(function* () {
      const silence = () => Effect.uninterruptible(Effect.never)
      const store = yield* RunStore
      const names = ["heartbeat", "claim", "requeue", "cappedAccounts", "find", "endLease"] as const
      const away = Object.fromEntries(names.map((name) => [name, silence]))
      const silent = limitedRuns({ ...store, ...away })
      const calls = [
        silent.heartbeat(runner, 1_200),
        silent.claim({ runner, leaseMillis: 1_000, limit: 1 }),
        silent.requeue(runner, []),
        silent.cappedAccounts(1),
        silent.find("acc_1" as AccountId, "run_1" as RunId),
        silent.endLease(runner),
      ]
      const millis = [500, 10_000, 10_000, 10_000, 10_000, 10_000]
      for (const [index, call] of calls.entries()) {
        const fiber = yield* Effect.forkChild(Effect.flip(Effect.asVoid(call as Call)))
        yield* TestClock.adjust(millis[index]! - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        const { cause, operation } = yield* Fiber.join(fiber)
        assert.strictEqual(operation, `RunStore.${names[index]!}`)
        assert.strictEqual(
          (cause as Error).message,
          `no answer within ${Math.round(millis[index]!)} ms`,
        )
      }
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("hands on what a store is asked, and what it answers", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const limited = limitedRuns(store)
      const blocked = { run: "run_1" as RunId, millis: 2_000 }
      assert.deepStrictEqual(yield* limited.heartbeat(runner, 60_000, blocked), new Map())
      assert.deepStrictEqual(yield* limited.cappedAccounts(1), new Set())
      const found = yield* limited.find("acc_1" as AccountId, "run_1" as RunId)
      assert.isTrue(Option.isNone(found))
      yield* limited.requeue(runner, [])
      yield* limited.endLease(runner, blocked)
      assert.strictEqual(limited.commit, store.commit)
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("sends a heartbeat once more where the event loop was blocked meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const machine = yield* Clock.Clock
      let asked = 0
      let blockedMillis = 0
      const monotonicTimeNanos = Effect.map(
        machine.monotonicTimeNanos,
        (nanos) => nanos + BigInt(blockedMillis) * 1_000_000n,
      )
      const clock = Object.assign({}, machine, { monotonicTimeNanos })
      const slow = limitedRuns({
        ...store,
        heartbeat: () =>
          Effect.suspend(() => (asked++ % 2 === 0 ? Effect.never : Effect.succeed(new Map()))),
      })
      const beat = (lateMillis: number) =>
        Effect.gen(function* () {
          blockedMillis = 0
          asked = 0
          const beating = Effect.result(slow.heartbeat(runner, 6_000))
          const fiber = yield* Effect.forkChild(Effect.provideService(beating, Clock.Clock, clock))
          yield* TestClock.adjust(999)
          blockedMillis = lateMillis
          yield* TestClock.adjust(1)
          return [(yield* Fiber.join(fiber))._tag, asked]
        })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* beat(250), ["Failure", 1])
      assert.deepStrictEqual(yield* beat(251), ["Success", 2])
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
