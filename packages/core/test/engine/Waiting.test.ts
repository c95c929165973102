// Nodes that wait: suspended, parked with their run, and going on in whatever process is there.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, edge, engine, Gates, node, nodeWith } from "./TestEngine.ts"
import { shared, start, types } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

const recordOf = (id: Parameters<RunStore["Service"]["find"]>[1]) =>
  Effect.gen(function* () {
    const store = yield* RunStore
    return yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
  })

/** The end of a run, after so much time. */
const endOf = (id: Parameters<RunStore["Service"]["find"]>[1], time: "1 second" | "1 minute") =>
  Effect.gen(function* () {
    const waiting = yield* Effect.forkChild(Effect.flatMap(Runs, (runs) => runs.wait(account, id)))
    yield* TestClock.adjust(time)
    return yield* Fiber.join(waiting)
  })

describe("CurrentNode.suspend", () => {
  it.effect("calls the handler again in the same attempt, with what it left behind", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { id } = yield* start(
        [node("n", "nap", { millis: 600, input: 1 }), node("next", "pass")],
        [edge("n", "next")],
      )
      yield* TestClock.adjust(599)
      assert.strictEqual(byNode(yield* recordOf(id))["n"]?.status, "WAITING")
      const record = yield* endOf(id, "1 second")
      const row = byNode(record)["n"]!
      assert.deepStrictEqual(row.output, { output: { input: 1, resumed: { slept: 600 } } })
      assert.strictEqual(row.attempt, 1)
      assert.strictEqual(row.credits, 2_000_000)
      assert.strictEqual(record.run.actualCredits, 2_000_000)
      assert.strictEqual(record.run.attempts, 2)
      assert.deepStrictEqual(
        row.logs?.map(({ message }) => message),
        ["good night", "good morning"],
      )
      assert.deepStrictEqual(gates.arrived, ["n", "n"])
    }).pipe(at),
  )

  it.effect("leaves a run that has nothing else to do without an owner until its time", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      // No poll falls on this time.
      const { id } = yield* start([node("n", "nap", { millis: 60_123 })])
      yield* TestClock.adjust(1)
      const { run } = yield* recordOf(id)
      assert.strictEqual(run.status, "RUNNING")
      assert.strictEqual(run.owner, null)
      assert.strictEqual(run.dueAt, run.waiting[0]?.due)
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* recordOf(id)).run.fence, run.fence)
      const ended = yield* endOf(id, "1 minute")
      assert.strictEqual(ended.run.status, "COMPLETED")
      assert.strictEqual(ended.run.dueAt, null)
      const due = byNode(ended)["n"]!.finishedAt! - run.dueAt!
      assert.isTrue(due >= 0 && due <= 100, `late by ${due} ms`)
      const types = (yield* store.events(account, id, 0)).map(({ type }) => type)
      assert.deepStrictEqual(types, ["run.started", "node.completed", "run.completed"])
    }).pipe(at),
  )

  it.effect("goes on once, at its time, after any number of restarts", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const first = yield* boot()
      const { id } = yield* start([node("n", "nap", { millis: 10_000 })]).pipe(
        Effect.provideContext(first.context),
      )
      yield* TestClock.adjust("2 seconds")
      yield* first.stop
      const second = yield* boot()
      yield* TestClock.adjust("2 seconds")
      yield* second.stop
      yield* TestClock.adjust("2 seconds")
      const third = yield* boot()
      yield* TestClock.adjust("3500 millis")
      assert.deepStrictEqual(gates.arrived, ["n"])
      yield* TestClock.adjust("1 second")
      const { run } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(third.context),
      )
      assert.strictEqual(run.status, "COMPLETED")
      assert.deepStrictEqual(gates.arrived, ["n", "n"])
      yield* third.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("parks a run whose process stops in the middle of a short wait", () =>
    Effect.gen(function* () {
      const first = yield* boot()
      const { id } = yield* start([node("n", "nap", { millis: 900 })]).pipe(
        Effect.provideContext(first.context),
      )
      yield* TestClock.adjust(100)
      yield* first.stop
      const { run } = yield* recordOf(id)
      assert.strictEqual(run.owner, null)
      assert.strictEqual(run.dueAt, run.waiting[0]?.due)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("waits again when it is woken too early", () =>
    Effect.gen(function* () {
      const { id } = yield* start([
        node("long", "nap", { millis: 30_000 }),
        node("short", "nap", { millis: 5_000 }),
      ])
      yield* TestClock.adjust("6 seconds")
      const { run } = yield* recordOf(id)
      assert.strictEqual(byNode(yield* recordOf(id))["short"]?.status, "COMPLETED")
      assert.strictEqual(run.dueAt, run.waiting[0]?.due)
      assert.strictEqual((yield* endOf(id, "1 minute")).run.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("can be canceled while it waits, and never goes on", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const { id } = yield* start([node("n", "nap", { millis: 60_000 })])
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* runs.cancel(account, id)).status, "CANCELED")
      yield* TestClock.adjust("2 minutes")
      const record = yield* recordOf(id)
      assert.strictEqual(byNode(record)["n"]?.status, "CANCELED")
      assert.strictEqual(byNode(record)["n"]?.credits, 1_000_000)
      assert.deepStrictEqual(gates.arrived, ["n"])
    }).pipe(at),
  )
})

describe("Runs.start with caps on runs", () => {
  it.effect("keeps what is too much for an account queued, and lets other accounts pass", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const ids = [yield* start([node("a", "gate")]), yield* start([node("b", "gate")])]
      ids.push(yield* start([node("c", "gate")]))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(gates.arrived, ["a", "b"])
      assert.strictEqual((yield* recordOf(ids[2]!.id)).run.status, "QUEUED")
      yield* gates.open("a")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(gates.arrived, ["a", "b", "c"])
      yield* gates.open("b")
      yield* gates.open("c")
      for (const { id } of ids) {
        assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
      }
    }).pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, runsPerAccount: 2 }),
    ),
  )
})

