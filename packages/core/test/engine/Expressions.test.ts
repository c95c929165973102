// Expressions in the inputs of nodes: which texts they are, what they see, and what they give.
import { assert, describe, it } from "@effect/vitest"
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { notStarted } from "@millrace/core/domain/Run"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { CommitBuilder } from "../../src/engine/internal/CommitBuilder.ts"
import { account, boot, byNode, edge, node, nodeWith, shared, start, types } from "./TestEngine.ts"

const any = Schema.optionalKey(Json)

const more = [
  ...types,
  define({
    key: "give",
    effects: "none",
    inputs: { value: any },
    outputs: { output: Json, other: any },
    run: ({ value = null }) => Effect.succeed({ output: value }),
  }),
  define({
    key: "need",
    inputs: { text: Schema.String, number: Schema.optionalKey(Schema.Number), list: any },
    outputs: { output: Json },
    run: (inputs) => Effect.succeed({ output: { ...inputs } }),
  }),
  define({
    key: "raw",
    inputs: { text: any },
    raw: { text: (text) => (text === "{{ bad }}" ? ["holds nothing good"] : []) },
    outputs: { output: Json },
    run: ({ text = null }) => Effect.succeed({ output: text }),
  }),
  define({
    key: "broken",
    inputs: { text: any },
    outputs: { output: Json },
    run: () => Effect.fail("no luck"),
  }),
]

/** Starts a graph and waits for its end. */
const run = (...graph: Parameters<typeof start>) =>
  Effect.gen(function* () {
    const { context, stop } = yield* boot(more)
    const record = yield* Effect.gen(function* () {
      const { id } = yield* start(...graph)
      return yield* (yield* Runs).wait(account, id)
    }).pipe(Effect.provideContext(context))
    yield* stop
    return record
  })

const refusal = (...graph: Parameters<typeof start>) =>
  Effect.gen(function* () {
    const { context, stop } = yield* boot(more)
    const refused = yield* Effect.flip(start(...graph)).pipe(Effect.provideContext(context))
    yield* stop
    return (refused as Error).message
  })

const body = { name: "Ada", items: [{ id: 7 }, { id: 8 }], none: null }

/** `a` puts `body` out, and `b` has these literals. */
const after = (inputs: { readonly [port: string]: Json }, data = {}, type = "need") =>
  [
    [node("a", "give", { value: body }), nodeWith("b", type, inputs, data)],
    [edge("a", "b")],
  ] as const

describe("a text with expressions in a literal", () => {
  it.effect("becomes the value where it is one expression, whatever its type", () =>
    Effect.gen(function* () {
      const list = ["{{ a.output.items }}", { x: "{{a.output.none}}" }, '{{ "{{" }}', "{{ 1.5 }}"]
      const inputs = { text: "{{ a.output.name }}", number: "{{ a.output.items[1].id }}", list }
      const record = yield* run(...after(inputs))
      const output = {
        text: "Ada",
        number: 8,
        list: [body.items, { x: null }, "{{", 1.5],
      }
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output })
      assert.deepStrictEqual(byNode(record)["b"]?.input, output)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("has the values in it as text otherwise, and every other value as JSON", () =>
    Effect.gen(function* () {
      const text = "{{ a.output.name }}: {{ a.output.items }}, {{ values.x }} {{ a.output.none }}"
      const record = yield* run(...after({ text }), { values: { x: true } })
      const filled = 'Ada: [{"id":7},{"id":8}], true null'
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: { text: filled } })
    }).pipe(Effect.provide(shared())),
  )

  it.effect("sees the run, its values, its input, and nodes of any id before it", () =>
    Effect.gen(function* () {
      const list = [
        "{{ run.id }}",
        "{{ run.startedAt }}",
        "{{ values }}",
        '{{ nodes["a-1"].output }}',
      ]
      const { run: ended, nodeRuns } = yield* run(
        [node("a-1", "give", { value: "one" }), node("b", "need", { text: "{{ input }}", list })],
        [edge("a-1", "b")],
        { values: { x: 2 } },
      )
      const startedAt = new Date(ended.startedAt!).toISOString()
      assert.deepStrictEqual(nodeRuns.at(-1)?.output, {
        output: { text: "one", list: [ended.id, startedAt, { x: 2 }, "one"] },
      })
    }).pipe(Effect.provide(shared())),
  )
})

