/**
 * Where the schema of a port may come from, and what follows from it.
 */
import { Effect, Schema } from "effect"
import type { StandardSchemaV1 } from "effect/StandardSchema"
import type { PortSchema } from "millrace"
import { createEngine, defineNode } from "millrace"
import { describe, expect, it } from "vitest"
import { z } from "zod"
import { runOne } from "./Sample.ts"

/** A Standard Schema without any library. */
const standard = <A>(
  validate: (value: unknown) => StandardSchemaV1.Result<A> | Promise<StandardSchemaV1.Result<A>>,
): StandardSchemaV1<A, A> => ({ "~standard": { version: 1, vendor: "by-hand", validate } })

const even = standard<number>((value) =>
  typeof value === "number" && value % 2 === 0
    ? { value }
    : { issues: [{ message: "expected an\n even number" }] },
)

const lateEven = standard<number>(async (value) => {
  await Promise.resolve()
  return typeof value === "number" && value % 2 === 0
    ? { value }
    : { issues: [{ message: "expected an even number" }] }
})

const echo = <S extends PortSchema>(schema: S) =>
  defineNode({
    type: "echo",
    inputs: { value: schema },
    outputs: { value: z.any() },
    run: ({ inputs }) => ({ value: "value" in inputs ? [inputs.value] : "absent" }),
  })

const rejection = async (started: Promise<unknown>): Promise<unknown> =>
  started.then(
    () => "resolved",
    (error: unknown) => (error instanceof Error ? error.message : error),
  )

describe.each<readonly [string, PortSchema]>([
  ["zod", z.string().min(2)],
  ["Effect Schema", Schema.String.check(Schema.isMinLength(2))],
  [
    "Effect Schema as Standard Schema",
    Schema.toStandardSchemaV1(Schema.String.check(Schema.isMinLength(2))),
  ],
])("An input with a schema of %s", (_, schema) => {
  it("gives the value to the handler", async () => {
    expect((await runOne(echo(schema), { value: "ok" })).node.output).toEqual({ value: ["ok"] })
  })

  it("is required: a lone node without it is a draft, and skipped", async () => {
    expect((await runOne(echo(schema))).node.status).toBe("SKIPPED")
  })

  it("refuses a literal that does not fit when a run is started", async () => {
    expect(await rejection(runOne(echo(schema), { value: "x" }))).toMatch(
      /^Node "node": input "value": .+/,
    )
  })
})

describe.each<readonly [string, PortSchema, unknown]>([
  ["zod's optional", z.number().optional(), "absent"],
  ["zod's default", z.number().default(3), [3]],
  ["Effect's default", Schema.Number.pipe(Schema.withDecodingDefaultKey(Effect.succeed(3))), [3]],
  ["Effect's optionalKey", Schema.optionalKey(Schema.Number), "absent"],
  ["a hand-written one", standard((value) => ({ value })), "absent"],
])("An input with %s", (_, schema, whenAbsent) => {
  it("may be left out", async () => {
    expect((await runOne(echo(schema))).node.output).toEqual({ value: whenAbsent })
    expect((await runOne(echo(schema), { value: 5 })).node.output).toEqual({ value: [5] })
  })
})

describe("A hand-written Standard Schema", () => {
  it("refuses a literal at the start, in its own words on one line", async () => {
    expect((await runOne(echo(even), { value: 4 })).node.output).toEqual({ value: [4] })
    expect(await rejection(runOne(echo(even), { value: 5 }))).toBe(
      'Node "node": input "value": expected an even number',
    )
  })

  it("refuses by throwing, too", async () => {
    const throwing = standard<string>((value) => {
      return { value: (value as string).toLowerCase() }
    })
    expect((await runOne(echo(throwing), { value: "ABC" })).node.output).toEqual({ value: ["abc"] })
    expect(await rejection(runOne(echo(throwing), { value: 5 }))).toMatch(/toLowerCase/)
    expect((await runOne(echo(throwing))).node.status).toBe("SKIPPED")
  })

  it("refuses without giving a reason, too", async () => {
    const silent = standard<number>((value) => (value === 1 ? { value: 1 } : { issues: [] }))
    expect(await rejection(runOne(echo(silent), { value: 2 }))).toBe(
      'Node "node": input "value": refused without a reason',
    )
  })

  it("is asked when the node executes if it takes its time", async () => {
    expect((await runOne(echo(lateEven), { value: 4 })).node.output).toEqual({ value: [4] })
    const { node } = await runOne(echo(lateEven), { value: 5 })
    expect(node).toMatchObject({
      status: "FAILED",
      error: 'input "value": expected an even number',
    })
    expect((await runOne(echo(lateEven))).node.status).toBe("FAILED")
  })

  it("fails the node when it rejects", async () => {
    const rejecting = standard<string>(() => Promise.reject(new Error("no connection")))
    expect((await runOne(echo(rejecting), { value: "x" })).node.error).toBe("no connection")
  })
})

