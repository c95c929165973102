// Large values of nodes: a node ends when its value is stored, however long that takes.
import { Json } from "@millrace/core/domain/Json"
import { layerWithoutWebhooks } from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { account, byNode, edge, node, nodeWith, start } from "./TestEngine.ts"

const text = "x".repeat(70_000)

/** Has a large output as soon as it is called. */
const quick = define({
  key: "quick",
  inputs: {},
  outputs: { output: Json },
  run: () => Effect.succeed({ output: text }),
})

/** Has it after a second. */
const slow = define({
  key: "slow",
  inputs: {},
  outputs: { output: Json },
  run: () => Effect.delay(Effect.succeed({ output: text }), "1 second"),
})

const length = define({
  key: "length",
  inputs: { input: Json },
  outputs: { output: Json },
  run: ({ input }) => Effect.succeed({ output: String(input).length }),
})

/** An engine whose store of values takes so long, and tells what it has stored. */
const engineStoringFor = (time: Duration.Input, tell = () => {}) => {
  const values = Layer.effect(
    ValueStore,
    Effect.map(ValueStore, (store) => ({
      ...store,
      put: (...given: Parameters<typeof store.put>) =>
        Effect.tap(Effect.delay(store.put(...given), time), () => Effect.sync(tell)),
    })),
  )
  return layerWithoutWebhooks.pipe(
    Layer.provideMerge(time === 0 ? Layer.empty : values),
    Layer.provideMerge(Memory.layer),
    Layer.provide(NodeTypes.layer(quick, slow, length)),
  )
}

const recordOf = Effect.fnUntraced(function* (id: Parameters<RunStore["Service"]["find"]>[1]) {
  const store = yield* RunStore
  return yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
})

describe("a large value of a node", () => {
  it.effect.each(["quick", "slow"])("of a handler that is %s is stored beside its run", (type) =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* start([node("a", type), node("b", "length")], [edge("a", "b")])
      const ending = yield* Effect.forkChild(runs.wait(account, id))
      yield* TestClock.adjust("2 seconds")
      const { nodeRuns } = yield* Fiber.join(ending)
      assert.deepStrictEqual(nodeRuns[0]?.output, { output: null })
      assert.strictEqual(nodeRuns[0]?.largeValues?.[0]?.bytes, text.length + 2)
      assert.deepStrictEqual(nodeRuns[1]?.output, { output: text.length })
    }).pipe(Effect.provide(engineStoringFor(0))),
  )

  it.effect.each([
    ["quick", 5],
    ["slow", 6],
  ] as const)("of a handler that is %s ends its node when it is stored", ([type, seconds]) =>
    Effect.gen(function* () {
      const { id } = yield* start([node("a", type), node("b", "length")], [edge("a", "b")])
      yield* TestClock.adjust(Duration.seconds(seconds - 1))
      assert.strictEqual(byNode(yield* recordOf(id))["a"]?.status, "RUNNING")
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust(1)
      const { nodeRuns, run } = yield* recordOf(id)
      assert.deepStrictEqual([run.status, run.attempts], ["COMPLETED", 2])
      assert.deepStrictEqual(nodeRuns[1]?.output, { output: text.length })
    }).pipe(Effect.provide(engineStoringFor("5 seconds"))),
  )

  it.effect("that is not stored in the time of its node fails it", () =>
    Effect.gen(function* () {
      const { id } = yield* start([nodeWith("a", "quick", {}, { timeout: 2_000 })])
      yield* TestClock.adjust("3 seconds")
      const { nodeRuns, run } = yield* recordOf(id)
      assert.deepStrictEqual([run.status, nodeRuns[0]?.error], ["FAILED", "timed out after 2s"])
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* recordOf(id)).run.revision, run.revision)
    }).pipe(Effect.provide(engineStoringFor("5 seconds"))),
  )

  it.effect("is stored no further once its run was canceled, and not recorded", () =>
    Effect.suspend(() => {
      let stored = 0
      return Effect.gen(function* () {
        const runs = yield* Runs
        const { id } = yield* start([node("a", "quick")])
        yield* TestClock.adjust("1 second")
        yield* runs.cancel(account, id)
        yield* TestClock.adjust("10 seconds")
        const row = byNode(yield* recordOf(id))["a"]
        assert.deepStrictEqual([row?.status, row?.output, stored], ["CANCELED", null, 0])
      }).pipe(Effect.provide(engineStoringFor("5 seconds", () => (stored += 1))))
    }),
  )
})

describe("a text that is computed against a run", () => {
  it.effect("reads the large values that it names, and says so where one is gone", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: runId, workflowId } = yield* start(
        [node("a", "quick"), node("b", "length")],
        [edge("a", "b")],
      )
      const ending = yield* Effect.forkChild(runs.wait(account, runId))
      yield* TestClock.adjust("2 seconds")
      const { nodeRuns } = yield* Fiber.join(ending)
      const at = (words: string) =>
        runs.evaluate(account, workflowId, { runId, nodeId: "b", text: words })
      const whole = `{{ a.output }}`
      assert.deepStrictEqual(yield* at(whole), { value: text, problems: [] })
      const values = yield* ValueStore
      const valueId = nodeRuns[0]!.largeValues![0]!.id
      yield* values.remove([{ account, runId, id: valueId }])
      const { problems, value } = yield* at(whole)
      assert.isUndefined(value)
      assert.match(problems[0]!.message, /^Node "b": .*gone/)
      assert.deepStrictEqual(yield* at("nothing large"), { value: "nothing large", problems: [] })
    }).pipe(Effect.provide(engineStoringFor(0))),
  )
})
