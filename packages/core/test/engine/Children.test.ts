// Runs that nodes start: what they take over of their parent, and which ones are refused.
import type { RunId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { Node } from "@millrace/core/domain/Workflow"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { call, childrenOf, engineWithChildren } from "./TestChildren.ts"
import {
  account,
  byNode,
  edge,
  engine,
  Gates,
  node,
  nodeWith,
  save,
  start,
  types,
} from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(engineWithChildren()))

/** A run as it is after a while. */
const later = Effect.fnUntraced(function* (id: RunId) {
  yield* TestClock.adjust("30 seconds")
  return Option.getOrThrow(yield* RunStore.use((store) => store.find(account, id)))
})

/** Starts a workflow, and waits for a while. */
const played = (...given: Parameters<typeof start>) =>
  Effect.flatMap(start(...given), ({ id }) => later(id))

/** A node that calls a workflow. The id is computed where it is not to be frozen. */
const calls = (id: string, workflowId: string, values = {}): Node =>
  node(id, "call", { workflowId, values })

const out = node("out", "response")

const inLoop = (one: Node): Node => ({ ...one, parentId: "loop" })

/** A loop over these items, with this node in it, which has the item. */
const loop = (items: ReadonlyArray<string | number>, body: Node) => [
  node("loop", "each", { items: [...items] }),
  inLoop(body),
]

const intoBody = edge("loop.item", "body.input")

describe("a run that a node starts", () => {
  it.effect("gives its output to the node, and knows where it stands", () =>
    Effect.gen(function* () {
      const p = node("p", "pass", { input: "{{ values.what }}" })
      const { id: innermost } = yield* save([p, out], [edge("p.output", "out.input")])
      const down = calls("down", innermost, { what: "{{ values.what }}" })
      const { id: inner } = yield* save([down, out], [edge("down.output", "out.input")])
      const settings = { priority: 3, source: "ui" } as const
      const root = yield* played([calls("call", inner, { what: "ore" })], [], settings)
      assert.strictEqual(root.run.status, "COMPLETED")
      const [child] = yield* childrenOf(root.run.id, "call")
      const [grandchild] = yield* childrenOf(child!.id, "down")
      const rootRunId = root.run.id
      assert.deepInclude(child!, {
        workflowId: inner,
        values: { what: "ore" },
        priority: 3,
        source: "ui",
        accountId: account,
        maxCredits: null,
        webhook: null,
      })
      const below = { runId: rootRunId, nodeId: "call", index: 0, rootRunId, depth: 1 }
      assert.deepStrictEqual(child!.parent, below)
      assert.deepStrictEqual(grandchild!.parent, {
        runId: child!.id,
        nodeId: "down",
        index: 0,
        rootRunId,
        depth: 2,
      })
      assert.deepStrictEqual(byNode(root)["call"]!.output, { output: "ore" })
      assert.deepStrictEqual([child!.output, grandchild!.output], ["ore", "ore"])
    }).pipe(at),
  )

  it.effect("executes a drawn workflow as it was at the start of the first run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const workflows = yield* Workflows
      const { id: inner } = yield* save([node("p", "pass", { input: "old" })])
      const outputs: Array<unknown> = []
      for (const [gate, id] of [
        ["g1", inner],
        ["g2", "{{ values.id }}"],
      ] as const) {
        const nodes = [node(gate, "gate", { input: {} }), calls("call", id)]
        const values = { id: inner }
        const root = yield* start(nodes, [edge(`${gate}.output`, "call.values")], { values })
        yield* TestClock.adjust("1 second")
        const changed = [node("p", "pass", { input: `new at ${gate}` })]
        yield* workflows.update(account, inner, { nodes: changed })
        yield* gates.open(gate)
        yield* later(root.id)
        const [child] = yield* childrenOf(root.id, "call")
        outputs.push(yield* Effect.map(later(child!.id), (it) => byNode(it)["p"]!.output))
      }
      assert.deepStrictEqual(outputs, [{ output: "old" }, { output: "new at g2" }])
    }).pipe(at),
  )

  it.effect("gives a large output to its node whole", () =>
    Effect.gen(function* () {
      const { id } = yield* save(
        [node("l", "long", { input: 70_000 }), out],
        [edge("l.output", "out.input")],
      )
      const nodes = [calls("call", id), node("t", "pass")]
      const root = yield* played(nodes, [edge("call.output", "t.input")])
      const [child] = yield* childrenOf(root.run.id, "call")
      assert.lengthOf(child!.largeValues ?? [], 1)
      assert.strictEqual(root.run.status, "COMPLETED")
      assert.isAbove(byNode(root)["call"]!.largeValues?.[0]?.bytes ?? 0, 70_000)
    }).pipe(at),
  )
})