describe("A value on its way through", () => {
  it("is decoded on the way in and encoded on the way out by an Effect Schema", async () => {
    let seen: unknown
    const later = defineNode({
      type: "later",
      inputs: { at: Schema.DateFromString },
      outputs: { at: Schema.DateFromString },
      run: ({ inputs }) => {
        seen = inputs.at
        return { at: new Date(inputs.at.getTime() + 1_000) }
      },
    })
    const { node } = await runOne(later, { at: "2026-01-31T09:30:00.000Z" })
    expect(seen).toBeInstanceOf(Date)
    expect(node.output).toEqual({ at: "2026-01-31T09:30:01.000Z" })
  })

  it("leaves as what a Standard Schema makes of it", async () => {
    const tidy = defineNode({
      type: "tidy",
      inputs: {},
      outputs: { name: z.string().trim(), size: z.number().default(1) },
      run: () => ({ name: "  Ada " }),
    })
    expect((await runOne(tidy)).node.output).toEqual({ name: "Ada", size: 1 })
  })

  it("names the place of a problem inside of it", async () => {
    const orders = echo(z.array(z.object({ price: z.number() })))
    expect(await rejection(runOne(orders, { value: [{ price: 1 }, { price: "2" }] }))).toMatch(
      /^Node "node": input "value": \[1\]\[price\]: .*expected number/,
    )
  })

  it("names the place of a problem found by an Effect Schema", async () => {
    const orders = echo(Schema.Array(Schema.Struct({ price: Schema.Number })))
    expect(await rejection(runOne(orders, { value: [{ price: 1 }, { price: "2" }] }))).toMatch(
      /^Node "node": input "value": \[1\]\[price\]: /,
    )
  })
})

describe("The catalogue of node types", () => {
  it("shows what the schemas can tell as JSON Schema, and {} where they cannot", async () => {
    const many = defineNode({
      type: "many",
      title: "Many ports",
      description: "Has all kinds of ports.",
      category: "samples",
      icon: "cable",
      docs: "# Ports\n\nAll kinds of them.",
      version: 3,
      modes: ["a", "b"],
      credits: 2,
      inputs: {
        zod: z.string().min(2).optional(),
        effect: Schema.Number,
        hand: even,
        date: z.date().optional(),
      },
      outputs: { zod: z.number().default(1), effect: Schema.optionalKey(Schema.String) },
      run: () => ({ effect: "" }),
    })
    await using engine = await createEngine({ nodes: [many], builtin: false })
    const { secret } = await engine.keys.create({ label: "reader" })
    const response = await engine.fetch(
      new Request("http://localhost/api/v1/node-types", {
        headers: { authorization: `Bearer ${secret}` },
      }),
    )
    expect(await response.json()).toEqual({
      items: [
        {
          key: "many",
          version: 3,
          deprecated: null,
          name: "Many ports",
          description: "Has all kinds of ports.",
          category: "samples",
          icon: "cable",
          docs: "# Ports\n\nAll kinds of them.",
          modes: ["a", "b"],
          origin: "application",
          creditEstimate: 2,
          creditsByMode: { a: 2, b: 2 },
          effects: "writes",
          example: null,
          inputPorts: [
            {
              name: "zod",
              required: false,
              multiple: false,
              schema: { type: "string", minLength: 2 },
            },
            { name: "effect", required: true, multiple: false, schema: expect.any(Object) },
            { name: "hand", required: true, multiple: false, schema: {} },
            { name: "date", required: false, multiple: false, convertsTypes: true, schema: {} },
          ],
          outputPorts: [
            { name: "zod", schema: { type: "number", default: 1 } },
            { name: "effect", schema: { type: "string" } },
            { name: "error", schema: expect.objectContaining({ type: "object" }) },
          ],
        },
      ],
    })
  })
})
