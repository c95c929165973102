// Starts that give the outputs of nodes: those nodes complete without being executed.
import { assert, describe, it } from "@effect/vitest"
import { KeyId, SessionId } from "@millrace/core/domain/Id"
import type { NodeRun } from "@millrace/core/domain/Run"
import { isPinned, nodeRunsOf } from "@millrace/core/domain/Run"
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Fiber, Option, Redacted, Schema } from "effect"
import { TestClock } from "effect/testing"
import {
  account,
  boot,
  byNode,
  edge,
  engine,
  Gates,
  node,
  nodeWith,
  run,
  save,
  shared,
  start,
  types,
} from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

/** `sum` could not succeed: what arrives is no number. */
const drawing = [
  [node("first", "gate"), node("sum", "add", { right: 1 }), node("r", "response")],
  [edge("first", "sum.left"), edge("sum", "r")],
] as const

const whoseLog = ({ logs }: NodeRun) => logs?.map(({ data, message }) => ({ data, message }))

describe("Runs.start with pinned outputs", () => {
  it.effect("completes a node with the given output, without an attempt and without cost", () =>
    Effect.gen(function* () {
      yield* Effect.flatMap(Gates, (gates) => gates.open("first"))
      const record = yield* run(...drawing, { pinnedOutputs: { sum: { output: 42 } } })
      const { first, r, sum } = byNode(record)
      assert.deepStrictEqual(
        { ...sum, logs: null },
        {
          ...sum,
          status: "COMPLETED",
          attempt: 0,
          input: null,
          output: { output: 42 },
          logs: null,
          error: null,
          credits: 0,
          sequence: null,
          startedAt: null,
          finishedAt: record.run.createdAt,
        },
      )
      assert.isTrue(isPinned(sum!))
      assert.isFalse(isPinned(first!) || isPinned(r!))
      assert.strictEqual(record.run.output, 42)
      assert.deepStrictEqual(
        [record.run.status, record.run.estimatedCredits, record.run.actualCredits],
        ["COMPLETED", 0, 0],
      )
      // Two nodes were executed, and only they have events.
      assert.deepStrictEqual([record.run.nodeRunCount, record.run.attempts], [2, 2])
      const events = yield* Effect.flatMap(RunStore, (runs) =>
        runs.events(account, record.run.id, 0),
      )
      assert.deepStrictEqual(
        events.map(({ data, type }) => [type, data["nodeId"]]),
        [
          ["run.started", undefined],
          ["node.completed", "first"],
          ["node.completed", "r"],
          ["run.completed", undefined],
        ],
      )
    }).pipe(at),
  )

  it.effect("lets the outputs of a branch decide which way the run goes", () =>
    Effect.gen(function* () {
      const nodes = [node("b", "branch", { take: "no" }), node("y", "pass"), node("n", "pass")]
      const edges = [edge("b.yes", "y"), edge("b.no", "n")]
      const record = yield* run(nodes, edges, { pinnedOutputs: { b: { yes: "this way" } } })
      const { n, y } = byNode(record)
      assert.deepStrictEqual([y?.status, y?.output], ["COMPLETED", { output: "this way" }])
      assert.strictEqual(n?.status, "SKIPPED")
      const neither = byNode(yield* run(nodes, edges, { pinnedOutputs: { b: {} } }))
      assert.deepStrictEqual([neither["y"]?.status, neither["n"]?.status], ["SKIPPED", "SKIPPED"])
    }).pipe(at),
  )

  it.effect("hands a pinned failure on by the output error", () =>
    Effect.gen(function* () {
      const nodes = [node("sum", "add", { left: 1, right: 2 }), node("after", "pass")]
      const error = { message: "no luck", nodeId: "sum", attempt: 1 }
      const pinnedOutputs = { sum: { error } }
      const record = yield* run(nodes, [edge("sum.error", "after")], { pinnedOutputs })
      assert.deepStrictEqual(byNode(record)["after"]?.output, { output: error })
    }).pipe(at),
  )

  it.effect("gives pinned outputs to expressions, and reads no expression in them", () =>
    Effect.gen(function* () {
      const nodes = [
        node("a", "pass"),
        node("b", "pass", { other: "x", input: "{{ a.output.name }}" }),
      ]
      const pinnedOutputs = { a: { output: { name: "{{ run.id }}" } } }
      const record = yield* run(nodes, [edge("a", "b.other")], { pinnedOutputs })
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: "{{ run.id }}" })
    }).pipe(at),
  )

  it.effect("completes disabled nodes and nodes behind skipped ones, too", () =>
    Effect.gen(function* () {
      const nodes = [
        node("b", "branch"),
        node("skipped", "pass"),
        nodeWith("off", "pass", {}, { disabled: true }),
        node("last", "pass"),
      ]
      const edges = [edge("b.yes", "skipped"), edge("skipped", "off"), edge("off", "last")]
      const record = yield* run(nodes, edges, { pinnedOutputs: { off: { output: 1 } } })
      const { last, off, skipped } = byNode(record)
      assert.deepStrictEqual(
        [skipped?.status, off?.status, last?.output],
        ["SKIPPED", "COMPLETED", { output: 1 }],
      )
    }).pipe(at),
  )

  it.effect("ends a run at once all of whose nodes are pinned", () =>
    Effect.gen(function* () {
      const pinnedOutputs = { a: { output: 1 }, b: { output: 2 } }
      const record = yield* run([node("a", "gate"), node("b", "gate")], [edge("a", "b")], {
        pinnedOutputs,
      })
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual(record.nodeRuns.map(isPinned), [true, true])
    }).pipe(at),
  )

  it.effect("says in the log of the node which key or session has given its output", () =>
    Effect.gen(function* () {
      const nodes = [node("a", "pass")]
      const pinnedOutputs = { a: { output: 1 } }
      const message = "Pinned: the start of the run gave this output, and the node was not executed"
      const keyId = KeyId.make("key_1")
      const sessionId = SessionId.make("ses_1")
      for (const who of [{}, { keyId }, { sessionId }] as const) {
        const record = yield* run(nodes, [], { pinnedOutputs, ...who })
        const data = Object.keys(who).length === 0 ? undefined : who
        assert.deepStrictEqual(whoseLog(byNode(record)["a"]!), [{ data, message }])
      }
    }).pipe(at),
  )

  it.effect("names everything that does not fit, and starts nothing", () =>
    Effect.gen(function* () {
      const nodes = [
        node("ask", "request"),
        node("sum", "add", { left: 1, right: 2 }),
        node("r", "response"),
      ]
      const refusal = Effect.fnUntraced(function* (pinnedOutputs: object) {
        const asked = { pinnedOutputs: pinnedOutputs as StartRequest["pinnedOutputs"] }
        const error = yield* Effect.flip(start(nodes, [edge("sum", "r")], asked))
        return (error as Error).message
      })
      const of = (id: string) => `Pinned output of node "${id}":`
      assert.strictEqual(
        yield* refusal({ none: { output: 1 } }),
        `${of("none")} the workflow has no such node`,
      )
      assert.strictEqual(
        yield* refusal({ sum: { outptu: 1 } }),
        `${of("sum")} it has no output "outptu"; did you mean "output"?; ` +
          `${of("sum")} output "output" needs a value`,
      )
      assert.strictEqual(
        yield* refusal({ sum: { output: "3" } }),
        `${of("sum")} output "output": expected number`,
      )
      assert.strictEqual(
        yield* refusal({ sum: {}, ask: { values: {} }, r: {} }),
        [
          `${of("sum")} output "output" needs a value`,
          `${of("ask")} it hands on the values of the run; give those as "values"`,
          `${of("r")} it puts out nothing; pin the nodes before it`,
        ].join("; "),
      )
      const page = yield* Effect.flatMap(RunStore, (runs) => runs.list({ account, limit: 10 }))
      assert.lengthOf(page.items, 0)
    }).pipe(at),
  )

  it.effect("refuses to give what a signal has to bring", () =>
    Effect.gen(function* () {
      const approve = define({
        key: "approve",
        waitsForSignal: true,
        inputs: {},
        outputs: { payload: Schema.optionalKey(Schema.Boolean) },
        run: () => Effect.succeed({}),
      })
      const { context, stop } = yield* boot([...types, approve])
      const pinnedOutputs = { a: { payload: true } }
      const refused = yield* start([node("a", "approve")], [], { pinnedOutputs }).pipe(
        Effect.provideContext(context),
        Effect.flip,
      )
      assert.strictEqual(
        (refused as Error).message,
        'Pinned output of node "a": it waits for a signal; send that to the run',
      )
      yield* stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("takes part in estimates and validations", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save(
        [node("one", "add", { left: 1, right: 2 }), node("two", "add", { left: 1, right: 2 })],
        [],
      )
      const asked = { workflowId, pinnedOutputs: { one: { output: 3 } } }
      const estimate = yield* runs.estimate(account, asked)
      assert.deepStrictEqual(estimate, {
        problems: [],
        estimatedCredits: 2_000_000,
        nodes: [{ nodeId: "two", nodeType: "add", credits: 2_000_000 }],
      })
      assert.strictEqual((yield* runs.validate(account, asked)).estimatedCredits, 2_000_000)
      const wrong = { workflowId, pinnedOutputs: { one: { output: "3" } } }
      const problem = {
        message: 'Pinned output of node "one": output "output": expected number',
        nodeId: "one",
        port: "output",
      }
      assert.deepStrictEqual((yield* runs.estimate(account, wrong)).problems, [problem])
      assert.deepStrictEqual((yield* runs.validate(account, wrong)).problems, [problem])
    }).pipe(at),
  )
})

