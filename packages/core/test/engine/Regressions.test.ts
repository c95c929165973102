// What the simulation found, each as the shortest story that shows it.
import type { RunId } from "@millrace/core/domain/Id"
import { RunnerId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, Gates, node, nodeWith, shared, start, types } from "./TestEngine.ts"

/** Suspends itself for two seconds, and then waits until the test opens it. */
const doze = define({
  key: "doze",
  inputs: {},
  outputs: { output: Schema.optionalKey(Json) },
  run: Effect.fnUntraced(function* () {
    const { nodeId, resumed, suspend } = yield* CurrentNode
    if (resumed === undefined) {
      return yield* suspend({ until: (yield* Clock.currentTimeMillis) + 2_000 }, { slept: true })
    }
    yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
    return { output: resumed }
  }),
})

/** Charges two credits, and then waits until the test opens it. */
const toll = define({
  key: "toll",
  inputs: {},
  outputs: {},
  run: Effect.fnUntraced(function* () {
    const { charge, nodeId } = yield* CurrentNode
    yield* charge(2)
    yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
    return {}
  }),
})

const known = [...types, doze, toll]

/** Starts a run in a process that dies after so long, as one does that is killed. */
const orphanAfter = (millis: number, ...workflow: Parameters<typeof start>) =>
  Effect.gen(function* () {
    const first = yield* boot(known)
    const store = yield* RunStore
    const { id } = yield* start(...workflow).pipe(Effect.provideContext(first.context))
    yield* TestClock.adjust(millis)
    yield* store.takeOver(account, id, RunnerId.make("exe_dead"))
    yield* first.stop
    return id
  })

/** The run as another process ends it. */
const endedElsewhere = (id: RunId) =>
  Effect.gen(function* () {
    const second = yield* boot(known)
    const runs = Context.get(second.context, Runs)
    const waiting = yield* Effect.forkChild(runs.wait(account, id))
    yield* TestClock.adjust("1 minute")
    const record = yield* Fiber.join(waiting)
    yield* second.stop
    return record
  })

describe("RunState.resume", () => {
  it.effect("still names the node that failed first, whatever comes before it in the run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* orphanAfter(2_000, [
        nodeWith("a", "sleepy", { millis: 60_000 }, { timeout: 1_000 }),
        node("b", "fail", { message: "first" }),
        node("c", "gate"),
      ])
      yield* gates.open("c")
      const { run } = yield* endedElsewhere(id)
      assert.strictEqual(run.error, 'Node "b" failed: first (and 1 more node)')
    }).pipe(Effect.provide(shared())),
  )
})

describe("Step.decideStep", () => {
  it.effect("keeps what a node left behind while it waits for a slot after its wait", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* orphanAfter(2_000, [node("a", "nap", { millis: 600 }), node("b", "gate")])
      yield* gates.open("b")
      const record = yield* endedElsewhere(id)
      const { attempt, credits, output } = byNode(record)["a"]!
      assert.deepStrictEqual(output, { output: { input: null, resumed: { slept: 600 } } })
      assert.strictEqual(attempt, 1)
      assert.strictEqual(credits, 2_000_000)
      assert.strictEqual(record.run.nodeRunCount, 2)
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, nodesAtOnce: 1 }),
    ),
  )

  it.effect("counts the attempt that repeats one which was lost after it had been suspended", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const id = yield* orphanAfter(3_000, [node("n", "doze")])
      assert.deepStrictEqual(gates.arrived, ["n"])
      yield* gates.open("n")
      const record = yield* endedElsewhere(id)
      assert.deepStrictEqual(byNode(record)["n"]?.output, { output: { slept: true } })
      assert.strictEqual(byNode(record)["n"]?.attempt, 2)
      assert.strictEqual(record.run.attempts, 2)
      assert.strictEqual(record.run.nodeRunCount, 1)
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.cancel", () => {
  it.effect("stops at once what executes here, though it was canceled elsewhere before", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const here = yield* boot()
      const elsewhere = yield* boot()
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(here.context))
      yield* gates.untilArrived("n")
      yield* Context.get(elsewhere.context, Runs).cancel(account, id)
      assert.deepStrictEqual(gates.interrupted, [])
      yield* Context.get(here.context, Runs).cancel(account, id)
      assert.deepStrictEqual(gates.interrupted, ["n"])
      yield* here.stop
      yield* elsewhere.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("charges nothing of an attempt that another process has begun anew", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const here = yield* boot(known)
      const { id } = yield* start([node("n", "toll")]).pipe(Effect.provideContext(here.context))
      yield* gates.untilArrived("n")
      const taken = yield* store.takeOver(account, id, RunnerId.make("exe_other"))
      const { run } = Option.getOrThrow(taken)
      const active = run.active.map((each) => ({ ...each, attempt: each.attempt + 1 }))
      yield* store.commit({
        expected: { _tag: "Existing", fence: run.fence, revision: run.revision },
        run: { ...run, active, revision: run.revision + 1 },
        nodeRuns: [],
        rewritten: [],
        events: [],
        deliveries: [],
      })
      yield* Context.get(here.context, Runs).cancel(account, id)
      const ended = Option.getOrThrow(yield* store.find(account, id))
      assert.strictEqual(ended.run.status, "CANCELED")
      assert.strictEqual(ended.run.actualCredits, 0)
      yield* here.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("ends no wait when its process dies before the run is canceled", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const store = yield* RunStore
      const id = yield* orphanAfter(2_000, [node("n", "nap", { millis: 3_600_000 })])
      const second = yield* boot(known)
      yield* TestClock.adjust("1 minute")
      const { run } = Option.getOrThrow(yield* store.find(account, id))
      assert.strictEqual(run.owner, null)
      assert.strictEqual(run.dueAt, run.waiting[0]?.due)
      assert.deepStrictEqual(gates.arrived, ["n"])
      yield* second.stop
    }).pipe(Effect.provide(shared())),
  )
})
