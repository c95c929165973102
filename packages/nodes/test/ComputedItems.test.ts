// Loops whose bodies only compute: their items are computed within turns of the loop, and recorded
// as if each had been executed as a run of its own.
import { Stores } from "@millrace/memory"
import { AccountId } from "@millrace/core/domain/Id"
import type { Json as JsonValue, JsonObject } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs, type StartRequest } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Schema } from "effect"
import { TestClock } from "effect/testing"
import { constant } from "../src/Constant.ts"
import { ComputePermit } from "../src/internal/ComputePermit.ts"
import { forEach } from "../src/internal/ForEach.ts"
import { request } from "../src/internal/Request.ts"
import { response } from "../src/internal/Response.ts"
import { whileLoop } from "../src/internal/While.ts"

const account = AccountId.make("acc_test")

/** Doubles, and fails for negative numbers. `double` has no effects, `paid` may have some. */
const doubling = (key: "double" | "paid") =>
  define({
    key,
    ...(key === "double" ? { effects: "none" as const } : {}),
    inputs: { input: Schema.Number },
    outputs: { output: Json },
    credits: 2,
    run: ({ input }) =>
      input < 0
        ? Effect.fail(new NodeError({ message: `${input} is negative` }))
        : Effect.succeed({ output: input * 2 }),
  })

/** Puts out a long text. */
const long = define({
  key: "long",
  effects: "none",
  inputs: { input: Schema.Number },
  outputs: { output: Json },
  run: ({ input }) => Effect.succeed({ output: "x".repeat(input) }),
})

const types = NodeTypes.layer(
  constant,
  request,
  response,
  forEach,
  whileLoop,
  long,
  doubling("double"),
  doubling("paid"),
)

/** An engine whose commits are told before they are stored, and whose reads may fail. */
const engineOf = (
  commits: Array<RunCommit>,
  limits: Partial<Limits> = {},
  fails: () => boolean = () => false,
) => {
  const noted = Layer.effect(
    RunStore,
    Effect.map(RunStore, (good) =>
      RunStore.of({
        ...good,
        commit: (commit) =>
          Effect.tap(good.commit(commit), () => Effect.sync(() => commits.push(commit))),
        children: (query) =>
          Effect.suspend(() =>
            fails()
              ? Effect.fail(new StorageError({ operation: "children", cause: new Error("no") }))
              : good.children(query),
          ),
      }),
    ),
  )
  return Engine.layerWithoutWebhooks.pipe(
    Layer.provide(types),
    Layer.provide(ComputePermit.layer),
    Layer.provideMerge(noted),
    Layer.provideMerge(Stores.layer),
    Layer.provideMerge(Layer.succeed(CurrentLimits, { ...defaultLimits, ...limits })),
  )
}

const node = (id: string, type: string, inputs: JsonObject = {}, more: object = {}): Node => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs, ...more },
})

const edge = (
  source: string,
  sourceHandle: string,
  target: string,
  targetHandle: string,
): Edge => ({
  id: `${source}.${sourceHandle}-${target}.${targetHandle}`,
  source,
  sourceHandle,
  target,
  targetHandle,
})

/** A loop over items, whose body is one node of this type. */
const loop = (items: ReadonlyArray<JsonValue>, inputs: JsonObject = {}, type = "double") => ({
  nodes: [
    node("each", "for_each", { items, ...inputs }),
    { ...node("body", type), parentId: "each" },
    node("out", "response"),
  ],
  edges: [edge("each", "item", "body", "input"), edge("each", "results", "out", "input")],
})

/** Starts a workflow; what it comes to, with the records of its items. */
const play = Effect.fnUntraced(function* (
  drawing: { readonly nodes: ReadonlyArray<Node>; readonly edges: ReadonlyArray<Edge> },
  asked: Omit<StartRequest, "workflowId"> = {},
) {
  const [runs, workflows, store] = [yield* Runs, yield* Workflows, yield* RunStore]
  const head = { name: "Loop", description: null, thumbnailUrl: null }
  const { id: workflowId } = yield* workflows.create(account, { ...head, ...drawing, settings: {} })
  const { id } = yield* runs.start(account, { workflowId, ...asked })
  yield* TestClock.adjust("5 minutes")
  const { nodeRuns, run } = Option.getOrThrow(yield* store.find(account, id))
  const items: Array<RunRecord> = []
  const query = { account, parentRunId: id, nodeId: "each", limit: 5_000 }
  for (const child of yield* store.children({ ...query, after: -1 })) {
    items.push(Option.getOrThrow(yield* store.find(account, child.id)))
  }
  return { run, items, row: nodeRuns.find(({ nodeId }) => nodeId === "each")! }
})

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)

const indexesOf = (items: ReadonlyArray<RunRecord>) => items.map(({ run }) => run.parent!.index)