describe("Runs.start of a single node with pinned outputs", () => {
  it.effect("takes them in the place of what the nodes before it put out last", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const first = yield* run(
        [
          node("a", "pass", { input: 1 }),
          node("b", "pass"),
          node("c", "pass", { input: "{{ a.output }}" }),
        ],
        [edge("a", "b"), edge("a", "c.other")],
      )
      const { workflowId } = first.run
      const alone = Effect.fnUntraced(function* (more: Partial<StartRequest>) {
        const { id } = yield* runs.start(account, { workflowId, singleNodeId: "b", ...more })
        const record = yield* runs.wait(account, id)
        return record.nodeRuns[0]?.output
      })
      const pinnedOutputs = { a: { output: "pinned" } }
      assert.deepStrictEqual(yield* alone({}), { output: 1 })
      assert.deepStrictEqual(yield* alone({ pinnedOutputs }), { output: "pinned" })
      assert.deepStrictEqual(yield* alone({ pinnedOutputs, singleNodeId: "c" }), {
        output: "pinned",
      })
      const refused = yield* Effect.flip(alone({ pinnedOutputs: { b: { output: 1 } } }))
      assert.match((refused as Error).message, /"b" cannot run alone: its own output is pinned/)
      const wrong = yield* Effect.flip(alone({ pinnedOutputs: { a: { nothing: 1 } } }))
      assert.match(
        (wrong as Error).message,
        /Pinned output of node "a": it has no output "nothing"/,
      )
    }).pipe(at),
  )

  it.effect("never takes what an earlier start has pinned", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const first = yield* run(
        [node("a", "pass", { input: "own" }), node("b", "pass")],
        [edge("a", "b")],
      )
      const { workflowId } = first.run
      const pinned = yield* runs.start(account, {
        workflowId,
        pinnedOutputs: { a: { output: "given" } },
      })
      yield* runs.wait(account, pinned.id)
      const { id } = yield* runs.start(account, { workflowId, singleNodeId: "b" })
      const record = yield* runs.wait(account, id)
      assert.deepStrictEqual(record.nodeRuns[0]?.output, { output: "own" })
    }).pipe(at),
  )
})

