// Waiting for the end of a run that executes nowhere, or in another process.
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, node, shared, start } from "./TestEngine.ts"

/** A process that counts how often it reads a run. */
const counting = Effect.gen(function* () {
  const store = yield* RunStore
  const counted = { reads: 0 }
  const find: typeof store.find = (...run) => {
    counted.reads += 1
    return store.find(...run)
  }
  const { context } = yield* Effect.provideService(boot(), RunStore, { ...store, find })
  return { context, counted, runs: Context.get(context, Runs) }
})

const sleeper = node("n", "nap", { millis: 60_123 })

describe("Runs.wait", () => {
  it.effect("reads a run that executes nowhere less often the longer it waits", () =>
    Effect.gen(function* () {
      const { context, counted, runs } = yield* counting
      const { id } = yield* Effect.provideContext(start([sleeper]), context)
      yield* TestClock.adjust("1 second")
      counted.reads = 0
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(counted.reads, 10)
      yield* TestClock.adjust("50 seconds")
      assert.isAtMost(counted.reads, 80)
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* Fiber.join(waiting)).run.status, "COMPLETED")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("reads 500 times a second at most, however many runs are waited for", () =>
    Effect.gen(function* () {
      const { context, counted, runs } = yield* counting
      const starts = Effect.replicateEffect(start([sleeper]), 300)
      const all = yield* Effect.provideContext(starts, context)
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(all, ({ id }) => Effect.forkChild(runs.wait(account, id)))
      yield* TestClock.adjust("1 second")
      counted.reads = 0
      yield* TestClock.adjust("4 seconds")
      assert.isAtMost(counted.reads, 2_000)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("notices at once that its own process ends the run", () =>
    Effect.gen(function* () {
      const { context, runs } = yield* counting
      const { id } = yield* Effect.provideContext(start([sleeper]), context)
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("20 seconds")
      yield* runs.cancel(account, id)
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(waiting)).run.status, "CANCELED")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("notices within a second that another process ends the run", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* counting, yield* counting]
      const { id } = yield* Effect.provideContext(start([sleeper]), one.context)
      const waiting = yield* Effect.forkChild(one.runs.wait(account, id))
      yield* TestClock.adjust("20 seconds")
      yield* other.runs.cancel(account, id)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting)).run.status, "CANCELED")
    }).pipe(Effect.provide(shared())),
  )
})