describe("a loop over a body that only computes", () => {
  it.effect("stores a thousand items with a few commits, and none of them is queued", () => {
    const commits: Array<RunCommit> = []
    return Effect.gen(function* () {
      const { items, run } = yield* play(loop(numbers(1_000)))
      assert.deepStrictEqual(
        run.output,
        numbers(1_000).map((each) => each * 2),
      )
      assert.deepStrictEqual(indexesOf(items), numbers(1_000))
      assert.isTrue(items.every((each) => each.run.status === "COMPLETED"))
      assert.strictEqual(run.childCredits, 2_000_000_000)
      assert.isAtMost(commits.length, 40)
      const starts = commits.flatMap((commit) => commit.starts ?? [])
      assert.isTrue(starts.every((each) => each.run.finishedAt !== null))
    }).pipe(Effect.provide(engineOf(commits)))
  })

  it.effect("stores no more with one commit than a turn may compute", () => {
    const commits: Array<RunCommit> = []
    return Effect.gen(function* () {
      const { run } = yield* play(loop(numbers(25), { concurrency: 1 }))
      assert.strictEqual(run.status, "COMPLETED")
      const sizes = commits.map(({ starts = [] }) => starts.length)
      assert.deepStrictEqual(
        sizes.filter((size) => size > 0),
        [10, 10, 5],
      )
    }).pipe(Effect.provide(engineOf(commits, { nodesPerStep: 10 })))
  })

  it.effect("stores the items of a turn once they are large together", () => {
    const commits: Array<RunCommit> = []
    return Effect.gen(function* () {
      const { run } = yield* play(
        loop(
          Array.from({ length: 60 }, () => 60_000),
          {},
          "long",
        ),
      )
      assert.strictEqual(run.status, "COMPLETED")
      const sizes = commits.map(({ starts = [] }) => starts.length)
      assert.isAtMost(Math.max(...sizes), 4)
      assert.isAtMost(commits.length, 60)
    }).pipe(Effect.provide(engineOf(commits)))
  })

  it.effect("records items as if each had been executed as a run of its own", () => {
    const pictureOf = Effect.fnUntraced(function* (type: "double" | "paid") {
      const items = [3, -1, 2]
      const { items: ended, row, run } = yield* play(loop(items, { onError: "continue" }, type))
      const [store, ledger] = [yield* RunStore, yield* LedgerStore]
      const children = yield* Effect.forEach(ended, (record) =>
        Effect.map(store.events(account, record.run.id, 0), (events) => {
          // By how many commits a run went, and whose they were, is no part of the record.
          const uneven = {
            id: "",
            executionId: "",
            definitionId: "",
            fence: 0,
            revision: 0,
            owner: "",
          }
          return { run: { ...record.run, ...uneven }, events, nodeRuns: record.nodeRuns }
        }),
      )
      const entries = yield* ledger.statement({ account, limit: 100 })
      const moved = entries.map(({ kind, posted, reserved }) => `${kind} ${posted} ${reserved}`)
      const text = JSON.stringify({ children, output: row.output, cost: run.childCredits })
      const unnamed = text
        .replaceAll(/"(run|wf)_[^"]+"/g, '"id"')
        .replaceAll(/run run_\S+/gi, "run id")
        .replaceAll(/"[a-z]*[aA]t":\d+/gi, '"at":0')
        .replaceAll(type, "type")
      return [JSON.parse(unnamed), moved.toSorted((a, b) => (a < b ? -1 : 1))] as const
    })
    const computed = Effect.provide(pictureOf("double"), engineOf([]))
    return Effect.gen(function* () {
      const executed = yield* Effect.provide(pictureOf("paid"), engineOf([]))
      assert.deepStrictEqual(yield* computed, executed)
    })
  })

  it.effect("goes on until an item fails, and fails with it once that is stored", () => {
    const commits: Array<RunCommit> = []
    return Effect.gen(function* () {
      const { items, row, run } = yield* play(loop([1, 2, -3, 4]))
      assert.strictEqual(run.status, "FAILED")
      assert.deepStrictEqual(
        items.map((each) => each.run.status),
        ["COMPLETED", "COMPLETED", "FAILED"],
      )
      const failed = items[2]!.run.id
      const why = `Item 2: Run ${failed} failed: Node "body" failed: -3 is negative`
      assert.strictEqual(row.error, why)
      assert.strictEqual(run.childCredits, 4_000_000)
    }).pipe(Effect.provide(engineOf(commits)))
  })

  it.effect("keeps results in order, with nothing or null for items that fail", () =>
    Effect.gen(function* () {
      const items = [1, -2, 3, -4, 5]
      const kept = yield* play(loop(items, { onError: "continue" }))
      assert.deepStrictEqual(kept.run.output, [2, null, 6, null, 10])
      const dropped = yield* play(loop(items, { onError: "drop", concurrency: 2 }))
      assert.deepStrictEqual(dropped.run.output, [2, 6, 10])
      assert.deepInclude(dropped.row.output, { count: 3, failed: 2 })
    }).pipe(Effect.provide(engineOf([]))),
  )

  it.effect(
    "executes items as runs of their own that do not end at once, each of them once",
    () => {
      const commits: Array<RunCommit> = []
      return Effect.gen(function* () {
        // A node that is tried again waits, and so does its item.
        const drawing = loop([1, -2, 3], { onError: "continue" })
        const retry = { attempts: 2, initial: "1 second", jitter: 0 }
        const nodes = drawing.nodes.map((each) =>
          each.id === "body" ? { ...each, data: { retry } } : each,
        )
        const { items, run } = yield* play({ ...drawing, nodes })
        assert.deepStrictEqual(run.output, [2, null, 6])
        assert.deepStrictEqual(indexesOf(items), [0, 1, 2])
        assert.strictEqual(items[1]!.run.attempts, 2)
        const isOpen = commits.flatMap(({ starts = [] }) =>
          starts.map((each) => each.run.finishedAt === null),
        )
        assert.deepStrictEqual(isOpen, [false, true, false])
      }).pipe(Effect.provide(engineOf(commits)))
    },
  )

  it.effect("begins no item twice when its node is tried again", () => {
    let failures = 0
    return Effect.gen(function* () {
      const drawing = loop(numbers(25))
      const retry = { attempts: 2, initial: "1 second", jitter: 0 }
      const nodes = drawing.nodes.map((each) =>
        each.id === "each" ? node("each", "for_each", { items: numbers(25) }, { retry }) : each,
      )
      const { items, row, run } = yield* play({ ...drawing, nodes })
      assert.deepStrictEqual([run.status, row.attempt], ["COMPLETED", 2])
      assert.deepStrictEqual(indexesOf(items), numbers(25))
      assert.strictEqual(run.childCredits, 50_000_000)
    }).pipe(Effect.provide(engineOf([], { nodesPerStep: 10 }, () => (failures += 1) <= 8)))
  })

  it.effect("computes no more items than the maximum of the run covers", () =>
    Effect.gen(function* () {
      const { items, row, run } = yield* play(loop(numbers(9)), { maxCredits: 7_000_000 })
      assert.strictEqual(run.status, "FAILED")
      assert.deepStrictEqual(indexesOf(items), [0, 1, 2])
      assert.strictEqual(run.childCredits, 6_000_000)
      assert.match(row.error ?? "", /its body needs 2 credits, and the run has 1 left/)
    }).pipe(Effect.provide(engineOf([]))),
  )

  it.effect("stores and pays those items that the account covers", () =>
    Effect.gen(function* () {
      const ledger = yield* LedgerStore
      const by = { accountId: account, actor: "ada", reason: "a test" }
      yield* ledger.meter({ ...by, id: "m" }, true)
      yield* ledger.grant({ ...by, id: "g", amount: 7_000_000, priority: 0, expiresAt: null })
      const { items, run } = yield* play(loop(numbers(9)))
      assert.strictEqual(run.status, "FAILED")
      assert.match(run.error ?? "", /The credits ran out/)
      assert.deepStrictEqual(indexesOf(items), [0, 1, 2])
      const { posted, reserved } = (yield* ledger.find(account)).account
      assert.deepStrictEqual([posted, reserved], [1_000_000, 0])
      assert.strictEqual(run.childCredits, 6_000_000)
    }).pipe(Effect.provide(engineOf([]))),
  )
})

