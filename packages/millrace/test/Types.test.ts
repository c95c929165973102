/**
 * What the compiler knows about node types and workflows without a single annotation. The type
 * check of the tests is what proves most of this file: each expected error must be one.
 */
import { Effect, Schema } from "effect"
import type { Json } from "@millrace/core/domain/Json"
import type { NodeType } from "millrace"
import { createEngine, defineNode } from "millrace"
import { describe, expect, expectTypeOf, it } from "vitest"
import { z } from "zod"
import { refusal } from "./Sample.ts"

describe("The types of a handler", () => {
  it("follow from the schemas of its ports", () => {
    const type = defineNode({
      type: "typed",
      inputs: {
        text: z.string(),
        count: z.number().default(3),
        note: z.string().optional(),
        number: Schema.Number,
        maybe: Schema.optionalKey(Schema.String),
        size: Schema.Number.pipe(Schema.withDecodingDefaultKey(Effect.succeed(20))),
        date: Schema.DateFromString,
        standard: Schema.toStandardSchemaV1(Schema.String),
      },
      outputs: {
        text: z.string(),
        size: z.number().default(0),
        date: Schema.DateFromString,
        rest: Schema.optionalKey(Schema.Boolean),
      },
      modes: ["fast", "best"],
      credits: ({ inputs, mode }) => {
        expectTypeOf(inputs.date).toEqualTypeOf<string | undefined>()
        expectTypeOf(inputs.count).toEqualTypeOf<number | undefined>()
        expectTypeOf(mode).toEqualTypeOf<"fast" | "best">()
        return mode === "best" ? 5 : 1
      },
      run: async ({ inputs, mode, signal }) => {
        expectTypeOf(inputs.text).toEqualTypeOf<string>()
        expectTypeOf(inputs.count).toEqualTypeOf<number>()
        expectTypeOf(inputs.note).toEqualTypeOf<string | undefined>()
        expectTypeOf(inputs.number).toEqualTypeOf<number>()
        expectTypeOf(inputs.size).toEqualTypeOf<number>()
        expectTypeOf(inputs.maybe).toEqualTypeOf<string | undefined>()
        expectTypeOf(inputs.date).toEqualTypeOf<Date>()
        expectTypeOf(inputs.standard).toEqualTypeOf<string>()
        expectTypeOf(mode).toEqualTypeOf<"fast" | "best">()
        expectTypeOf(signal).toEqualTypeOf<AbortSignal>()
        // @ts-expect-error there is no such input
        void inputs.txt
        return { text: inputs.text, date: inputs.date }
      },
    })
    expectTypeOf(type.type).toEqualTypeOf<"typed">()
    expect(type.type).toBe("typed")
  })

  it("refuse outputs that are missing or of the wrong type", () => {
    const outputs = { n: z.number() }
    // @ts-expect-error the output is missing
    defineNode({ type: "bad", inputs: {}, outputs, run: () => ({}) })
    // @ts-expect-error nothing is returned
    defineNode({ type: "bad", inputs: {}, outputs, run: () => {} })
    // @ts-expect-error a text is no number
    defineNode({ type: "bad", inputs: {}, outputs, run: () => ({ n: "1" }) })
    // @ts-expect-error a text is no number, later either
    defineNode({ type: "bad", inputs: {}, outputs, run: async () => ({ n: "1" }) })
    const effect = { n: Schema.Number }
    // @ts-expect-error a text is no number
    defineNode({ type: "bad", inputs: {}, outputs: effect, run: () => ({ n: "1" }) })
    const optional = { n: z.number().optional() }
    // @ts-expect-error an optional output has a type, too
    defineNode({ type: "bad", inputs: {}, outputs: optional, run: () => ({ n: "1" }) })
    expect(defineNode({ type: "good", inputs: {}, outputs, run: () => ({ n: 1 }) })).toBeDefined()
  })
})

describe("A port without a schema", () => {
  it("is refused by the compiler, and where there is none by defineNode", () => {
    const inputs = { n: "number" }
    // @ts-expect-error a text is no schema
    const declare = () => defineNode({ type: "bad", inputs, outputs: {}, run: () => {} })
    expect(declare).toThrow(
      'Node type "bad": port "n": expected a Standard Schema or an Effect Schema',
    )
  })
})

