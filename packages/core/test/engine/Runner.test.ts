// Ownership: what happens to a run when its process dies, stops, or only believes to own it.
import { RunnerId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { RunRecord } from "@millrace/core/domain/Run"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { takeUp } from "../../src/engine/internal/FirstStep.ts"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer, Logger, Option } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, edge, Gates, node, shared, start, types } from "./TestEngine.ts"

const chain = [node("one", "pass", { input: 1 }), node("two", "gate"), node("three", "pass")]
const wires = [edge("one", "two"), edge("two", "three")]

const ended = (record: RunRecord) =>
  record.run.status !== "QUEUED" && record.run.status !== "RUNNING"

describe("Runner.layer", () => {
  it.effect("continues a run of a process that stopped, without running finished nodes again", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const first = yield* boot()
      const { id } = yield* start(chain, wires).pipe(Effect.provideContext(first.context))
      yield* gates.untilArrived("two")
      const before = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      const stopping = yield* Effect.forkChild(first.stop)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(stopping)
      assert.deepStrictEqual(gates.interrupted, ["two"])
      yield* gates.open("two")
      const second = yield* boot()
      yield* TestClock.adjust("1 second")
      const after = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(second.context),
      )
      assert.strictEqual(after.run.status, "COMPLETED")
      assert.strictEqual(after.run.executionId, before.run.executionId)
      assert.deepStrictEqual(byNode(after)["one"], byNode(before)["one"])
      assert.strictEqual(byNode(after)["two"]?.attempt, 2)
      assert.isAbove(after.run.fence, before.run.fence)
      const events = yield* store.events(account, id, 0)
      assert.deepStrictEqual(
        events.map((each) => [each.sequence, each.type, each.data["nodeId"]]),
        [
          [1, "run.started", undefined],
          [2, "node.completed", "one"],
          [3, "node.completed", "two"],
          [4, "node.completed", "three"],
          [5, "run.completed", undefined],
        ],
      )
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("lets nodes in progress finish when it stops, and starts no others", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const first = yield* boot()
      const { id } = yield* start(chain, wires).pipe(Effect.provideContext(first.context))
      yield* gates.untilArrived("two")
      const stopping = yield* Effect.forkChild(first.stop)
      yield* TestClock.adjust("1 second")
      yield* gates.open("two")
      yield* Fiber.join(stopping)
      const left = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(
        nodeRunsOf(left).map((each) => each.status),
        ["COMPLETED", "COMPLETED", "PENDING"],
      )
      assert.deepStrictEqual(gates.interrupted, [])
      const second = yield* boot()
      yield* TestClock.adjust("1 second")
      const { run } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(second.context),
      )
      assert.strictEqual(run.status, "COMPLETED")
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("takes over the runs of a process that died once its lease has run out", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const survivor = yield* boot()
      const { id } = yield* start(chain, wires).pipe(Effect.provideContext(survivor.context))
      yield* gates.untilArrived("two")
      // The run passes to a runner that never shows a sign of life again.
      const dead = RunnerId.make("exe_dead")
      yield* store.heartbeat(dead, 10_000)
      yield* store.takeOver(account, id, dead)
      yield* gates.open("two")
      yield* TestClock.adjust("9 seconds")
      const waiting = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.strictEqual(waiting.run.owner, dead)
      assert.isFalse(ended(waiting))
      yield* TestClock.adjust("3 seconds")
      const { run } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(survivor.context),
      )
      assert.strictEqual(run.status, "COMPLETED")
      yield* survivor.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("forgets that a run blocked its process as soon as a node of that run has ended", () =>
    Effect.gen(function* () {
      const [gates, store, clock] = [yield* Gates, yield* RunStore, yield* Clock.Clock]
      let blockedMillis = 0
      const blocked = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + blockedMillis,
        monotonicTimeNanosUnsafe: () =>
          clock.monotonicTimeNanosUnsafe() + BigInt(blockedMillis) * 1_000_000n,
      }
      // As the thread that keeps the lease does when the event loop is blocked for too long.
      const block = define({
        key: "block",
        inputs: {},
        outputs: { output: Json },
        run: Effect.fnUntraced(function* () {
          const { runId } = yield* CurrentNode
          const { owner } = (yield* Effect.flatMap(store.find(account, runId), Effect.fromOption))
            .run
          yield* store.endLease(owner!, { run: runId, millis: 70_000 })
          blockedMillis = 70_000
          return { output: null }
        }, Effect.orDie),
      })
      const server = yield* boot([...types, block]).pipe(
        Effect.provideService(Clock.Clock, Object.assign({}, clock, blocked)),
      )
      const { id } = yield* start(
        [node("one", "block"), node("two", "gate")],
        [edge("one", "two")],
      ).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("two")
      const { run } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(run.losses, [])
      yield* gates.open("two")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("warns when a run of its own has passed to another process", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => {
        lines.push(`${logLevel} ${String(message)}`)
      })
      const server = yield* boot().pipe(Effect.provide(Logger.layer([logger])))
      const taken = yield* start(chain, wires).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("two")
      const other = RunnerId.make("exe_other")
      yield* store.heartbeat(other, 60_000)
      yield* store.takeOver(account, taken.id, other)
      yield* gates.open("two")
      yield* TestClock.adjust("12 seconds")
      const warnings = lines.filter((line) => line.startsWith("Warn"))
      assert.strictEqual(warnings.length, 1)
      assert.include(warnings[0], `Warn lost run ${taken.id} to somebody else`)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("takes queued runs that nobody owns, no more at once than it may execute", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const server = yield* boot()
      const ids = ["a", "b", "c"]
      const started = yield* Effect.forEach(ids, (id) => start([node(id, "gate")])).pipe(
        Effect.provideContext(server.context),
      )
      yield* Effect.forEach(["a", "b"], gates.untilArrived)
      assert.deepStrictEqual(
        started.map((run) => run.owner !== null),
        [true, true, false],
      )
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(gates.arrived, ["a", "b"])
      yield* gates.open("a")
      yield* TestClock.adjust("3 seconds")
      yield* gates.untilArrived("c")
      yield* Effect.forEach(ids, gates.open)
      yield* TestClock.adjust("3 seconds")
      const { items } = yield* store.list({ account, limit: 10 })
      assert.deepStrictEqual(
        items.map((run) => run.status),
        ["COMPLETED", "COMPLETED", "COMPLETED"],
      )
      yield* server.stop
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, runsAtOnce: 2 }),
    ),
  )

  it.effect("gives back what it owns and does not execute, so that the run goes on", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const server = yield* boot()
      const runs = Context.get(server.context, Runs)
      const runner = Context.get(server.context, Runner)
      const { id } = yield* start([node("one", "gate")]).pipe(Effect.provideContext(server.context))
      const gates = yield* Gates
      yield* gates.untilArrived("one")
      // As after an answer that got lost: the runner owns the run and knows nothing of it.
      yield* store.takeOver(account, id, runner.id)
      yield* runner.stop(id)
      yield* gates.open("one")
      yield* TestClock.adjust("20 seconds")
      const { run } = yield* runs.wait(account, id)
      assert.strictEqual(run.status, "COMPLETED")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("gives up a run whose owners all stop before any node has finished", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const server = yield* boot()
      const { id } = yield* start([node("one", "gate")]).pipe(Effect.provideContext(server.context))
      for (let owner = 0; owner < 4; owner++) {
        const dead = RunnerId.make(`exe_dead_${owner}`)
        yield* store.heartbeat(dead, 0)
        yield* store.takeOver(account, id, dead)
        yield* TestClock.adjust("1 second")
        const { run } = Option.getOrThrow(yield* store.find(account, id))
        assert.strictEqual(run.status, "RUNNING")
      }
      const last = RunnerId.make("exe_dead_last")
      yield* store.heartbeat(last, 0)
      yield* store.takeOver(account, id, last)
      yield* TestClock.adjust("1 second")
      const { run } = yield* Context.get(server.context, Runs).wait(account, id)
      assert.strictEqual(run.status, "FAILED")
      const error =
        'The run was given up: its process died 5 times while node "one" was in progress'
      assert.strictEqual(run.error, error)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("goes on with a run whose lost owners were alive after all", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const gates = yield* Gates
      const server = yield* boot()
      const { id } = yield* start([node("one", "gate")]).pipe(Effect.provideContext(server.context))
      for (let owner = 0; owner < 9; owner++) {
        const frozen = RunnerId.make(`exe_frozen_${owner}`)
        yield* store.heartbeat(frozen, 0)
        yield* store.takeOver(account, id, frozen)
        yield* TestClock.adjust("1 second")
        yield* store.heartbeat(frozen, 1_000)
      }
      yield* gates.open("one")
      const { run } = yield* Context.get(server.context, Runs).wait(account, id)
      assert.strictEqual(run.status, "COMPLETED")
      assert.deepStrictEqual(run.losses, [])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("interrupts what it executes when another runner has taken it", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const loser = yield* boot()
      const { id } = yield* start(chain, wires).pipe(Effect.provideContext(loser.context))
      yield* gates.untilArrived("two")
      const winner = RunnerId.make("exe_winner")
      yield* store.heartbeat(winner, 3_600_000)
      yield* store.takeOver(account, id, winner)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(gates.interrupted, ["two"])
      yield* loser.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runner.layer, when the store's time jumps", () => {
  /** A process over a store whose time jumps, and which can be away. */
  const jumping = Effect.gen(function* () {
    const world = { jumpMillis: 0, isAway: false }
    const [clock, store] = [yield* Clock.Clock, yield* RunStore]
    const away = new StorageError({ operation: "heartbeat", cause: new Error("away") })
    const heartbeat: typeof store.heartbeat = (...request) =>
      Effect.suspend(() => (world.isAway ? Effect.fail(away) : store.heartbeat(...request)))
    const currentTimeMillisUnsafe = () => clock.currentTimeMillisUnsafe() + world.jumpMillis
    const server = yield* boot().pipe(
      Effect.provideService(Clock.Clock, Object.assign({}, clock, { currentTimeMillisUnsafe })),
      Effect.provideService(RunStore, { ...store, heartbeat }),
    )
    return { server, world }
  })

  it.effect("goes on with its runs although one heartbeat has failed", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { server, world } = yield* jumping
      yield* start(chain, wires).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("two")
      world.isAway = true
      world.jumpMillis = 3_600_000
      yield* TestClock.adjust("8 seconds")
      world.isAway = false
      assert.deepStrictEqual(gates.interrupted, [])
      yield* gates.open("two")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("does not take itself for one that has too much to do", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const { server, world } = yield* jumping
      const { id } = yield* start(chain, wires).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("two")
      yield* TestClock.adjust("500 millis")
      const other = RunnerId.make("exe_other")
      yield* store.takeOver(account, id, other)
      yield* store.requeue(other, [id])
      world.jumpMillis = 3_600_000
      yield* TestClock.adjust("500 millis")
      const { run } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.strictEqual(run.owner, Context.get(server.context, Runner).id)
      yield* gates.open("two")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("FirstStep.takeUp under two owners", () => {
  it.effect("lets only the newer owner write, whatever the older one still believes", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const server = yield* boot()
      const { id } = yield* start(chain, wires).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("two")
      const stale = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      const newer = RunnerId.make("exe_newer")
      yield* store.heartbeat(newer, 3_600_000)
      yield* store.takeOver(account, id, newer)
      yield* gates.open("two")
      const error = yield* Effect.flip(takeUp(stale, () => false)).pipe(
        Effect.provide(Layer.provideMerge(GraphCache.layer, NodeTypes.layer(...types))),
        Effect.provide(RunNotifier.layer),
      )
      assert.strictEqual(error._tag, "StaleRun")
      const now = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(now.nodeRuns, stale.nodeRuns)
      assert.strictEqual(now.run.revision, stale.run.revision)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})
