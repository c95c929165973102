// Waiting for the end of a run that executes nowhere, or in another process; and what a run that is
// canceled makes way for.
import { Json } from "@millrace/core/domain/Json"
import { signalMessage } from "@millrace/core/domain/Message"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { childrenOf, engineWithChildren } from "./TestChildren.ts"
import {
  account,
  boot,
  edge,
  engine,
  Gates,
  node,
  save,
  shared,
  start,
  types,
} from "./TestEngine.ts"

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

  it.effect("reads a run as often as before when others are not waited for any more", () =>
    Effect.gen(function* () {
      const { context, counted, runs } = yield* counting
      const { id } = yield* Effect.provideContext(start([sleeper]), context)
      const all = yield* Effect.replicateEffect(Effect.forkChild(runs.wait(account, id)), 100)
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptAll(all)
      yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust(1)
      counted.reads = 0
      yield* TestClock.adjust("1 second")
      assert.isAtLeast(counted.reads, 9)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("does not read the end of a run that its own process has ended", () =>
    Effect.gen(function* () {
      const { context, counted, runs } = yield* counting
      const gates = yield* Gates
      const drawn = [edge("n.output", "g.input")]
      const { id } = yield* Effect.provideContext(
        start([sleeper, node("g", "gate")], drawn),
        context,
      )
      yield* TestClock.adjust("1 second")
      const waiting = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("62 seconds")
      yield* gates.untilArrived("g")
      assert.isAbove(counted.reads, 0)
      counted.reads = 0
      yield* gates.open("g")
      assert.strictEqual((yield* Fiber.join(waiting)).run.status, "COMPLETED")
      assert.strictEqual(counted.reads, 0)
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

/** Waits until somebody says that an order is paid. */
const awaits = define({
  key: "awaits",
  inputs: {},
  outputs: { output: Json },
  run: () =>
    Effect.flatMap(CurrentNode, (current) => {
      if (current.message !== undefined) return Effect.succeed({ output: null })
      return current.suspend({ for: signalMessage("paid"), correlation: "order 7" }, null)
    }),
})

const paid = node("paid", "awaits")

describe("Runs.cancel", () => {
  it.effect("lets the next run of a concurrency key begin at once", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const gates = yield* Gates
      const key = { concurrencyKey: "all" }
      const first = yield* start([node("one", "gate")], [], key)
      yield* gates.untilArrived("one")
      yield* runs.start(account, { workflowId: first.workflowId, ...key })
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(gates.arrived, ["one"])
      yield* runs.cancel(account, first.id)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(gates.arrived, ["one", "one"])
    }).pipe(Effect.provide(engine())),
  )

  it.effect("cancels the children of the run at once, wherever they are", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([sleeper])
      const { id } = yield* start([node("c", "call", { workflowId, values: {} })])
      yield* TestClock.adjust("10 seconds")
      yield* runs.cancel(account, id)
      yield* TestClock.adjust(1)
      const [child] = yield* childrenOf(id, "c")
      assert.strictEqual(child?.status, "CANCELED")
    }).pipe(Effect.provide(engineWithChildren())),
  )

  it.effect("lets the next run begin at once that gets a signal which it had not taken", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const store = yield* RunStore
      const gates = yield* Gates
      const { id, workflowId } = yield* start([paid, node("g", "gate")], [edge("paid", "g")])
      yield* runs.start(account, { workflowId })
      yield* TestClock.adjust("10 seconds")
      const key = { name: "paid", correlation: "order 7" }
      const sent = { ...key, id: "sig_1", isNamed: false, payload: null }
      assert.strictEqual((yield* store.signal(account, workflowId, sent))._tag, "Taken")
      yield* runs.cancel(account, id)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(gates.arrived, ["g"])
    }).pipe(Effect.provide(engine([...types, awaits]))),
  )
})
