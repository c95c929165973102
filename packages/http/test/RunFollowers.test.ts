// Many followers of runs in one process.
import { assert, describe, it } from "@effect/vitest"
import { WorkflowId } from "@millrace/core/domain/Id"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { NodeProgress } from "../src/internal/NodeProgress.ts"
import * as RunFollowers from "../src/internal/RunFollowers.ts"
import { Harness } from "./Harness.ts"
import { create, endless } from "./Samples.ts"

/** Runs that never end by themselves, with their account. */
const begin = Effect.fnUntraced(function* (count: number) {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  const workflowId = WorkflowId.make(yield* create(owner, endless))
  const runs = yield* Runs
  const start = runs.start(owner.accountId, { workflowId })
  const started = yield* Effect.forEach(Array.from({ length: count }), () => start)
  return { account: owner.accountId, ids: started.map(({ id }) => id) }
})

const typeOf = (item: object) => ("type" in item ? item.type : "node")

describe("RunFollowers", () => {
  it.effect("ask the store at most twenty times a second, however many they are", () =>
    Effect.gen(function* () {
      const { account, ids } = yield* begin(300)
      const store = yield* RunStore
      let reads = 0
      const counting = RunStore.of({
        ...store,
        eventsOfMany: (requests) =>
          Effect.suspend(() => {
            reads += 1
            return store.eventsOfMany(requests)
          }),
      })
      const followers = yield* Effect.provideService(RunFollowers.make, RunStore, counting)
      const waiting = yield* Effect.forEach(ids, (id) =>
        Effect.flatMap(followers.follow(account, id, 1), (next) => Effect.forkChild(next)),
      )
      yield* TestClock.adjust("5 seconds")
      assert.isAtMost(reads, 100)
      assert.isTrue(waiting.every((fiber) => fiber.pollUnsafe() === undefined))
      const before = reads
      const runs = yield* Runs
      for (const id of ids) yield* runs.cancel(account, id)
      yield* TestClock.adjust("1 second")
      for (const fiber of waiting) {
        const news = yield* Fiber.join(fiber)
        assert.deepStrictEqual(typeof news === "string" ? news : news.map(typeOf), ["run.canceled"])
      }
      assert.isAtMost(reads - before, 20)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("hear of each commit of this process within milliseconds, many times in a row", () =>
    Effect.gen(function* () {
      const { account, ids } = yield* begin(30)
      const followers = yield* RunFollowers.make
      const runs = yield* Runs
      for (const id of ids) {
        const next = yield* followers.follow(account, id, 1)
        const waiting = yield* Effect.forkChild(next)
        yield* runs.cancel(account, id)
        yield* TestClock.adjust("5 millis")
        assert.isDefined(waiting.pollUnsafe())
      }
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("read a run that has moved once for all who follow its nodes", () =>
    Effect.gen(function* () {
      const { account, ids } = yield* begin(2)
      const store = yield* RunStore
      const reads = { looks: 0, records: [] as Array<string> }
      const counting = RunStore.of({
        ...store,
        eventsOfMany: (requests) =>
          Effect.suspend(() => {
            reads.looks += 1
            return store.eventsOfMany(requests)
          }),
        find: (of, id) =>
          Effect.suspend(() => {
            reads.records.push(id)
            return store.find(of, id)
          }),
      })
      const followers = yield* Effect.provideService(RunFollowers.make, RunStore, counting)
      const waiting: Array<Fiber.Fiber<RunFollowers.News>> = []
      for (const id of ids) {
        const record = Option.getOrThrow(yield* store.find(account, id))
        for (let viewer = 0; viewer < 50; viewer++) {
          const next = yield* followers.follow(account, id, 1, new NodeProgress(record))
          waiting.push(yield* Effect.forkChild(next))
        }
      }
      yield* TestClock.adjust("5 seconds")
      assert.isAtMost(reads.looks, 100)
      assert.deepStrictEqual(reads.records, [])
      const runs = yield* Runs
      yield* runs.cancel(account, ids[0]!)
      yield* TestClock.adjust("100 millis")
      const heard = waiting.filter((fiber) => fiber.pollUnsafe() !== undefined)
      assert.lengthOf(heard, 50)
      for (const fiber of heard) {
        const news = yield* Fiber.join(fiber)
        assert.deepStrictEqual(typeof news === "string" ? news : news.map(typeOf), [
          "node",
          "run.canceled",
        ])
      }
      assert.deepStrictEqual(reads.records, [ids[0]!])
      yield* runs.cancel(account, ids[1]!)
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )

  it.effect("hear from where each of them is, though they follow the same run", () =>
    Effect.gen(function* () {
      const { account, ids } = yield* begin(1)
      const runs = yield* Runs
      yield* runs.cancel(account, ids[0]!)
      const followers = yield* RunFollowers.make
      const nexts = yield* Effect.forEach([0, 1], (after) =>
        followers.follow(account, ids[0]!, after),
      )
      const heard = yield* Effect.all(nexts, { concurrency: 2 })
      assert.deepStrictEqual(
        heard.map((news) => (typeof news === "string" ? news : news.map(typeOf))),
        [["run.started", "run.canceled"], ["run.canceled"]],
      )
    }).pipe(Effect.scoped, Effect.provide(Harness.layer)),
  )
})
