// A process that stops: what it lets end, what it gives back, and what it leaves alone.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { RunId } from "@millrace/core/domain/Id"
import { RunnerId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { manifest } from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import {
  account,
  boot,
  edge,
  Gates,
  node,
  nodeWith,
  runOf,
  save,
  shared,
  start,
  types,
} from "./TestEngine.ts"

/** Waits for a message, for as long as it takes. */
const listen = define({
  key: "listen",
  inputs: {},
  outputs: {},
  run: Effect.fnUntraced(function* () {
    const { suspend } = yield* CurrentNode
    return yield* suspend({ for: "go" }, null)
  }),
})

describe("Runner.drain", () => {
  it.effect("lets nodes in progress end, starts no other, and leaves runs to other processes", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let announced = 0
      const wakeups = {
        announce: Effect.sync(() => void (announced += 1)),
        listen: () => Effect.void,
        isHeard: () => false,
      }
      const server = yield* boot().pipe(
        Effect.provideService(StoreManifest, { ...manifest, wakeups }),
      )
      const runner = Context.get(server.context, Runner)
      const draw = start([node("a", "gate"), node("b", "gate")], [edge("a", "b")])
      const { id } = yield* Effect.provideContext(draw, server.context)
      yield* gates.untilArrived("a")
      const draining = yield* Effect.forkChild(runner.drain(10_000))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([runner.status().isDraining, announced], [true, 0])
      assert.strictEqual((yield* Effect.provideContext(draw, server.context)).status, "QUEUED")
      announced = 0
      yield* gates.open("a")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(draining)
      const { owner, status } = yield* runOf(id)
      assert.deepStrictEqual([status, owner, announced], ["RUNNING", null, 1])
      assert.deepStrictEqual(gates.arrived, ["a"])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("a process that stops", () => {
  it.effect("gives a run back as soon as its nodes have ended, while others are in progress", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const [first, second] = [yield* boot(), yield* boot()]
      const drawn = [node("a", "gate"), node("b", "pass")]
      const { id } = yield* start(drawn, [edge("a", "b")]).pipe(
        Effect.provideContext(first.context),
      )
      yield* start([node("long", "gate")]).pipe(Effect.provideContext(first.context))
      yield* Effect.forEach(["a", "long"], gates.untilArrived)
      const stopping = yield* Effect.forkChild(first.stop)
      yield* TestClock.adjust("1 second")
      yield* gates.open("a")
      yield* TestClock.adjust(1)
      const given = yield* runOf(id)
      assert.deepStrictEqual([given.owner, given.status, given.fence], [null, "RUNNING", 2])
      yield* TestClock.adjust("1 second")
      const ended = yield* runOf(id)
      assert.deepStrictEqual([ended.status, ended.attempts], ["COMPLETED", 2])
      assert.isUndefined(stopping.pollUnsafe())
      yield* gates.open("long")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("gives a run back at once in which one node is ready, although another one waits", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const [first, second] = [yield* boot([...types, listen]), yield* boot([...types, listen])]
      const drawn = [node("a", "gate"), node("b", "gate"), node("w", "listen")]
      const { id } = yield* start(drawn, [edge("a", "b")]).pipe(
        Effect.provideContext(first.context),
      )
      yield* gates.untilArrived("a")
      yield* TestClock.adjust(1)
      const stopping = yield* Effect.forkChild(first.stop)
      yield* TestClock.adjust(1)
      yield* gates.open("a")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      assert.strictEqual((yield* runOf(id)).owner, Context.get(second.context, Runner).id)
      assert.deepStrictEqual(gates.arrived, ["a", "b"])
      yield* Context.get(second.context, Runs).cancel(account, id)
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("gives back no run that has ended, and none that is parked", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const requeued: Array<RunId> = []
      const requeue: typeof store.requeue = (runner, ids) => {
        requeued.push(...ids)
        return store.requeue(runner, ids)
      }
      const server = yield* Effect.provideService(boot(), RunStore, { ...store, requeue })
      const parked = yield* start([node("n", "nap", { millis: 60_000 })]).pipe(
        Effect.provideContext(server.context),
      )
      yield* start([node("a", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("a")
      yield* gates.open("a")
      yield* TestClock.adjust("1 second")
      yield* server.stop
      assert.deepStrictEqual(requeued, [])
      const { dueAt, fence } = yield* runOf(parked.id)
      assert.deepStrictEqual([dueAt, fence], [60_000, 1])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("interrupts what is left when its grace is over, and not before", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const server = yield* boot()
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      const stopping = yield* Effect.forkChild(server.stop)
      yield* TestClock.adjust("9999 millis")
      assert.deepStrictEqual(gates.interrupted, [])
      // It has looked once at what there is to do.
      assert.isAtMost((yield* runOf(id)).revision, 2)
      yield* TestClock.adjust("1 milli")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(gates.interrupted, ["n"])
      // Others may claim it at once. It has lost no owner.
      const { active, losses, status } = yield* runOf(id)
      assert.deepStrictEqual([active.length, losses, status], [1, [], "RUNNING"])
      const second = yield* boot()
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* runOf(id)).owner, Context.get(second.context, Runner).id)
      assert.deepStrictEqual((yield* runOf(id)).losses, [])
      yield* gates.open("n")
      yield* TestClock.adjust("1 second")
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("executes no new start, and claims nothing, and tells others at its end", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let announced = 0
      const server = yield* Effect.provideService(boot(), StoreManifest, {
        ...manifest,
        wakeups: {
          announce: Effect.sync(() => void (announced += 1)),
          listen: () => Effect.void,
          isHeard: () => false,
        },
      })
      const [runs, runner] = [
        Context.get(server.context, Runs),
        Context.get(server.context, Runner),
      ]
      const workflow = yield* save([node("late", "gate")]).pipe(
        Effect.provideContext(server.context),
      )
      yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      assert.isTrue(runner.takeSlot(account))
      runner.giveSlot(account)
      const stopping = yield* Effect.forkChild(server.stop)
      yield* TestClock.adjust(1)
      assert.isFalse(runner.takeSlot(account))
      const queued = yield* runs.start(account, { workflowId: workflow.id })
      assert.deepStrictEqual([queued.status, announced], ["QUEUED", 1])
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* runOf(queued.id)).status, "QUEUED")
      yield* gates.open("n")
      yield* TestClock.adjust(1)
      yield* Fiber.join(stopping)
      assert.strictEqual(announced, 2)
    }).pipe(Effect.provide(shared())),
  )
})

describe("a run that a process owns and does not execute", () => {
  it.effect("is given back by its second heartbeat that finds it, and not by the first", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const times: Array<number> = []
      const requeue: typeof store.requeue = (runner, ids) =>
        Effect.andThen(
          Effect.map(Clock.currentTimeMillis, (now) => void times.push(now)),
          store.requeue(runner, ids),
        )
      const server = yield* Effect.provideService(boot(), RunStore, { ...store, requeue })
      const runner = Context.get(server.context, Runner)
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      // One that it does execute is left alone.
      yield* start([node("m", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("m")
      yield* TestClock.adjust("1 second")
      yield* store.takeOver(account, id, runner.id)
      yield* runner.stop(id)
      yield* TestClock.adjust("13999 millis")
      assert.deepStrictEqual(times, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(times, [15_000])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(gates.arrived, ["n", "m", "n"])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(times.length, 1)
      yield* Effect.forEach(["n", "m"], gates.open)
      yield* TestClock.adjust(1)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("the slots of a process", () => {
  it.effect("are free again once a run has ended, was canceled, or was lost to another owner", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const server = yield* boot()
      const [runs, runner] = [
        Context.get(server.context, Runs),
        Context.get(server.context, Runner),
      ]
      const begin = Effect.fnUntraced(function* (id: string) {
        const run = yield* start([node(id, "gate")]).pipe(Effect.provideContext(server.context))
        yield* gates.untilArrived(id)
        assert.isFalse(runner.takeSlot(account))
        return run.id
      })
      const isFree = () => {
        const has = runner.takeSlot(account)
        if (has) runner.giveSlot(account)
        return has
      }
      yield* begin("a")
      yield* gates.open("a")
      yield* TestClock.adjust(1)
      assert.isTrue(isFree())
      yield* runs.cancel(account, yield* begin("b"))
      yield* TestClock.adjust(1)
      assert.isTrue(isFree())
      const lost = yield* begin("c")
      const other = RunnerId.make("exe_other")
      yield* store.heartbeat(other, 3_600_000)
      yield* store.takeOver(account, lost, other)
      yield* TestClock.adjust("8 seconds")
      assert.isTrue(isFree())
      yield* server.stop
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, runsAtOnce: 1 }),
    ),
  )
})

describe("a handler that cancels its own run", () => {
  it.effect("is interrupted when it gives control back, and no other one is called", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let cancel: (id: RunId) => Effect.Effect<unknown, unknown> = () => Effect.void
      const ends = define({
        key: "ends",
        inputs: {},
        outputs: {},
        run: Effect.fnUntraced(function* () {
          const { nodeId, runId } = yield* CurrentNode
          yield* cancel(runId)
          yield* Effect.flatMap(Gates, (all) => all.pass(nodeId))
          return {}
        }),
      })
      const server = yield* boot([...types, ends])
      cancel = (id) => Context.get(server.context, Runs).cancel(account, id)
      const drawn = [node("a", "ends"), node("b", "gate"), node("c", "nap", { millis: 500 })]
      const { id } = yield* start(drawn).pipe(Effect.provideContext(server.context))
      yield* TestClock.adjust("1 second")
      const { attempts, status } = yield* runOf(id)
      assert.deepStrictEqual([status, attempts], ["CANCELED", 3])
      assert.deepStrictEqual(gates.arrived, [])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

/** A clock that counts who sleeps by it, and knows the longest sleep. */
const counting = (clock: Clock.Clock) => {
  const counts = { sleeping: 0, longest: 0 }
  const sleep: typeof clock.sleep = (duration) =>
    Effect.suspend(() => {
      counts.sleeping += 1
      counts.longest = Math.max(counts.longest, Duration.toMillis(duration))
      return Effect.ensuring(
        clock.sleep(duration),
        Effect.sync(() => void (counts.sleeping -= 1)),
      )
    })
  return { counts, clock: Object.assign({}, clock, { sleep }) }
}

describe("the timers of runs that have ended", () => {
  it.effect("do not stay", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { clock, counts } = counting(yield* Clock.Clock)
      const server = yield* Effect.provideService(boot([...types, listen]), Clock.Clock, clock)
      yield* TestClock.adjust("1 second")
      const idle = counts.sleeping
      const runs = Context.get(server.context, Runs)
      for (const id of ["a", "b", "c", "d"]) {
        const drawn = [
          nodeWith(id, "gate", {}, { timeout: "1 hour" }),
          node(`${id}2`, "nap", { millis: id > "b" ? 3_600_000 : 900 }),
        ]
        const settings = { timeoutMillis: 7_200_000 }
        const run = yield* start(drawn, [], { settings }).pipe(
          Effect.provideContext(server.context),
        )
        yield* gates.untilArrived(id)
        yield* TestClock.adjust(1)
        if (id > "b") yield* runs.cancel(account, run.id)
        yield* gates.open(id)
        yield* TestClock.adjust("1 second")
        assert.isNotNull((yield* runOf(run.id)).finishedAt)
      }
      // A wait that only a message ends has no timer.
      const waiting = yield* start([node("w", "listen"), node("v", "gate")]).pipe(
        Effect.provideContext(server.context),
      )
      yield* gates.untilArrived("v")
      yield* TestClock.adjust(1)
      yield* runs.cancel(account, waiting.id)
      assert.isAtMost(counts.longest, 7_200_000)
      // One timer for all of them may be left.
      assert.isAtMost(counts.sleeping, idle + 1)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("are not even set where a handler has canceled its run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let cancel: (id: RunId) => Effect.Effect<unknown, unknown> = () => Effect.void
      const ends = define({
        key: "ends",
        inputs: { input: Json },
        outputs: {},
        run: Effect.fnUntraced(function* () {
          yield* cancel((yield* CurrentNode).runId)
          return {}
        }),
      })
      /** Waits for an hour once it has passed its gate. */
      const waits = define({
        key: "waits",
        inputs: {},
        outputs: {},
        run: Effect.fnUntraced(function* () {
          const { nodeId, suspend } = yield* CurrentNode
          yield* gates.pass(nodeId)
          return yield* suspend({ until: (yield* Clock.currentTimeMillis) + 3_600_000 }, null)
        }),
      })
      const { clock, counts } = counting(yield* Clock.Clock)
      const server = yield* Effect.provideService(boot([...types, ends, waits]), Clock.Clock, clock)
      cancel = (id) => Context.get(server.context, Runs).cancel(account, id)
      yield* TestClock.adjust("1 second")
      const idle = counts.sleeping
      const drawn = [node("a", "waits"), node("b", "gate"), node("c", "ends")]
      const { id } = yield* start(drawn, [edge("b", "c")]).pipe(
        Effect.provideContext(server.context),
      )
      yield* Effect.forEach(["a", "b"], gates.untilArrived)
      // Both end before the next step, which begins the wait and calls the handler.
      yield* Effect.forEach(["a", "b"], gates.open)
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* runOf(id)).status, "CANCELED")
      assert.isAtMost(counts.sleeping, idle)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})