describe("pinned outputs", () => {
  it.effect("stay when another process takes the run up", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const [here, there] = [yield* boot(), yield* boot()]
      const { id } = yield* start([node("a", "crash"), node("b", "gate")], [edge("a", "b")], {
        pinnedOutputs: { a: { output: 7 } },
      }).pipe(Effect.provideContext(here.context))
      yield* gates.untilArrived("b")
      const stopping = yield* Effect.forkChild(here.stop)
      yield* TestClock.adjust("12 seconds")
      yield* Fiber.join(stopping)
      yield* gates.open("b")
      yield* TestClock.adjust("1 minute")
      const found = yield* Effect.flatMap(RunStore, (runs) => runs.find(account, id))
      const record = Option.getOrThrow(found)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: 7 })
      assert.isTrue(isPinned(nodeRunsOf(record)[0]!))
      yield* there.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("need no secret of their node, and open none", () =>
    Effect.gen(function* () {
      const ask = define({
        key: "ask",
        inputs: { text: Schema.String },
        secrets: ["text"],
        outputs: { output: Schema.String },
        run: ({ text }) => Effect.succeed({ output: text }),
      })
      const { context, stop } = yield* boot([...types, ask])
      const nodes = [node("a", "ask", { text: "{{ secrets.gone }}" }), node("b", "pass")]
      const begin = (pinnedOutputs: StartRequest["pinnedOutputs"]) =>
        Effect.provideContext(start(nodes, [edge("a", "b")], { pinnedOutputs }), context)
      const refused = yield* Effect.flip(begin({}))
      assert.match((refused as Error).message, /"gone"/)
      const { id } = yield* begin({ a: { output: "{{ secrets.token }}" } })
      const record = yield* Effect.flatMap(Runs, (runs) => runs.wait(account, id)).pipe(
        Effect.provideContext(context),
      )
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: "{{ secrets.token }}" })
      yield* stop
    }).pipe(
      Effect.provideService(CurrentSecrets, {
        names: () => Effect.succeed(["token"]),
        open: () =>
          Effect.succeed([{ name: "token", hosts: [], value: Redacted.make("sk_live_1") }]),
      }),
      Effect.provide(shared()),
    ),
  )
})