describe("Claiming", () => {
  it.effect("leaves a run of an unknown node type to a process that knows it", () =>
    Effect.gen(function* () {
      const knowing = yield* boot()
      const ignorant = yield* boot(types.filter(({ type }) => type.key !== "nap"))
      const { id } = yield* start(
        [node("n", "nap", { millis: 5_000 }), node("next", "pass")],
        [edge("n", "next")],
      ).pipe(Effect.provideContext(knowing.context))
      yield* TestClock.adjust("2 seconds")
      yield* knowing.stop
      yield* TestClock.adjust("2 minutes")
      const waiting = yield* recordOf(id)
      assert.strictEqual(waiting.run.status, "RUNNING")
      assert.strictEqual(waiting.run.owner, null)
      const again = yield* boot()
      yield* TestClock.adjust("1 second")
      const { run } = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(again.context),
      )
      assert.strictEqual(run.status, "COMPLETED")
      yield* ignorant.stop
      yield* again.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.start of a single node", () => {
  const drawn = [
    node("a", "pass", { input: "from a" }),
    node("b", "pass"),
    node("sum", "add", { right: 2 }),
    node("five", "pass", { input: 5 }),
  ]
  const wires = [edge("a", "b"), edge("five", "sum.left")]

  it.effect("runs it on its overrides, its literals and what came before it last time", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { workflowId } = yield* Effect.flatMap(start(drawn, wires), (run) =>
        Effect.as(runs.wait(account, run.id), run),
      )
      const single = (singleNodeId: string, graphInputOverrides = {}) =>
        Effect.gen(function* () {
          const run = yield* runs.start(account, { workflowId, singleNodeId, graphInputOverrides })
          return yield* runs.wait(account, run.id)
        })
      const sum = yield* single("sum")
      assert.strictEqual(sum.run.mode, "single")
      assert.strictEqual(sum.run.singleNodeId, "sum")
      assert.strictEqual(sum.nodeRuns.length, 1)
      assert.deepStrictEqual(byNode(sum)["sum"]?.output, { output: 7 })
      const overridden = yield* single("sum", { sum: { left: 40 } })
      assert.deepStrictEqual(byNode(overridden)["sum"]?.output, { output: 42 })
      assert.deepStrictEqual(byNode(yield* single("b"))["b"]?.output, { output: "from a" })
    }).pipe(at),
  )

  it.effect("lists what no earlier run brought, and creates nothing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(start(drawn, wires, { singleNodeId: "sum" }))
      assert.strictEqual(
        (error as Error).message,
        'Node "sum" cannot run alone: no value for "left", and no earlier run brought one',
      )
      const unknown = yield* Effect.flip(start(drawn, wires, { singleNodeId: "zzz" }))
      assert.match((unknown as Error).message, /no such node/)
      const disabled = [nodeWith("n", "pass", {}, { disabled: true })]
      const refused = yield* Effect.flip(start(disabled, [], { singleNodeId: "n" }))
      assert.match((refused as Error).message, /disabled/)
      const store = yield* RunStore
      assert.deepStrictEqual((yield* store.list({ account, limit: 10 })).items, [])
    }).pipe(at),
  )
})
