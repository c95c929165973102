// The loop that drives the runs of a process.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Deferred, Effect, Fiber, Logger, Option } from "effect"
import { TestClock } from "effect/testing"
import { shifted } from "./ShiftedClock.ts"
import { account, boot, edge, Gates, node, runOf, shared, start, types } from "./TestEngine.ts"

describe("RunScheduler", () => {
  it.effect("gives a run that only waits back at once when the process stops", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const server = yield* boot()
      const { id } = yield* start([node("n", "nap", { millis: 900 })]).pipe(
        Effect.provideContext(server.context),
      )
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(gates.arrived, ["n"])
      const stopping = yield* Effect.forkChild(server.stop)
      yield* TestClock.adjust(1)
      assert.isDefined(stopping.pollUnsafe())
      const { run } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual([run.status, run.owner], ["RUNNING", null])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("interrupts a handler that has stopped its own run while it was called", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const process: { runner?: Runner["Service"] } = {}
      const ending = define({
        key: "ends",
        inputs: {},
        outputs: {},
        run: Effect.fnUntraced(function* () {
          const { nodeId, runId } = yield* CurrentNode
          yield* process.runner!.stop(runId)
          yield* gates.pass(nodeId)
          return {}
        }),
      })
      const server = yield* boot([...types, ending])
      process.runner = Context.get(server.context, Runner)
      yield* start([node("n", "ends")]).pipe(Effect.provideContext(server.context))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(gates.interrupted, gates.arrived)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("goes on with every run, though each step takes longer than a pass may", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let slept = 0
      const lasting = define({
        key: "lasting",
        inputs: { input: Json },
        outputs: { output: Json },
        run: ({ input }) =>
          Effect.sync(() => {
            slept += 100
            return { output: input }
          }),
      })
      const clock = shifted(yield* Clock.Clock, () => slept)
      const server = yield* boot([...types, lasting]).pipe(
        Effect.provideService(Clock.Clock, clock),
      )
      const ids = yield* Effect.forEach([1, 2, 3, 4], (n) =>
        start(
          [node(`g${n}`, "gate"), node("l", "lasting"), node("m", "lasting")],
          [edge(`g${n}`, "l"), edge("l", "m")],
        ),
      ).pipe(Effect.provideContext(server.context))
      for (const n of [1, 2, 3, 4]) yield* gates.untilArrived(`g${n}`)
      for (const n of [1, 2, 3, 4]) yield* gates.open(`g${n}`)
      const runs = yield* Effect.provideContext(Runs, server.context)
      for (const { id } of ids) {
        assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
      }
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

/**
 * A process over a store that answers one commit late, however that is interrupted; and what the
 * process logs.
 */
const answeringLate = Effect.fnUntraced(function* (holds: (commit: RunCommit) => boolean) {
  const store = yield* RunStore
  const [stored, answer] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const commit: typeof store.commit = (given) => {
    const committed = store.commit(given)
    if (!holds(given)) return committed
    const late = Effect.andThen(Deferred.succeed(stored, undefined), Deferred.await(answer))
    return Effect.uninterruptible(Effect.andThen(committed, late))
  }
  const lines: Array<unknown> = []
  const server = yield* boot().pipe(
    Effect.provideService(RunStore, { ...store, commit }),
    Effect.provide(Logger.layer([Logger.make(({ message }) => void lines.push(message))])),
  )
  return { server, lines, store, stored: Deferred.await(stored), answer }
})

describe("a step whose answer comes late", () => {
  it.effect("starts what follows once it is there", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const commit: typeof store.commit = (given) => Effect.delay(store.commit(given), "1 second")
      const server = yield* Effect.provideService(boot(), RunStore, { ...store, commit })
      yield* start([node("a", "gate"), node("b", "gate")], [edge("a", "b")]).pipe(
        Effect.provideContext(server.context),
        Effect.forkChild,
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(gates.arrived, ["a"])
      yield* gates.open("a")
      yield* TestClock.adjust("900 millis")
      assert.deepStrictEqual(gates.arrived, ["a"])
      yield* TestClock.adjust("200 millis")
      assert.deepStrictEqual(gates.arrived, ["a", "b"])
      yield* gates.open("b")
      yield* TestClock.adjust("2 seconds")
      const { items } = yield* store.list({ account, limit: 1 })
      assert.strictEqual(items[0]?.status, "COMPLETED")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("starts nothing once its run was canceled, and tells nobody", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { answer, lines, server, stored } = yield* answeringLate(
        ({ nodeRuns, run }) =>
          nodeRuns.some(({ nodeId }) => nodeId === "a") && run.finishedAt === null,
      )
      const runs = Context.get(server.context, Runs)
      const { id } = yield* start([node("a", "gate"), node("b", "gate")], [edge("a", "b")]).pipe(
        Effect.provideContext(server.context),
      )
      yield* gates.untilArrived("a")
      yield* gates.open("a")
      yield* stored
      yield* runs.cancel(account, id)
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([gates.arrived, lines], [["a"], []])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is not waited for once its run was canceled", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      let interrupted = 0
      const hanging = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => void (interrupted += 1)),
      )
      const commit: typeof store.commit = (given) =>
        given.nodeRuns.length > 0 ? hanging : store.commit(given)
      const server = yield* Effect.provideService(boot(), RunStore, { ...store, commit })
      const { id } = yield* start([node("a", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("a")
      yield* gates.open("a")
      yield* TestClock.adjust(1)
      assert.strictEqual(interrupted, 0)
      yield* Context.get(server.context, Runs).cancel(account, id)
      yield* TestClock.adjust(1)
      assert.strictEqual(interrupted, 1)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("a run that comes to a process", () => {
  it.effect("while that stops has its first nodes executed, no others, and is given back", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const { answer, server, store, stored } = yield* answeringLate(
        ({ expected }) => expected._tag === "New",
      )
      yield* Effect.forkChild(
        start([node("a", "gate"), node("b", "gate")], [edge("a", "b")]).pipe(
          Effect.provideContext(server.context),
        ),
      )
      yield* stored
      const other = yield* boot()
      const stopping = yield* Effect.forkChild(server.stop)
      yield* TestClock.adjust(1)
      yield* Deferred.succeed(answer, undefined)
      yield* gates.untilArrived("a")
      yield* gates.open("a")
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(stopping)
      const { items } = yield* store.list({ account, limit: 1 })
      assert.deepStrictEqual([items[0]?.fence, gates.arrived], [3, ["a", "b"]])
      assert.strictEqual(items[0]?.owner, Context.get(other.context, Runner).id)
      yield* gates.open("b")
      yield* TestClock.adjust("1 second")
      yield* other.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("twice is executed once, by the later execution", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const first = yield* boot()
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(first.context))
      yield* gates.untilArrived("n")
      const stopping = yield* Effect.forkChild(first.stop)
      yield* TestClock.adjust("11 seconds")
      yield* Fiber.join(stopping)
      let commits = 0
      const late = yield* answeringLate(() => (commits += 1) === 1)
      const { answer, lines, server: second, store, stored } = late
      yield* stored
      yield* store.requeue(Context.get(second.context, Runner).id, [id])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(gates.arrived, ["n", "n"])
      yield* Deferred.succeed(answer, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([gates.arrived, lines], [["n", "n"], []])
      yield* gates.open("n")
      yield* TestClock.adjust(1)
      const { attempts, status } = yield* runOf(id)
      assert.deepStrictEqual([status, attempts], ["COMPLETED", 3])
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runner.ended", () => {
  it.effect("waits for runs of the account alone, and tells nothing of one that was lost", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const server = yield* boot()
      const { ended, stop } = Context.get(server.context, Runner)
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      assert.isTrue(Option.isNone(ended(AccountId.make("acc_no"), id)))
      assert.isTrue(Option.isNone(ended(account, RunId.make("run_no"))))
      const [before, later] = [ended(account, id), ended(account, id)]
      const waiting = yield* Effect.forkChild(Option.getOrThrow(before))
      yield* TestClock.adjust(1)
      assert.isUndefined(waiting.pollUnsafe())
      yield* stop(id)
      assert.isUndefined(yield* Fiber.join(waiting))
      assert.isUndefined(yield* Option.getOrThrow(later))
      assert.isTrue(Option.isNone(ended(account, id)))
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})
