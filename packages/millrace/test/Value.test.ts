/**
 * Large values in an engine: what handlers and expressions get, and what runs record.
 */
import { assert, describe, it } from "@effect/vitest"
import { Json } from "@millrace/core/domain/Json"
import type { Engine, EngineOptions } from "millrace"
import { createEngine, defineNode } from "millrace"
import { Schema } from "effect"
import { refusal } from "./Sample.ts"

const text = "0123456789".repeat(20_000)

const rows = Array.from({ length: 5_000 }, (_, id) => ({ id, name: `row ${id} é` }))

const make = defineNode({
  type: "make",
  inputs: { what: Schema.String },
  outputs: { output: Json, small: Json },
  run: ({ inputs: { what } }) => {
    const output = what === "text" ? text : what === "rows" ? rows : { rows }
    return { output, small: 1 }
  },
})

const relay = defineNode({
  type: "relay",
  inputs: { input: Json, after: Schema.optionalKey(Json) },
  outputs: { output: Json },
  run: ({ inputs: { input } }) => ({ output: input }),
})

const copy = defineNode({
  type: "copy",
  inputs: { input: Json },
  outputs: { output: Json },
  run: async ({ inputs: { input } }) => ({ output: structuredClone(input) }),
})

const nodes = [make, relay, copy]

const node = (id: string, type: string, inputs: object = {}) => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs },
})

const edge = (source: string, target: string, more: object = {}) => ({
  id: `${source}-${target}`,
  source,
  target,
  ...more,
})

const execute = async (
  engine: Engine,
  drawn: ReadonlyArray<ReturnType<typeof node>>,
  edges: ReadonlyArray<ReturnType<typeof edge>>,
) => {
  const { id } = await engine.workflows.create({ name: "Large", nodes: drawn, edges })
  const handle = await engine.runs.start({ workflowId: id })
  return handle.wait({ timeout: "20 seconds" })
}

const withEngine = async (
  use: (engine: Engine) => Promise<void>,
  options: Pick<EngineOptions<[]>, "limits" | "store"> = {},
) => {
  await using engine = await createEngine({ nodes, ...options })
  await use(engine)
}

/** Only says what comes after what. */
const last = { sourceHandle: "small", targetHandle: "after" }

