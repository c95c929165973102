// Many followers of runs in one process.
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Samples from "@millrace/conformance/Samples"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as RunFollowers from "../src/internal/RunFollowers.ts"

const services = Layer.merge(Memory.layer, RunNotifier.layer)

describe("RunFollowers", () => {
  it.effect("ask the store at most twenty times a second, however many they are", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const account = AccountId.make(samples.account)
      const runs = Array.from({ length: 1_000 }, () => samples.run({ sequence: 1 }))
      for (const run of runs) yield* store.commit(Samples.newRun(run))
      let reads = 0
      const counting = RunStore.of({
        ...store,
        eventsOfMany: (requests) =>
          Effect.suspend(() => {
            reads += 1
            return store.eventsOfMany(requests)
          }),
      })
      const notifier = yield* RunNotifier
      const followers = yield* Effect.provideService(RunFollowers.make, RunStore, counting)
      const waiting = yield* Effect.forEach(runs, ({ id }) =>
        Effect.flatMap(followers.follow(account, id, 1), (next) => Effect.forkChild(next)),
      )
      yield* TestClock.adjust("5 seconds")
      assert.isAtMost(reads, 100)
      const before = reads
      for (const run of runs) {
        const events = [Samples.event(run, 2)]
        yield* store.commit(Samples.step(run, { sequence: 2 }, { events }))
        notifier.tell(run.id)
      }
      yield* TestClock.adjust(60)
      for (const [index, fiber] of waiting.entries()) {
        const news = yield* Fiber.join(fiber)
        assert.deepStrictEqual(news, [Samples.event(runs[index]!, 2)])
      }
      assert.isAtMost(reads - before, 3)
    }).pipe(Effect.scoped, Effect.provide(services)),
  )

  it.effect("hear once more from where each of them is, though they follow the same run", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run({ sequence: 2 })
      const all = [Samples.event(run, 1), Samples.event(run, 2)]
      yield* store.commit(Samples.newRun(run, { events: all }))
      const followers = yield* RunFollowers.make
      const nexts = yield* Effect.forEach([0, 1], (after) =>
        followers.follow(run.accountId, run.id, after),
      )
      const heard = yield* Effect.all(nexts, { concurrency: 2 })
      assert.deepStrictEqual(heard, [all, all.slice(1)])
    }).pipe(Effect.scoped, Effect.provide(services)),
  )
})
