/**
 * Large values in trouble: a store that is full, and a value that vanished.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import type { Node } from "@millrace/core/domain/Workflow"
import { layerWithoutWebhooks } from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { StorageError } from "@millrace/core/ports/StorageError"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Stores } from "@millrace/memory"
import { Effect, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"

const account = AccountId.make("acc_test")

const make = define({
  key: "make",
  inputs: {},
  outputs: { output: Json },
  run: () => Effect.succeed({ output: "x".repeat(70_000) }),
})

const relay = define({
  key: "relay",
  inputs: { input: Json },
  outputs: { output: Json },
  run: ({ input }) => Effect.succeed({ output: input }),
})

/** An engine that keeps no values in memory, on a store of values of its own. */
const engineWith = (change: (store: ValueStore["Service"]) => Partial<ValueStore["Service"]>) => {
  const values = Layer.effect(
    ValueStore,
    Effect.map(ValueStore, (store) => ({ ...store, ...change(store) })),
  )
  return layerWithoutWebhooks.pipe(
    Layer.provideMerge(values),
    Layer.provideMerge(Stores.layer),
    Layer.provide(NodeTypes.layer(make, relay)),
    Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, valueMemoryBytes: 1 })),
  )
}

const full = new StorageError({
  operation: "ValueStore.put",
  cause: new Error("No space left on device"),
})

const nodeOf = (id: string, type: string, data: object = {}) =>
  ({ id, type, position: { x: 0, y: 0 }, data }) as Node

const run = Effect.fnUntraced(function* (retry: object) {
  const workflows = yield* Workflows
  const runs = yield* Runs
  const { id } = yield* workflows.create(account, {
    name: "Large",
    description: null,
    thumbnailUrl: null,
    nodes: [nodeOf("a", "make", retry), nodeOf("b", "relay")],
    edges: [{ id: "e", source: "a", target: "b" }],
  })
  const { id: runId } = yield* runs.start(account, { workflowId: id })
  const fiber = yield* Effect.forkChild(runs.wait(account, runId))
  yield* TestClock.adjust("1 minute")
  const record = yield* Fiber.join(fiber)
  return { record, nodes: Object.fromEntries(nodeRunsOf(record).map((row) => [row.nodeId, row])) }
})

describe("a large value", () => {
  it.effect("that cannot be stored fails the attempt, with the reason", () =>
    Effect.gen(function* () {
      const { nodes, record } = yield* run({})
      const reason = "The store failed in ValueStore.put: No space left on device"
      const error = `the value of "output" cannot be stored: ${reason}`
      assert.strictEqual(nodes["a"]?.error, error)
      assert.strictEqual(record.run.error, `Node "a" failed: ${error}`)
      assert.isNull(nodes["a"]?.largeValues)
    }).pipe(Effect.provide(engineWith(() => ({ put: () => Effect.fail(full) })))),
  )

  it.effect("is stored by the next attempt, once there is room", () =>
    Effect.suspend(() => {
      let left = 8
      const put =
        (store: ValueStore["Service"]): ValueStore["Service"]["put"] =>
        (key, bytes) =>
          left-- > 0 ? Effect.fail(full) : store.put(key, bytes)
      return Effect.gen(function* () {
        const { nodes, record } = yield* run({ retry: { attempts: 2, initial: "1 second" } })
        assert.isNull(record.run.error)
        assert.strictEqual(nodes["a"]?.attempt, 2)
        assert.strictEqual(nodes["b"]?.largeValues?.length, 2)
      }).pipe(Effect.provide(engineWith((store) => ({ put: put(store) }))))
    }),
  )

  it.effect("that vanished fails the node that gets it, in one sentence", () =>
    Effect.gen(function* () {
      const { nodes } = yield* run({})
      const { id } = nodes["a"]!.largeValues![0]!
      assert.strictEqual(
        nodes["b"]?.error,
        `the stored value ${id} (70002 bytes), which this node gets, is gone`,
      )
    }).pipe(Effect.provide(engineWith(() => ({ read: () => Effect.succeed(Option.none()) })))),
  )
})
