/**
 * The start of a node alone, in a workflow with expressions: from which nodes they have values, and
 * what stands against it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Json } from "@millrace/core/domain/Json"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { layerWithoutWebhooks } from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { Runs } from "@millrace/core/engine/Runs"
import type { Evaluation, Evaluator } from "@millrace/core/ports/Evaluator"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Layer, Result, Schema } from "effect"
import { engineWithChildren } from "./TestChildren.ts"
import {
  account,
  boot,
  byNode,
  edge,
  node,
  nodeWith,
  save,
  shared,
  start,
  types,
} from "./TestEngine.ts"

const any = Schema.optionalKey(Json)

const give = define({
  key: "give",
  inputs: { value: any, input: any },
  outputs: { output: Json, other: any },
  run: ({ value = null }) => Effect.succeed({ output: value }),
})

const take = define({
  key: "take",
  inputs: { text: any, list: any },
  outputs: { output: Json, other: any },
  run: (inputs) => Effect.succeed({ output: { ...inputs } }),
})

/** Puts out how long the text is that it was given. */
const count = define({
  key: "count",
  inputs: { list: any },
  outputs: { output: Json },
  run: ({ list }) => Effect.succeed({ output: String(list).length }),
})

const broken = define({
  key: "broken",
  inputs: { text: any },
  outputs: { output: Json, other: any },
  run: () => Effect.fail("no luck"),
})

type Request = Omit<StartRequest, "workflowId">

/** Runs the workflow, then its node `b` alone: gives its row, or why the start was refused. */
const thenAlone = Effect.fnUntraced(function* (
  nodes: ReadonlyArray<Node>,
  edges: ReadonlyArray<Edge>,
  request: Request = {},
  first: Request = {},
) {
  const runs = yield* Runs
  const before = yield* start(nodes, edges, first)
  yield* runs.wait(account, before.id)
  const asked = { workflowId: before.workflowId, singleNodeId: "b", ...request }
  const started = yield* Effect.result(runs.start(account, asked))
  if (Result.isFailure(started)) return (started.failure as Error).message
  const record = yield* runs.wait(account, started.success.id)
  return { ...byNode(record)["b"]!, runId: record.run.id }
})

/** The same in a process of its own. */
const alone = Effect.fnUntraced(function* (...given: Parameters<typeof thenAlone>) {
  const { context, stop } = yield* boot([...types, give, take, broken])
  const made = yield* Effect.provideContext(thenAlone(...given), context)
  yield* stop
  return made
})

/** The same where values are stored beside their runs. */
const aloneWithValues = (...given: Parameters<typeof thenAlone>) =>
  thenAlone(...given).pipe(
    Effect.provide(
      layerWithoutWebhooks.pipe(
        Layer.provideMerge(Memory.layer),
        Layer.provide(NodeTypes.layer(give, take, count)),
      ),
    ),
  )

const rowOf = (made: Effect.Success<ReturnType<typeof alone>>) =>
  typeof made === "string" ? assert.fail(made) : made

const at = Effect.provide(shared())

/** `a` puts this out, and `b` comes behind `a` and `between`. */
const chain = (value: Json, b: Node) =>
  [
    [node("a", "give", { value }), node("between", "give", { value: "m" }), b],
    [edge("a", "between"), edge("between", "b.list")],
  ] as const

describe("the expressions of a node that runs alone", () => {
  it.effect("have the latest outputs of nodes from which no edge leads to it, too", () =>
    Effect.gen(function* () {
      const b = node("b", "take", { text: '{{ a.output.name }}, {{ "x" }}, {{ values.v }}' })
      const row = rowOf(yield* alone(...chain({ name: "Ada" }, b), { values: { v: 1 } }))
      assert.deepStrictEqual(row.output, { output: { text: "Ada, x, 1", list: "m" } })
    }).pipe(at),
  )

  it.effect("give its default output the values of such nodes, as they are", () =>
    Effect.gen(function* () {
      const data = { onError: "default", default: { output: "{{ a.output }}", other: 1 } }
      const b = nodeWith("b", "broken", {}, data)
      const edges = [edge("a", "between"), edge("between", "b.text")]
      const [nodes] = chain("{{ values.v }}", b)
      const text = "{{ values.v }}"
      const row = rowOf(
        yield* alone(nodes, edges, {}, { graphInputOverrides: { a: { value: text } } }),
      )
      assert.strictEqual(row.status, "COMPLETED")
      assert.deepStrictEqual(row.output, { output: text, other: 1 })
    }).pipe(at),
  )

  it.effect("are computed once, when the run starts, with what they use", () =>
    Effect.gen(function* () {
      const asked: Array<Evaluation> = []
      const evaluator: Evaluator = {
        ...(yield* CurrentEvaluator),
        absent: undefined,
        // The value of every expression is what it was given.
        evaluate: (evaluation) =>
          Effect.sync(() => {
            asked.push(evaluation)
            return evaluation.scripts.map(({ scope }) => ({ _tag: "Value", json: scope }))
          }),
      }
      const b = node("b", "take", { text: "{{ a.output.n + 1 }}", list: "{{ run.id }}" })
      const made = yield* alone(...chain({ n: 1 }, b)).pipe(
        Effect.provideService(CurrentEvaluator, evaluator),
      )
      const { output, runId } = rowOf(made)
      const text = { nodes: { a: { output: { n: 1 } } } }
      assert.deepStrictEqual(output, { output: { text, list: runId } })
      const [, single, ...others] = asked
      assert.deepStrictEqual(others, [])
      assert.deepInclude(single, { account, definitionId: runId })
      assert.deepStrictEqual(
        single?.scripts.map((script) => script.text),
        ["a.output.n + 1"],
      )
    }).pipe(at),
  )
})

