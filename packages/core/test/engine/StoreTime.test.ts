// Whose clock decides: the store's, whatever a process or its machine believes.
import { RunnerId } from "@millrace/core/domain/Id"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { shifted } from "./ShiftedClock.ts"
import { account, boot, Gates, node, shared, start, types } from "./TestEngine.ts"

const second = 1_000
const hour = 3_600_000

/** The store with a clock of its own: that of the test, shifted. */
const storeShiftedBy = (millis: () => number) =>
  Layer.effect(
    RunStore,
    Effect.gen(function* () {
      const store = yield* RunStore
      const clock = shifted(yield* Clock.Clock, millis)
      const own = <A, E>(effect: Effect.Effect<A, E>) =>
        Effect.provideService(effect, Clock.Clock, clock)
      return RunStore.of({
        ...store,
        now: own(store.now),
        claim: (request) => own(store.claim(request)),
        heartbeat: (...given) => own(store.heartbeat(...given)),
        takeOver: (...given) => own(store.takeOver(...given)),
        commit: (commit) => own(store.commit(commit)),
      })
    }),
  )

/** A process on the store of the test whose own clock is wrong. */
const bootShiftedBy = (millis: number) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const store = yield* RunStore
    const own = storeShiftedBy(() => 0).pipe(Layer.provide(Layer.succeed(RunStore, store)))
    const context = yield* Layer.build(own)
    return yield* boot().pipe(
      Effect.provideContext(context),
      Effect.provideService(
        Clock.Clock,
        shifted(clock, () => millis),
      ),
    )
  })

describe("Engine.layer on a machine whose clock is an hour behind the store's", () => {
  const engine = Engine.layerWithoutWebhooks.pipe(
    Layer.provide(NodeTypes.layer(...types)),
    Layer.provideMerge(storeShiftedBy(() => hour)),
    Layer.provideMerge(Memory.layer),
    Layer.provideMerge(Gates.layer),
  )

  it.effect("tells handlers the store's time, and records by it", () =>
    Effect.gen(function* () {
      const { id } = yield* start([node("n", "nap", { millis: 60_000 })])
      yield* TestClock.adjust(1)
      const store = yield* RunStore
      const { run } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      const now = yield* Clock.currentTimeMillis
      assert.isAtMost(Math.abs(run.startedAt! - (now + hour)), second)
      assert.isAtMost(Math.abs(run.waiting[0]!.due - (now + hour + 60_000)), second)
    }).pipe(Effect.provide(engine)),
  )

  it.effect("ends a run when its time is up by the store's clock", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const { id } = yield* start([node("n", "gate")], [], {
        settings: { timeoutMillis: 30 * second },
      })
      yield* gates.untilArrived("n")
      yield* TestClock.adjust(29 * second)
      assert.deepStrictEqual(gates.interrupted, [])
      yield* TestClock.adjust(2 * second)
      assert.deepStrictEqual(gates.interrupted, ["n"])
      const { run } = yield* runs.wait(account, id)
      assert.strictEqual(run.error, "The run timed out after 30s")
      assert.strictEqual(run.finishedAt! - run.startedAt!, 30 * second)
    }).pipe(Effect.provide(engine)),
  )
})

describe("a process whose clock is behind", () => {
  /** Parks a run under a process with the right time, which then stops. */
  const parked = (...workflow: Parameters<typeof start>) =>
    Effect.gen(function* () {
      const first = yield* boot()
      const { id } = yield* start(...workflow).pipe(Effect.provideContext(first.context))
      yield* TestClock.adjust(1)
      yield* first.stop
      return id
    })

  it.effect("goes on with a run whose wait is over by the store's clock", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* parked([node("n", "nap", { millis: 30 * second })])
      const late = yield* bootShiftedBy(-5 * second)
      yield* TestClock.adjust(31 * second)
      assert.deepStrictEqual(gates.arrived, ["n", "n"])
      const runs = Context.get(late.context, Runs)
      assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
      yield* late.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("ends a run whose time is up by the store's clock", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* parked([node("n", "nap", { millis: hour })], [], {
        settings: { timeoutMillis: 30 * second },
      })
      const late = yield* bootShiftedBy(-5 * second)
      yield* TestClock.adjust(31 * second)
      const runs = Context.get(late.context, Runs)
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust(second)
      const { run } = yield* Fiber.join(waiting)
      assert.strictEqual(run.error, "The run timed out after 30s")
      assert.strictEqual(run.dueAt, null)
      assert.deepStrictEqual(gates.arrived, ["n"])
      yield* late.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Engine.layer on a store whose clock is set", () => {
  const world = { ahead: 0 }
  const engine = Engine.layerWithoutWebhooks.pipe(
    Layer.provide(NodeTypes.layer(...types)),
    Layer.provideMerge(storeShiftedBy(() => world.ahead)),
    Layer.provideMerge(Memory.layer),
    Layer.provideMerge(Gates.layer),
  )
  /** The engine on a clock that nobody has set yet. */
  const unset = Layer.unwrap(
    Effect.sync(() => {
      world.ahead = 0
      return Layer.fresh(engine)
    }),
  )

  it.effect("goes on with a wait that is over by the new time, once other work has ended", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const { id } = yield* start([node("n", "nap", { millis: hour }), node("g", "gate")])
      yield* gates.untilArrived("g")
      world.ahead = 2 * hour
      // Until the process has asked for the store's time again.
      yield* TestClock.adjust(10 * second)
      yield* gates.open("g")
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust(second)
      const { run } = yield* Fiber.join(waiting)
      assert.strictEqual(run.status, "COMPLETED")
    }).pipe(Effect.provide(unset)),
  )

  it.effect("ends a run whose time is up by the new time, once one of its nodes has ended", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const settings = { timeoutMillis: hour }
      const { id } = yield* start([node("g", "gate"), node("h", "gate")], [], { settings })
      yield* Effect.forEach(["g", "h"], gates.untilArrived)
      world.ahead = 2 * hour
      yield* TestClock.adjust(10 * second)
      assert.deepStrictEqual(gates.interrupted, [])
      yield* gates.open("g")
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust(second)
      const { run } = yield* Fiber.join(waiting)
      assert.strictEqual(run.error, "The run timed out after 1h")
      assert.deepStrictEqual(gates.interrupted, ["h"])
    }).pipe(Effect.provide(unset)),
  )
})

describe("Runner's heartbeat", () => {
  it.effect("stops what it executes under a fence that is not the stored one any more", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const server = yield* boot()
      const runner = Context.get(server.context, Runner)
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      // The run went to somebody else and came back: this runner owns it, under a later fence.
      yield* store.takeOver(account, id, RunnerId.make("exe_other"))
      yield* store.takeOver(account, id, runner.id)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(gates.interrupted, ["n"])
      yield* gates.open("n")
      yield* TestClock.adjust("20 seconds")
      const runs = Context.get(server.context, Runs)
      assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})