/** Why a node of this run has failed, at its first attempt though it has three. */
const refusalOf = Effect.fnUntraced(function* (...given: Parameters<typeof start>) {
  const record = yield* played(...given)
  const row = record.nodeRuns.find(({ error }) => error !== null)
  assert.deepInclude(row ?? {}, { status: "FAILED", attempt: 1 })
  return row!.error!
})

const retried = (id: string) =>
  nodeWith("call", "call", { workflowId: id, values: {} }, { retry: { attempts: 3 } })

const computed = retried("{{ values.id }}")

describe("a run that a node cannot start", () => {
  it.effect.each(["wf_none", "no id", "wf_\u0000"])("is one of a workflow %j", (id) =>
    Effect.gen(function* () {
      const refused = yield* refusalOf([computed], [], { values: { id } })
      assert.match(refused, /^there is no workflow/)
    }).pipe(at),
  )

  it.effect("is one of a workflow whose start would be refused", () =>
    Effect.gen(function* () {
      const fields = [{ name: "order", type: "number", required: true }]
      const { id } = yield* save([node("in", "request", { fields })])
      const refused = yield* refusalOf([computed], [], { values: { id } })
      assert.include(refused, `workflow "${id}" cannot be started: `)
      assert.include(refused, "order")
    }).pipe(at),
  )

  it.effect("is eleven deep", () =>
    Effect.gen(function* () {
      const { id } = yield* save([calls("down", "{{ values.id }}", { id: "{{ values.id }}" })])
      const { run } = yield* played([calls("down", id, { id })])
      assert.strictEqual(run.status, "FAILED")
      const message = "runs that start each other are 11 deep; the limit is 10"
      assert.include(run.error ?? "", message)
      let depth = 0
      for (let [child] = yield* childrenOf(run.id, "down"); child !== undefined; depth++) {
        ;[child] = yield* childrenOf(child.id, "down")
      }
      assert.strictEqual(depth, 10)
    }).pipe(at),
  )

  it.effect("costs more than its parent has left of its maximum", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("s", "spend", { price: 3, charges: [3] })])
      const first = node("first", "spend", { price: 2, charges: [2], input: {} })
      const begin = (credits: number) =>
        [
          [first, retried(id)],
          [edge("first.output", "call.values")],
          { maxCredits: credits * 1e6 },
        ] as const
      const { run } = yield* played(...begin(5))
      assert.deepStrictEqual([run.status, run.childCredits], ["COMPLETED", 3_000_000])
      const [child] = yield* childrenOf(run.id, "call")
      assert.strictEqual(child!.maxCredits, 3_000_000)
      const refused = yield* refusalOf(...begin(4))
      assert.strictEqual(
        refused,
        `workflow "${id}" needs 3 credits, and the run has 2 left of its maximum`,
      )
      const body = node("body", "spend", { price: 3 })
      const ofBody = yield* refusalOf(loop([1], body), [intoBody], { maxCredits: 2e6 })
      assert.strictEqual(ofBody, "its body needs 3 credits, and the run has 2 left of its maximum")
    }).pipe(at),
  )

  it.effect("would wait for the key of its parent", () =>
    Effect.gen(function* () {
      const nodes = [calls("call", "{{ values.id }}", { k: "other" })]
      const settings = { concurrencyKey: "{{ values.k }}" }
      const { id: workflowId } = yield* save(nodes, [], settings)
      const runs = yield* Runs
      const values = { k: "other", id: workflowId }
      const { id } = yield* runs.start(account, { workflowId, values })
      const { run } = yield* later(id)
      const message = 'would wait for this run, which has the key "other", too'
      assert.strictEqual(run.error, `Node "call" failed: workflow "${workflowId}" ${message}`)
      const free = yield* runs.start(account, { workflowId, values: { ...values, k: "mine" } })
      yield* later(free.id)
      assert.lengthOf(yield* childrenOf(free.id, "call"), 1)
    }).pipe(at),
  )

  it.effect("has more bytes of values than a request may have", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("p", "pass")])
      const [fits, large] = [{ a: "é".repeat(46) }, { a: "é".repeat(46) + "x" }]
      assert.strictEqual((yield* played([calls("call", id, fits)])).run.status, "COMPLETED")
      const refused = yield* refusalOf([calls("call", id, large)])
      assert.strictEqual(refused, "the values have 101 bytes; the limit is 100")
      const body = node("body", "pass")
      const ofBody = yield* refusalOf(loop(["x".repeat(81)], body), [intoBody])
      assert.match(
        ofBody,
        /^the item, and what the body uses of nodes outside of it, have 101 bytes/,
      )
    }).pipe(
      Effect.provide(
        engineWithChildren().pipe(
          Layer.provide(Layer.succeed(CurrentLimits, { ...defaultLimits, bodyBytes: 100 })),
        ),
      ),
    ),
  )

  it.effect("is any where the engine starts none for nodes", () =>
    Effect.gen(function* () {
      const { run } = yield* start([calls("call", "{{ values.id }}")], [], {
        values: { id: "wf_1" },
      }).pipe(Effect.flatMap(({ id }) => later(id)))
      assert.include(run.error ?? "", "this engine starts no runs for nodes")
    }).pipe(Effect.provide(engine([...types, call]))),
  )
})

