// What is said about a block of the event loop: how long it was, and whose handler it was.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Memory from "@millrace/memory/Stores"
import { Handlers } from "../../src/engine/internal/Handlers.ts"
import type { Watchdog } from "@millrace/core/ports/Watchdog"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"

const run = RunId.make("run_1")
const called = (nodeId: string) => ({ runId: run, nodeId, nodeType: "compute" })
/** A handler that had control for so many seconds, from the first on. */
const worked = (handlers: Handlers, nodeId: string, length = 0) => {
  const handler = handlers.begin(called(nodeId))
  handlers.enter(handler, second)
  handlers.leave(handler, second + length)
  return handler
}

const second = 1_000

describe("Handlers.look", () => {
  it("names the handler that gave no control back, and no other one", () => {
    const handlers = new Handlers()
    worked(handlers, "idle")
    handlers.end(worked(handlers, "busy", 10 * second))
    assert.strictEqual(
      handlers.look(9_600),
      'The event loop was blocked for 10.0 s: node "busy" (compute) of run run_1 gave no control ' +
        "back meanwhile",
    )
    assert.isUndefined(handlers.look(0))
  })

  it("names all that were in progress where it cannot know which one it was", () => {
    const handlers = new Handlers()
    for (const nodeId of ["a", "b"]) worked(handlers, nodeId)
    handlers.end(worked(handlers, "c"))
    assert.strictEqual(
      handlers.look(3_000),
      'The event loop was blocked for 3.0 s: in progress were node "c" (compute) of run run_1, ' +
        'node "b" (compute) of run run_1, node "a" (compute) of run run_1',
    )
    assert.isUndefined(handlers.takeBlocked())
  })

  it("names five handlers and counts the others", () => {
    const handlers = new Handlers()
    for (let at = 0; at < 12; at++) worked(handlers, `n${at}`)
    const message = handlers.look(3_000) ?? ""
    assert.strictEqual(message.match(/ of run /g)?.length, 5)
    assert.isTrue(message.endsWith(", and 7 more"))
  })

  it("says nothing of what is over within a second", () => {
    const handlers = new Handlers()
    worked(handlers, "quick", second / 2)
    assert.isUndefined(handlers.look(999))
    assert.isUndefined(handlers.takeBlocked())
  })
})

describe("Handlers.takeBlocked", () => {
  it("gives the run that has blocked the event loop, once", () => {
    const handlers = new Handlers()
    worked(handlers, "busy", 3 * second)
    assert.deepStrictEqual(handlers.takeBlocked(), { run, millis: 3_000 })
    assert.isUndefined(handlers.takeBlocked())
  })
})

describe("Handlers.begin", () => {
  it("tells the watchdog of every handler while it is in progress", () => {
    const told: Array<string> = []
    const watchdog: Watchdog = {
      began: ({ nodeId }) => told.push(`began ${nodeId}`),
      entered: (handler) => void told.push(`entered ${handler}`),
      left: (handler) => void told.push(`left ${handler}`),
      ended: (handler) => void told.push(`ended ${handler}`),
    }
    const handlers = new Handlers(watchdog)
    handlers.end(worked(handlers, "n"))
    assert.deepStrictEqual(told, ["began n", "entered 1", "left 1", "ended 1"])
  })
})

describe("Handlers.takeBlocked", () => {
  it("names the run that blocked for longest, also after a heartbeat that failed", () => {
    const handlers = new Handlers()
    worked(handlers, "long", 60 * second)
    const other = handlers.begin({ ...called("short"), runId: RunId.make("run_2") })
    handlers.enter(other, second)
    handlers.leave(other, 2 * second)
    const blocked = handlers.takeBlocked()
    assert.deepStrictEqual(blocked, { run, millis: 60_000 })
    assert.isUndefined(handlers.takeBlocked())
    handlers.blame(blocked!)
    assert.deepStrictEqual(handlers.takeBlocked(), { run, millis: 60_000 })
  })
})

