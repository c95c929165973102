// Time limits: of one attempt, of a whole run, and what becomes of handlers that ignore them.
import { RunStore } from "@millrace/core/ports/RunStore"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, edge, engine, Gates, node, nodeWith } from "./TestEngine.ts"
import { run, shared, start } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

const runFor = (millis: number, ...parameters: Parameters<typeof run>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(run(...parameters))
    yield* TestClock.adjust(millis)
    return yield* Fiber.join(fiber)
  })

describe("a node's timeout", () => {
  it.effect("fails the attempt, interrupts the handler and keeps its log", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const record = yield* runFor(10_000, [
        nodeWith("n", "sleepy", { millis: 60_000 }, { timeout: "5 seconds" }),
      ])
      const row = byNode(record)["n"]!
      assert.strictEqual(record.run.error, 'Node "n" failed: timed out after 5s')
      assert.strictEqual(row.finishedAt! - row.startedAt!, 5_000)
      assert.strictEqual(row.logs?.[0]?.message, "asleep")
      assert.deepStrictEqual(gates.interrupted, ["n"])
    }).pipe(at),
  )

  it.effect("interrupts the handler at once, though its run goes on", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      yield* start([
        nodeWith("n", "sleepy", { millis: 60_000 }, { timeout: "5 seconds" }),
        node("g", "gate"),
      ])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(gates.interrupted, ["n"])
      yield* gates.open("g")
      yield* TestClock.adjust(1)
    }).pipe(at),
  )

  it.effect("leaves an attempt alone that ends in time", () =>
    Effect.gen(function* () {
      const record = yield* runFor(10_000, [
        nodeWith("n", "sleepy", { millis: 4_999 }, { timeout: 5_000 }),
      ])
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(record.run.revision, 2)
    }).pipe(at),
  )

  it.effect("counts for each attempt anew", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const retry = { attempts: 3, initial: "1 second", factor: 1, jitter: 0 }
      const record = yield* runFor(60_000, [
        nodeWith("n", "sleepy", { millis: 60_000 }, { timeout: 2_000, retry }),
      ])
      const row = byNode(record)["n"]!
      assert.strictEqual(row.attempt, 3)
      assert.strictEqual(row.finishedAt! - row.startedAt!, 3 * 2_000 + 2 * 1_000)
      assert.deepStrictEqual(gates.arrived, ["n", "n", "n"])
    }).pipe(at),
  )

  it.effect("does not wait for a handler that cannot be interrupted", () =>
    Effect.gen(function* () {
      const record = yield* runFor(
        10_000,
        [nodeWith("n", "stubborn", {}, { timeout: 1_000 }), node("next", "pass")],
        [edge("n.error", "next")],
      )
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(byNode(record)["next"]?.status, "COMPLETED")
    }).pipe(at),
  )
})

describe("a run's timeout", () => {
  it.effect("fails the run, and cancels what was running or had not begun", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const record = yield* runFor(
        60_000,
        [node("done", "pass"), node("n", "sleepy", { millis: 60_000 }), node("after", "pass")],
        [edge("n", "after")],
        { settings: { timeoutMillis: 30_000 } },
      )
      const nodes = byNode(record)
      assert.strictEqual(record.run.status, "FAILED")
      assert.strictEqual(record.run.error, "The run timed out after 30s")
      assert.strictEqual(record.run.finishedAt! - record.run.startedAt!, 30_000)
      assert.strictEqual(nodes["done"]?.status, "COMPLETED")
      assert.strictEqual(nodes["n"]?.status, "CANCELED")
      assert.strictEqual(nodes["after"]?.status, "CANCELED")
      assert.deepStrictEqual(gates.interrupted, ["n"])
    }).pipe(at),
  )

  it.effect("ends a parked run at its time", () =>
    Effect.gen(function* () {
      const { id } = yield* start([node("n", "nap", { millis: 3_600_000 })], [], {
        settings: { timeoutMillis: 60_000 },
      })
      const runs = yield* Runs
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("2 minutes")
      const { run: ended } = yield* Fiber.join(waiting)
      assert.strictEqual(ended.error, "The run timed out after 1m")
      assert.isBelow(ended.finishedAt! - ended.startedAt!, 61_000)
    }).pipe(at),
  )

  it.effect("goes on counting while no process is there", () =>
    Effect.gen(function* () {
      const first = yield* boot()
      const { id } = yield* start([node("n", "nap", { millis: 5_000 })], [], {
        settings: { timeoutMillis: 30_000 },
      }).pipe(Effect.provideContext(first.context))
      yield* TestClock.adjust("2 seconds")
      yield* first.stop
      yield* TestClock.adjust("1 hour")
      const second = yield* boot()
      yield* TestClock.adjust("1 second")
      const record = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(second.context),
      )
      assert.strictEqual(record.run.error, "The run timed out after 30s")
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.cancel of a handler that ignores it", () => {
  it.effect("does not wait for the handler, and nothing that it says later is recorded", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const store = yield* RunStore
      const { id } = yield* start([node("n", "stubborn")])
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* runs.cancel(account, id)).status, "CANCELED")
      const { run: stored } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.strictEqual(stored.status, "CANCELED")
    }).pipe(at),
  )
})