describe("the body of a loop", () => {
  it.effect("is executed for each item, as a run that knows what is outside of it", () =>
    Effect.gen(function* () {
      const nodes = [
        ...loop(["a", "b"], node("body", "pass")),
        node("t", "pass", { input: "{{ values.x }}" }),
      ]
      const given = { values: { x: "!" }, priority: 2, graphInputOverrides: { t: { input: 7 } } }
      const root = yield* played([...nodes], [intoBody], given)
      assert.strictEqual(root.run.status, "COMPLETED")
      const children = yield* childrenOf(root.run.id, "loop")
      assert.deepStrictEqual(byNode(root)["loop"]!.output, { results: ["a", "b"] })
      const { definition, nodeRuns, run } = yield* later(children[1]!.id)
      assert.deepInclude(run, {
        mode: "item",
        priority: 2,
        values: { x: "!" },
        inputOverrides: {},
        triggerId: null,
        workflowId: root.run.workflowId,
        workflowRevision: 1,
        maxCredits: null,
      })
      assert.notStrictEqual(run.definitionId, root.run.definitionId)
      assert.deepStrictEqual(
        definition.nodes.map(({ id }) => id),
        ["loop", "body"],
      )
      assert.deepStrictEqual(nodeRuns[0]!.output, { item: "b" })
      assert.deepInclude(nodeRuns[0]!.logs![0]!, { data: { runId: root.run.id } })
      assert.deepStrictEqual(nodeRuns[1]!.output, { output: "b" })
      assert.strictEqual(run.definitionId, children[0]!.definitionId)
    }).pipe(at),
  )

  it.effect("takes over the inputs that the start gives to its nodes, and no others", () =>
    Effect.gen(function* () {
      const nodes = [...loop(["a"], node("body", "pass")), node("t", "pass")]
      const graphInputOverrides = { body: { other: 1 }, t: { other: 2 } }
      const { run } = yield* played(nodes, [intoBody], { graphInputOverrides })
      const [child] = yield* childrenOf(run.id, "loop")
      assert.deepStrictEqual<unknown>(child!.inputOverrides, { body: { other: 1 } })
    }).pipe(at),
  )
})

describe("what a node reads of the runs that it has started", () => {
  const lost = new StorageError({ operation: "read", cause: new Error("lost") })

  it.effect("is read again where the store fails, and else its attempt fails", () =>
    Effect.suspend(() => {
      let failures = 5
      const around = Layer.effect(
        RunStore,
        Effect.map(RunStore, (store) => ({
          ...store,
          children: (query: Parameters<typeof store.children>[0]) =>
            Effect.suspend(() => (failures-- > 0 ? Effect.fail(lost) : store.children(query))),
        })),
      )
      return Effect.gen(function* () {
        const { id } = yield* save([node("p", "pass")])
        const nodes = [calls("call", id)]
        assert.strictEqual((yield* played(nodes)).run.status, "COMPLETED")
        failures = 8
        const { run } = yield* played(nodes)
        assert.include(run.error ?? "", "the children of the run cannot be read: ")
      }).pipe(Effect.provide(engineWithChildren(around)))
    }),
  )
})