describe("what an expression cannot have", () => {
  const problem = (text: string, where = 'Node "b": input "text"') =>
    Effect.gen(function* () {
      const message = yield* refusal(...after({ text }))
      assert.isTrue(message.startsWith(where), message)
      return message.slice(where.length)
    })

  it.effect("is named at the start by node, port and column", () =>
    Effect.gen(function* () {
      const graph = [
        [
          node("a", "give"),
          node("b", "need", { text: "x {{ c.output }} {{ d.output }} {{ b.output }}" }),
          node("c", "need", { text: "{{ aa.output }} {{ input }}", list: [["{{"]] }),
          node("d", "need", { text: "{{ nodes.x }} {{ ] }} {{ }}" }),
        ],
        [edge("a", "b"), edge("b", "d")],
      ] as const
      const c = 'Node "c": input "'
      assert.deepStrictEqual(
        (yield* refusal(...graph)).split("; Node").join("\nNode").split("\n"),
        [
          'Node "b": input "text", column 6: no edges lead from "c" to "b"; ' +
            'draw an edge from "c" to "b"',
          'Node "b": input "text", column 21: "d" comes after "b", so its output is not known yet',
          'Node "b": input "text", column 36: "b" cannot use its own output',
          `${c}text", column 4: unknown name "aa"; did you mean "a"?`,
          `${c}text", column 20: no edge brings input; draw an edge to the input "input" of "c"`,
          `${c}list"[0][0], column 1: {{ is never closed; ` +
            'write {{ "{{" }} for the two braces as text',
          'Node "d": input "text", column 4: there is no node "x"; did you mean "a"?',
          'Node "d": input "text", column 18: unexpected ]',
          'Node "d": input "text", column 23: {{ }} holds no expression',
        ],
      )
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is an output that its node does not have, with the nearest one", () =>
    Effect.gen(function* () {
      const cases = [
        ["{{ a.outptu.items }}", 6, 'did you mean "output"?'],
        ['{{ nodes.a["ouptut"] }}', 12, 'did you mean "output"?'],
        ["{{ nodes['a']?.body.x }}", 16, "it has output, other, error"],
        ["{{ 1 + a.body.length }}", 10, "it has output, other, error"],
      ] as const
      for (const [text, column, hint] of cases) {
        const said = yield* problem(text)
        assert.match(said, new RegExp(`^, column ${column}: "a" has no output "\\w+"; `), text)
        assert.isTrue(said.split("; ")[1]?.startsWith(hint), said)
      }
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is no output that is there, computed, an expression's own, or every object's", () =>
    Effect.gen(function* () {
      const texts = [
        "{{ a.other }}",
        "{{ a.error.message }}",
        '{{ a["output"].whatever }}',
        "{{ nodes[values.x].whatever }}",
        "{{ [1].map((a) => a.whatever) }}",
        "{{ a.hasOwnProperty('output') }}",
        "{{ Object.keys(a).whatever }}",
      ]
      const { context, stop } = yield* boot(more)
      yield* Effect.gen(function* () {
        const runs = yield* Runs
        const { workflowId } = yield* start([node("a", "give")])
        for (const text of texts) {
          const [nodes, edges] = after({ text })
          const { problems } = yield* runs.validate(account, {
            workflowId,
            draft: { nodes, edges },
          })
          const found = problems.map(({ message }) => message).join()
          assert.isFalse(found.includes("has no output"), found)
        }
      }).pipe(Effect.provideContext(context))
      yield* stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is JavaScript where the engine computes none", () =>
    Effect.gen(function* () {
      const message = yield* problem("{{ 1 + a.output.items.length }}")
      assert.isTrue(message.startsWith(", column 4: this engine computes no JavaScript"), message)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("fails the node at run time with the expression and the part that is missing", () =>
    Effect.gen(function* () {
      const errorOf = (text: string) =>
        Effect.map(run(...after({ text })), (record) => byNode(record)["b"]?.error)
      assert.deepStrictEqual(
        [
          yield* errorOf("{{ a.output.none.x }}"),
          yield* errorOf("{{ a.output.nothing }}"),
          yield* errorOf("Dear {{ a.output.nothing }}"),
          yield* errorOf("{{ a.output.items.map }}"),
        ],
        [
          'input "text": {{ a.output.none.x }}: "a.output.none" is null, so it has no "x"',
          'input "text": {{ a.output.nothing }}: a value is required, ' +
            'and "a.output.nothing" is undefined',
          'input "text": {{ a.output.nothing }} has no value; ' +
            'write {{ a.output.nothing ?? "" }} where nothing is meant',
          'input "text": {{ a.output.items.map }}: "a.output.items.map" is a function',
        ],
      )
    }).pipe(Effect.provide(shared())),
  )
})

describe("an expression of an optional input", () => {
  it.effect("leaves the input out where it has no value, as with a node that was skipped", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [
          node("a", "give", { value: 1 }),
          node("skipped", "give"),
          node("b", "need", { text: "x", list: "{{ skipped?.output }}", number: "{{ input[1] }}" }),
        ],
        [
          {
            id: "e1",
            source: "a",
            sourceHandle: "other",
            target: "skipped",
            targetHandle: "value",
          },
          edge("skipped", "b"),
          edge("a", "b"),
        ],
      )
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: { text: "x" } })
    }).pipe(Effect.provide(shared())),
  )
})

describe("what a node puts out instead of failing", () => {
  it.effect("may hold expressions, too", () =>
    Effect.gen(function* () {
      const data = { onError: "default", default: { output: ["{{ a.output.name }}"] } }
      const record = yield* run(...after({ text: "x" }, data, "broken"))
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: ["Ada"] })
      const failing = yield* run(...after({ text: "{{ a.output.none.x }}" }, data, "broken"))
      assert.deepStrictEqual(byNode(failing)["b"]?.output, { output: ["Ada"] })
    }).pipe(Effect.provide(shared())),
  )
})

describe("a text with braces that is data", () => {
  it.effect("stays as it is, in values, overrides, edges and raw inputs", () =>
    Effect.gen(function* () {
      const text = "{{ a.output.name }}"
      const [nodes, edges] = after({ text: "{{ values.t }}", list: text })
      const record = yield* run(nodes, edges, {
        values: { t: text },
        graphInputOverrides: { b: { list: text }, a: { value: text } },
      })
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: { text, list: text } })
      const raw = yield* run([node("b", "raw", { text })])
      assert.deepStrictEqual(byNode(raw)["b"]?.output, { output: text })
      const refused = yield* refusal([node("b", "raw", { text: "{{ bad }}" })])
      assert.strictEqual(refused, 'Node "b": input "text": holds nothing good')
    }).pipe(Effect.provide(shared())),
  )
})