describe("The types of a workflow drawn in code", () => {
  const fetchPage = defineNode({
    type: "http.get",
    inputs: { url: z.url() },
    outputs: { body: z.string(), status: z.number() },
    run: ({ inputs }) => ({ body: inputs.url, status: 200 }),
  })
  const summarize = defineNode({
    type: "text.summarize",
    inputs: { text: z.string(), maxWords: z.number() },
    outputs: { summary: z.string() },
    modes: ["fast", "best"],
    run: ({ inputs }) => ({ summary: inputs.text.slice(0, inputs.maxWords) }),
  })

  it("know node types, ports, literals and modes", async () => {
    await using engine = await createEngine({ nodes: [fetchPage, summarize] })
    const empty = engine.workflow("Digest")
    const drawn = empty
      .node("page", "http.get", { url: "https://example.com" })
      .node("sum", "text.summarize", { maxWords: 20 }, { mode: "best" })
      .node("out", "response")
      .edge("page.body", "sum.text")
      .edge("sum.summary", "out.input")
    drawn.edge("page.error", "out.input")
    // @ts-expect-error unknown node type
    empty.node("a", "http.gett")
    // @ts-expect-error unknown output
    drawn.edge("page.bodyy", "sum.text")
    // @ts-expect-error unknown input
    drawn.edge("page.body", "sum.txt")
    // @ts-expect-error unknown node
    drawn.edge("pag.body", "sum.text")
    // @ts-expect-error unknown literal
    empty.node("a", "http.get", { uri: "https://example.com" })
    // @ts-expect-error literal of the wrong type
    empty.node("a", "text.summarize", { maxWords: "20" })
    // @ts-expect-error unknown mode
    empty.node("a", "text.summarize", {}, { mode: "slow" })
    const { id } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId: id })
    const result = await run.wait({ timeout: "10 seconds" })
    expectTypeOf(result.output).toEqualTypeOf<Json>()
    expectTypeOf(result.status).toEqualTypeOf<
      "QUEUED" | "RUNNING" | "COMPLETED" | "FAILED" | "CANCELED"
    >()
    expect(result.output).toBe("https://example.com")
  })

  const dated = defineNode({
    type: "dated",
    inputs: {
      order: z.object({ total: z.number(), lines: z.array(z.boolean()) }),
      when: Schema.DateFromString,
      date: z.date(),
      code: z.number(),
      all: z.array(z.number()),
      coerced: z.coerce.number(),
      record: z.record(z.string(), z.number()),
      json: z.json(),
      maybe: z.string().nullish(),
    },
    outputs: { json: z.json(), maybe: z.number().nullable(), when: Schema.DateFromString },
    raw: ["code"],
    multiple: ["all"],
    run: () => ({ json: 1, maybe: null, when: new Date() }),
  })

  it("take an expression in the place of every value, unless the input is raw", async () => {
    await using engine = await createEngine({ nodes: [dated] })
    const empty = engine.workflow("Expressions")
    const { nodes } = empty.node("a", "dated", {
      order: { total: "{{ values.total }}", lines: [true, "{{ values.line }}"] },
      all: [1, "{{ values.one }}"],
      record: { one: "{{ values.one }}" },
      json: [[{ deep: ["{{ values.deep }}"] }]],
      code: 5,
    })
    empty.node("a", "dated", { order: "{{ values.order }}", all: "{{ values.all }}" })
    // @ts-expect-error a raw input takes no expression
    empty.node("a", "dated", { code: "{{ values.code }}" })
    // @ts-expect-error a text without expressions is no number, inside neither
    empty.node("a", "dated", { order: { total: "1" } })
    expect(nodes).toHaveLength(1)
  })

  it("let an edge join what can meet, and nothing else", async () => {
    await using engine = await createEngine({ nodes: [fetchPage, dated] })
    const drawn = engine
      .workflow("Edges")
      .node("page", "http.get")
      .node("a", "dated")
      .node("b", "dated")
      .node("any", "constant", { value: 1 })
      // An item of an array, by an input that takes many; what may be null; what is unknown.
      .edge("page.status", "b.all")
      .edge("a.maybe", "b.all")
      .edge("a.json", "b.order")
      .edge("any.output", "b.code")
      .edge("page.body", "b.coerced")
      .edge("page.body", "b.date")
      .edge("a.when", "b.maybe")
      // What expressions of a node use, whatever its type.
      .edge("a.json", "page.input")
    // @ts-expect-error a text is no item of an array of numbers
    drawn.edge("page.body", "b.all")
    // @ts-expect-error a number is no text
    drawn.edge("page.status", "b.when")
    // @ts-expect-error a failure is an object
    drawn.edge("page.error", "b.maybe")
    expect(drawn.edges).toHaveLength(8)
  })

  it("know what literals declare, and accept all where they are not seen", async () => {
    await using engine = await createEngine()
    const fields: ReadonlyArray<{ readonly name: string }> = [{ name: "city" }]
    const empty = engine.workflow("Outputs").node("out", "response")
    const drawn = empty
      .node("start", "request", { fields: [{ name: "city" }, { name: "day", type: "number" }] })
      .edge("start.city", "out.input")
      .edge("start.values", "out.input")
    empty.node("start", "request", { fields }).edge("start.city", "out.input")
    // @ts-expect-error there is no such field
    drawn.edge("start.town", "out.input")
    expect(drawn.edges).toHaveLength(2)
  })

  it("ask nothing of node types that are known only as such", async () => {
    const nodes: ReadonlyArray<NodeType> = [fetchPage, summarize]
    await using engine = await createEngine({ nodes })
    const drawn = engine
      .workflow("Any")
      .node("page", "http.get", { url: "https://example.com" })
      .node("sum", "text.summarize", { maxWords: 3 })
      .edge("page.body", "sum.text")
    const { id } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId: id })
    expect((await run.wait()).nodes["sum"]?.output).toEqual({ summary: "htt" })
  })

  it("refuse words that are no length of time", async () => {
    await using engine = await createEngine()
    // @ts-expect-error "soon" is no duration
    const call = engine.runs.wait("run_x", { timeout: "soon" })
    expect(await refusal(call)).toMatchObject({
      code: "INVALID_REQUEST",
      message: 'timeout: expected milliseconds, or words such as "10 seconds"',
    })
  })
})