describe("a large output", () => {
  it("reaches the next nodes and the output of the run, and is stored once", () =>
    withEngine(async (engine) => {
      const run = await execute(
        engine,
        [node("a", "make", { what: "rows" }), node("b", "relay"), node("c", "response")],
        [edge("a", "b"), edge("b", "c")],
      )
      assert.isNull(run.error)
      assert.deepStrictEqual(run.output, rows)
      const [own] = run.nodes["a"]!.largeValues ?? []
      assert.deepInclude(own, { at: "/output/output", type: "array" })
      assert.strictEqual(own?.bytes, Buffer.byteLength(JSON.stringify(rows)))
      assert.strictEqual(own?.preview, JSON.stringify(rows).slice(0, 100))
      assert.deepStrictEqual(run.nodes["a"]!.output, { output: rows, small: 1 })
      const places = (run.nodes["b"]!.largeValues ?? []).map(({ at, id }) => [at, id])
      assert.deepStrictEqual(places, [
        ["/input/input", own?.id],
        ["/output/output", own?.id],
      ])
      assert.deepStrictEqual(run.context?.largeValues, [{ ...own!, at: "/output" }])
      assert.deepStrictEqual(await engine.runs.value(run.id, own!.id), rows)
      assert.deepStrictEqual((await engine.runs.get(run.id)).output, rows)
    }))

  it("of a node without effects is stored as well", () =>
    withEngine(async (engine) => {
      const value = "x".repeat(70_000)
      const { id } = await execute(engine, [node("a", "constant", { value })], [])
      const { nodes: made } = await engine.runs.get(id)
      assert.deepStrictEqual(made["a"]?.output, { output: value })
      assert.lengthOf(made["a"]?.largeValues ?? [], 1)
    }))

  it("of a handler that copies it is stored again, and is the same", () =>
    withEngine(async (engine) => {
      const run = await execute(
        engine,
        [node("a", "make", { what: "text" }), node("b", "copy"), node("c", "response")],
        [edge("a", "b"), edge("b", "c")],
      )
      assert.strictEqual(run.output, text)
      const [, b] = run.nodes["b"]!.largeValues!
      assert.strictEqual(await engine.runs.value(run.id, b!.id), text)
    }))

  it("is read by plain paths, and what they give is recorded", () =>
    withEngine(async (engine) => {
      const run = await execute(
        engine,
        [
          node("a", "make", { what: "all" }),
          node("one", "relay", { input: "{{ a.output.rows[4999].name }}" }),
          node("all", "relay", { input: "{{ a.output.rows }}" }),
          node("count", "relay", { input: "there are {{ a.output.rows.length }}" }),
          node("small", "relay", { input: "{{ a.small }}" }),
          node("done", "response"),
        ],
        [
          edge("a", "one", last),
          edge("a", "all", last),
          edge("a", "count", last),
          edge("a", "small", last),
          edge("all", "done"),
        ],
      )
      assert.isNull(run.error)
      const { all, count, one, small } = run.nodes
      assert.deepStrictEqual(one!.input, { input: "row 4999 é", after: 1 })
      assert.deepStrictEqual(count!.output, { output: "there are 5000" })
      assert.deepStrictEqual(small!.output, { output: 1 })
      assert.deepStrictEqual(run.output, rows)
      assert.lengthOf(all!.largeValues!, 2)
    }))

  it("is too large beyond 16 MiB", () =>
    withEngine(
      async (engine) => {
        const run = await execute(engine, [node("a", "make", { what: "rows" })], [])
        const bytes = Buffer.byteLength(JSON.stringify(rows))
        const { error } = run.nodes["a"]!
        assert.strictEqual(error, `output "output" has ${bytes} bytes; the limit is 100000`)
      },
      { limits: { valueBytes: 100_000 } },
    ))

  it("is known to its run alone", () =>
    withEngine(async (engine) => {
      const drawn = [node("a", "make", { what: "rows" })]
      const [one, other] = [await execute(engine, drawn, []), await execute(engine, drawn, [])]
      const [value] = one.nodes["a"]!.largeValues!
      const error = await refusal(engine.runs.value(other.id, value!.id))
      assert.strictEqual(error.code, "VALUE_NOT_FOUND")
    }))

  it("is only named where the answer would be too large", () =>
    withEngine(
      async (engine) => {
        const drawn = [node("a", "make", { what: "rows" }), node("c", "response")]
        const run = await execute(engine, drawn, [edge("a", "c")])
        assert.isNull(run.output)
        assert.deepStrictEqual(run.nodes["a"]!.output, { output: null, small: 1 })
        assert.deepStrictEqual(run.nodes["c"]!.input, { input: null })
        const [value] = run.context!.largeValues!
        assert.deepStrictEqual(await engine.runs.value(run.id, value!.id), rows)
        const [batched] = await engine.runs.batch([run.id])
        assert.deepInclude(batched!, { output: null })
      },
      { limits: { batchBytes: 100_000 } },
    ))

  it("serves a start of a single node, and an expression that is tried on a past run", () =>
    withEngine(async (engine) => {
      const { id: workflowId } = await engine.workflows.create({
        name: "Large",
        nodes: [node("a", "make", { what: "rows" }), node("b", "relay")],
        edges: [edge("a", "b")],
      })
      const whole = await (await engine.runs.start({ workflowId })).wait()
      const single = await engine.runs.start({ workflowId, singleNodeId: "b" })
      const run = await single.wait({ timeout: "10 seconds" })
      assert.deepStrictEqual(run.nodes["b"]!.output, { output: rows })
      const tried = { runId: whole.id, nodeId: "b", text: "{{ a.output[1].name }}" }
      assert.deepStrictEqual((await engine.workflows.evaluate(workflowId, tried)).value, "row 1 é")
    }))
})