describe("a node that runs alone", () => {
  it.effect("has the values of its expressions from what was put out before it last", () =>
    Effect.gen(function* () {
      const { context, stop } = yield* boot(more)
      const [nodes, edges] = after({
        text: "{{ a.output.name }} {{ values.x }} {{ input.none }}",
        list: "{{ a.output.items[5] }}",
        number: "{{ a.output.items[0].id }}",
      })
      const record = yield* Effect.gen(function* () {
        const runs = yield* Runs
        const first = yield* start(nodes, edges, { values: { x: 1 } })
        yield* runs.wait(account, first.id)
        const { workflowId } = first
        const again = { workflowId, singleNodeId: "b", values: { x: 2 } }
        const { id } = yield* runs.start(account, again)
        const broken = { ...nodes[1], data: { inputs: { text: "{{ a.output.none.x }}" } } }
        const refused = yield* Effect.flip(
          runs.start(account, { ...again, nodeOverrides: [broken] }),
        )
        const why = '"a.output.none" is null, so it has no "x"'
        assert.strictEqual(
          (refused as Error).message,
          `Node "b" cannot run alone: input "text": {{ a.output.none.x }}: ${why}`,
        )
        return yield* runs.wait(account, id)
      }).pipe(Effect.provideContext(context))
      yield* stop
      const output = { text: "Ada 2 null", number: 7 }
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output })
      assert.deepStrictEqual(byNode(record)["b"]?.input, output)
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.evaluate", () => {
  it.effect("computes a text against a run, at any of its nodes, and stores nothing", () =>
    Effect.gen(function* () {
      const { context, stop } = yield* boot(more)
      yield* Effect.gen(function* () {
        const runs = yield* Runs
        const [nodes, edges] = after({ text: "x {{ run.id }}" })
        const { id: runId, workflowId } = yield* start(nodes, edges, { values: { x: 1 } })
        yield* runs.wait(account, runId)
        const at = (nodeId: string, text: string, port?: string) =>
          runs.evaluate(account, workflowId, { runId, nodeId, text, port })
        assert.deepStrictEqual(yield* at("b", "{{ a.output.items[1] }}"), {
          value: { id: 8 },
          problems: [],
        })
        assert.deepStrictEqual(yield* at("b", "{{ input.name }} {{ values.x }}"), {
          value: "Ada 1",
          problems: [],
        })
        assert.deepStrictEqual(yield* at("b", "{{ a.output.nothing }}"), { problems: [] })
        assert.deepStrictEqual(yield* at("b", "no expression"), {
          value: "no expression",
          problems: [],
        })
        const [early] = (yield* at("a", "{{ b.output }}", "value")).problems
        assert.strictEqual(
          early?.message,
          'Node "a": input "value", column 4: "b" comes after "a", so its output is not known yet',
        )
        assert.deepStrictEqual([early?.nodeId, early?.port, early?.column], ["a", "value", 4])
        const said = (answer: { readonly problems: ReadonlyArray<{ readonly message: string }> }) =>
          answer.problems.map(({ message }) => message)
        assert.deepStrictEqual(said(yield* at("none", "x")), [
          'Node "none": the run has no such node',
        ])
        assert.deepStrictEqual(said(yield* at("bb", "x")), [
          'Node "bb": the run has no such node; did you mean "b"?',
        ])
        assert.deepStrictEqual(said(yield* at("b", "x", "texd")), [
          'Node "b": has no input "texd"; did you mean "text"?',
        ])
        assert.deepStrictEqual(said(yield* at("b", "x", "url")), [
          'Node "b": has no input "url"; it has text, number, list',
        ])
        assert.deepStrictEqual(said(yield* at("b", "{{ a.outptu }}", "text")), [
          'Node "b": input "text", column 6: "a" has no output "outptu"; did you mean "output"?',
        ])
        const foreign = runs.evaluate(account, WorkflowId.make("wf_x"), {
          runId,
          nodeId: "b",
          text: "",
        })
        assert.strictEqual((yield* Effect.flip(foreign))._tag, "RunNotFound")
      }).pipe(Effect.provideContext(context))
      yield* stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.validate", () => {
  it.effect("judges a draft, and tells ports, price and names of each node", () =>
    Effect.gen(function* () {
      const { context, stop } = yield* boot(more)
      yield* Effect.gen(function* () {
        const runs = yield* Runs
        const { workflowId } = yield* start([node("a", "give")])
        const [nodes, edges] = after({ text: "{{ a.output.name }}", list: "{{ aa }}" })
        const said = yield* runs.validate(account, { workflowId, draft: { nodes, edges } })
        assert.deepStrictEqual(
          said.problems.map(({ column, nodeId, port }) => [nodeId, port, column]),
          [["b", "list", 4]],
        )
        assert.deepStrictEqual(
          said.nodes.map(({ names, nodeId, ports }) => [nodeId, names, [...ports.inputs.keys()]]),
          [
            ["a", ["values", "run"], ["value"]],
            ["b", ["a", "input", "values", "run"], ["text", "number", "list"]],
          ],
        )
        assert.deepStrictEqual(
          said.nodes.map(({ ports }) => [...ports.outputs.keys()]),
          [
            ["output", "other", "error"],
            ["output", "error"],
          ],
        )
        // The stored workflow is the same.
        assert.deepStrictEqual((yield* runs.validate(account, { workflowId })).problems, [])
        const { id } = yield* runs.start(account, { workflowId })
        assert.lengthOf((yield* runs.wait(account, id)).definition.nodes, 1)
      }).pipe(Effect.provideContext(context))
      yield* stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("a definition from before there were expressions", () => {
  it.effect("keeps its texts", () =>
    Effect.gen(function* () {
      const { context, stop } = yield* boot(more)
      const record = yield* Effect.gen(function* () {
        const store = yield* RunStore
        const { id } = yield* start([node("b", "need", { text: "x" })])
        const { definition, run: made } = yield* (yield* Runs).wait(account, id)
        const drawn = { ...definition, nodes: [node("b", "need", { text: "{{ 1 }}" })] }
        const old = {
          ...made,
          ...notStarted,
          id: RunId.make("run_old"),
          definitionId: "wf_old@1",
        }
        const commit = new CommitBuilder(old, made.createdAt).commit()
        const expected = { _tag: "New" as const, definition: { ...drawn, id: "wf_old@1" } }
        yield* store.commit({ ...commit, expected })
        yield* TestClock.adjust("1 minute")
        return yield* (yield* Runs).wait(account, old.id)
      }).pipe(Effect.provideContext(context))
      assert.deepStrictEqual(byNode(record)["b"]?.output, { output: { text: "{{ 1 }}" } })
      yield* stop
    }).pipe(Effect.provide(shared())),
  )
})