describe("a while loop over a body that only computes", () => {
  const doubled = (until: number, maxIterations = 1_000) => ({
    nodes: [
      node("each", "while", {
        input: 1,
        until: { op: "greaterThan", value: until },
        maxIterations,
      }),
      { ...node("body", "double"), parentId: "each" },
      node("out", "response"),
    ],
    edges: [edge("each", "last", "body", "input"), edge("each", "output", "out", "input")],
  })

  it.effect("computes its iterations by turns, and ends as its rule says", () => {
    const commits: Array<RunCommit> = []
    return Effect.gen(function* () {
      const { items, row, run } = yield* play(doubled(1_000))
      assert.strictEqual(run.output, 1_024)
      assert.deepInclude(row.output, { iterations: 10 })
      assert.deepStrictEqual(indexesOf(items), numbers(10))
      const sizes = commits.map(({ starts = [] }) => starts.length)
      assert.deepStrictEqual(
        sizes.filter((size) => size > 0),
        [4, 4, 2],
      )
    }).pipe(Effect.provide(engineOf(commits, { nodesPerStep: 4 })))
  })

  it.effect("fails where its rule never holds, after as many iterations as it may have", () =>
    Effect.gen(function* () {
      const { items, row } = yield* play(doubled(1_000, 7))
      assert.strictEqual(items.length, 7)
      assert.match(row.error ?? "", /does not hold after 7 iterations/)
    }).pipe(Effect.provide(engineOf([]))),
  )
})