describe("a node that calls a workflow and runs alone", () => {
  it.effect("has expressions in the inputs that the workflow's request declares", () =>
    Effect.gen(function* () {
      const fields = [{ name: "who", type: "string" }]
      const called = yield* save([node("r", "request", { fields })])
      const b = node("b", "call", { workflowId: called.id, who: "{{ a.output }}" })
      const nodes = [node("a", "pass", { input: "Ada" }), b]
      const row = rowOf(yield* thenAlone(nodes, [edge("a", "b")]))
      assert.deepStrictEqual(row.input, { workflowId: called.id, who: "Ada" })
    }).pipe(Effect.provide(engineWithChildren())),
  )
})

describe("the start of a node alone", () => {
  it.effect("is refused for what is wrong with its own expressions, and no others", () =>
    Effect.gen(function* () {
      const wrong = (id: string) => node(id, "take", { text: "{{ a.outptu }}" })
      const right = node("b", "take", { text: "{{ a.output }}" })
      const [nodes, edges] = chain(1, right)
      const why = 'input "text", column 6: "a" has no output "outptu"; did you mean "output"?'
      assert.strictEqual(
        yield* alone(nodes, edges, { nodeOverrides: [wrong("b")] }),
        `Node "b": ${why}`,
      )
      const other = yield* alone(nodes, edges, { nodeOverrides: [wrong("between")] })
      assert.deepStrictEqual(rowOf(other).output, { output: { text: 1, list: "m" } })
    }).pipe(at),
  )

  it.effect("is refused where its default output has no value", () =>
    Effect.gen(function* () {
      const data = { onError: "default", default: { output: "{{ a.output.none.x }}" } }
      assert.strictEqual(
        yield* alone(...chain({ none: null }, nodeWith("b", "take", {}, data))),
        'Node "b" cannot run alone: default of output "output": {{ a.output.none.x }}: ' +
          '"a.output.none" is null, so it has no "x"',
      )
    }).pipe(at),
  )

  it.effect("is refused for a node, or an override of one, that is not there", () =>
    Effect.gen(function* () {
      const drawn = chain(1, node("b", "take", { text: "{{ a.output }}" }))
      assert.strictEqual(
        yield* alone(...drawn, { singleNodeId: "gone" }),
        'Node "gone" cannot run alone: the workflow has no such node',
      )
      assert.strictEqual(
        yield* alone(...drawn, { nodeOverrides: [node("gone", "take")] }),
        'Node override "gone": the workflow has no such node',
      )
    }).pipe(at),
  )

  it.effect("is refused for pinned outputs that its workflow cannot have", () =>
    Effect.gen(function* () {
      const drawn = chain(1, node("b", "take", { text: "{{ a.output }}" }))
      assert.strictEqual(
        yield* alone(...drawn, { pinnedOutputs: { b: { output: 1 } } }),
        'Node "b" cannot run alone: its own output is pinned',
      )
      assert.match(
        (yield* alone(...drawn, { pinnedOutputs: { between: { nothing: 1 } } })) as string,
        /Pinned output of node "between": it has no output "nothing"/,
      )
    }).pipe(at),
  )

  it.effect("takes no more bytes of the nodes before it than it may, and none of pinned ones", () =>
    Effect.gen(function* () {
      const nodes = [
        node("a", "give", { value: "x".repeat(70_000) }),
        node("b", "take", { text: "{{ a.output }}" }),
      ]
      const drawn = [nodes, [edge("a", "b.list")]] as const
      assert.strictEqual(
        yield* aloneWithValues(...drawn),
        'Node "b" cannot run alone: the nodes before it: their outputs have 70002 bytes; ' +
          "a start takes at most 60000",
      )
      const pinnedOutputs = { a: { output: "short" } }
      const pinned = yield* aloneWithValues(...drawn, { pinnedOutputs })
      assert.deepStrictEqual(rowOf(pinned).output, { output: { text: "short", list: "short" } })
    }).pipe(Effect.provideService(CurrentLimits, { ...defaultLimits, bodyBytes: 60_000 })),
  )

  it.effect("does not count what the nodes before it were given, only what they put out", () =>
    Effect.gen(function* () {
      const nodes = [
        node("a", "give", { value: "x".repeat(70_000) }),
        node("m", "count"),
        node("b", "take", { text: "{{ m.output }}" }),
      ]
      const drawn = [nodes, [edge("a", "m.list"), edge("m", "b.list")]] as const
      const row = rowOf(yield* aloneWithValues(...drawn))
      assert.deepStrictEqual(row.output, { output: { text: 70_000, list: 70_000 } })
    }).pipe(Effect.provideService(CurrentLimits, { ...defaultLimits, bodyBytes: 60_000 })),
  )
})