describe("Handlers", () => {
  it("names the handler that had control for longest, whichever came first", () => {
    for (const lengths of [
      [5, 2],
      [2, 5],
    ]) {
      const handlers = new Handlers()
      for (const length of lengths) handlers.end(worked(handlers, `for ${length}`, length * second))
      assert.include(handlers.look(5 * second), `node "for 5" (compute) of run ${run} gave no`)
    }
  })

  it("blame a handler for half of a block or more", () => {
    const messages = [1_500, 1_499].map((millis) => {
      const handlers = new Handlers()
      worked(handlers, "busy", millis)
      return handlers.look(3_000)
    })
    assert.match(messages[0]!, /gave no control back meanwhile$/)
    assert.match(messages[1]!, /in progress were node "busy"/)
  })

  it("tell of a block of a second, and of no shorter one", () => {
    const handlers = new Handlers()
    assert.isUndefined(handlers.look(999))
    assert.isDefined(handlers.look(1_000))
    worked(handlers, "n", 999)
    assert.isUndefined(handlers.takeBlocked())
    worked(handlers, "n", 1_000)
    assert.deepStrictEqual(handlers.takeBlocked(), { run, millis: 1_000 })
  })

  it("remember which runs have blocked, until they are told to forget", () => {
    const handlers = new Handlers()
    const other = RunId.make("run_2")
    assert.isFalse(handlers.hasBlocked(run))
    worked(handlers, "n", 3 * second)
    assert.deepStrictEqual([handlers.hasBlocked(run), handlers.hasBlocked(other)], [true, false])
    handlers.forget(other)
    assert.isTrue(handlers.hasBlocked(run))
    handlers.forget(run)
    assert.isFalse(handlers.hasBlocked(run))
  })

  it("blame the later one of two that have blocked as long", () => {
    const handlers = new Handlers()
    const other = RunId.make("run_2")
    for (const each of [run, other]) handlers.blame({ run: each, millis: 2_000 })
    assert.deepStrictEqual(handlers.takeBlocked(), { run: other, millis: 2_000 })
  })

  it("know who is in progress, in whatever order others have ended", () => {
    const handlers = new Handlers()
    const [a, b, c, d] = ["a", "b", "c", "d"].map((nodeId) => worked(handlers, nodeId))
    for (const each of [a!, d!, b!]) handlers.end(each)
    // What has ended is named once more, and not later.
    handlers.look(0)
    assert.strictEqual(
      handlers.look(3_000),
      `The event loop was blocked for 3.0 s: in progress were node "c" (compute) of run ${run}`,
    )
    handlers.end(c!)
    handlers.look(0)
    assert.match(handlers.look(3_000)!, /no node was in progress$/)
  })

  it("name the twenty that ended last, the latest first", () => {
    const handlers = new Handlers()
    for (let n = 0; n < 25; n++) handlers.end(worked(handlers, `n${n}`))
    const message = handlers.look(3_000)!
    const names = [...message.matchAll(/node "(\w+)"/g)].map(([, name]) => name)
    assert.deepStrictEqual(names, ["n24", "n23", "n22", "n21", "n20"])
    assert.isTrue(message.endsWith(", and 15 more"))
    for (let n = 0; n < 5; n++) handlers.end(worked(handlers, `m${n}`))
    assert.isTrue(handlers.look(3_000)!.endsWith(`node "m0" (compute) of run ${run}`))
  })
})

/** An engine whose node type computes for so long while it is called, and what its store hears. */
const computing = Effect.fnUntraced(function* (millis: number) {
  const machine = yield* Clock.Clock
  let computed = 0n
  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: () => machine.currentTimeMillisUnsafe(),
    currentTimeMillis: machine.currentTimeMillis,
    currentTimeNanosUnsafe: () => machine.currentTimeNanosUnsafe(),
    currentTimeNanos: machine.currentTimeNanos,
    monotonicTimeNanosUnsafe: () => machine.monotonicTimeNanosUnsafe() + computed,
    monotonicTimeNanos: machine.monotonicTimeNanos,
    sleep: (duration) => machine.sleep(duration),
  }
  const compute = define({
    key: "compute",
    inputs: {},
    outputs: {},
    run: () => {
      computed += BigInt(millis) * 1_000_000n
      return Effect.succeed({})
    },
  })
  const told: Array<Blocked> = []
  const hearing = Effect.map(RunStore, (store) =>
    RunStore.of({
      ...store,
      heartbeat: (runner, leaseMillis, blocked) => {
        if (blocked !== undefined) told.push(blocked)
        return store.heartbeat(runner, leaseMillis, blocked)
      },
    }),
  )
  const stores = Layer.provideMerge(Layer.effect(RunStore, hearing), Memory.layer)
  const layer = Engine.layerWithoutWebhooks.pipe(
    Layer.provide(NodeTypes.layer(compute)),
    Layer.provide(stores),
    Layer.provide(Layer.succeed(Clock.Clock, clock)),
  )
  return { told, layer }
})

const account = AccountId.make("acc_test")

describe("RunExecution.begin", () => {
  it.effect("measures a handler that has ended as soon as it was called", () =>
    Effect.gen(function* () {
      const { layer, told } = yield* computing(3_000)
      yield* Effect.gen(function* () {
        const [runs, workflows] = [yield* Runs, yield* Workflows]
        const nodes = [{ id: "n", type: "compute", position: { x: 0, y: 0 } }]
        const content = { name: "N", description: null, thumbnailUrl: null, nodes, edges: [] }
        const { id: workflowId } = yield* workflows.create(account, content)
        const { id } = yield* runs.start(account, { workflowId })
        yield* runs.wait(account, id)
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(told, [{ run: id, millis: 3_000 }])
      }).pipe(Effect.provide(layer))
    }),
  )
})
