/**
 * Forms for JSON Schemas.
 */
import { describe, expect, it } from "vitest"
import type { Field, Typed } from "../../../../src/model/editing/internal/Fields.ts"
import {
  fieldFor,
  fieldsOf,
  fits,
  typedOf,
  valueOf,
} from "../../../../src/model/editing/internal/Fields.ts"

const kinds = (schema: unknown) => fieldsOf(schema).map(({ kind }) => kind)

const flat = {
  type: "object",
  properties: {
    name: { type: "string" },
    count: { type: "integer", description: "How many." },
    isOn: { type: "boolean" },
    extra: {},
  },
  required: ["name"],
}

const auth = {
  oneOf: [
    {
      type: "object",
      required: ["type", "token"],
      properties: { type: { const: "bearer" }, token: { type: "string" } },
    },
    {
      type: "object",
      required: ["type", "username", "password"],
      properties: {
        type: { const: "basic" },
        username: { type: "string" },
        password: { type: "string" },
      },
    },
  ],
}

/** Through the form in which it is shown, and back. */
const roundTrip = (schema: unknown, value: unknown) => {
  const field = fieldFor(fieldsOf(schema), value)
  return [field.kind, valueOf(field, typedOf(field, value))]
}

describe("fieldsOf", () => {
  it("offers one line for what is one value, and an expression where it takes no texts", () => {
    expect(kinds({ type: "string" })).toEqual(["text"])
    expect(kinds({ type: "integer" })).toEqual(["number", "expression"])
    expect(kinds({ type: ["number", "null"] })).toEqual(["number", "expression"])
    expect(kinds({ type: "boolean" })).toEqual(["boolean", "expression"])
    expect(kinds({ type: "string", enum: ["a", "b"] })).toEqual(["choice", "expression"])
    expect(kinds({ anyOf: [{ type: "number" }, { type: "string" }] })).toEqual(["any"])
  })

  it("offers a form for flat objects and lists, and JSON for what is deep", () => {
    expect(kinds(flat)).toEqual(["object", "json", "expression"])
    expect(kinds({ type: "object", additionalProperties: { type: "string" } })).toEqual([
      "map",
      "json",
      "expression",
    ])
    expect(kinds({ type: "array", items: { type: "string" } })).toEqual([
      "list",
      "json",
      "expression",
    ])
    expect(kinds({ type: "array", items: flat })).toEqual(["list", "json", "expression"])
    expect(kinds({ type: "array", items: { type: "array", items: flat } })).toEqual([
      "json",
      "expression",
    ])
    expect(kinds({ type: "object", properties: { deep: flat } })).toEqual(["json", "expression"])
  })

  it("offers each alternative of a schema, with what tells it from the others", () => {
    const fields = fieldsOf(auth)
    expect(fields.map((field) => ("title" in field ? field.title : field.kind))).toEqual([
      "bearer",
      "basic",
      "json",
      "expression",
    ])
    const to = { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] }
    expect(kinds(to)).toEqual(["text", "list", "json"])
  })

  it("offers JSON and a text where the schema says nothing", () => {
    for (const schema of [{}, undefined, true, { description: "Any." }, "no schema"])
      expect(kinds(schema)).toEqual(["json", "text"])
  })

  it("answers whatever the schema is", () => {
    const circle: Record<string, unknown> = { type: "array" }
    circle["items"] = circle
    for (const schema of [circle, { $ref: "#/$defs/a" }, { enum: [{}] }, { properties: 1 }, null])
      expect(fieldsOf(schema).length).toBeGreaterThan(0)
  })
})

describe("valueOf", () => {
  it("reads numbers, and says what is none", () => {
    const whole: Field = { kind: "number", isWhole: true }
    expect(valueOf(whole, " 12 ")).toEqual({ value: 12 })
    expect(valueOf(whole, "")).toEqual({ value: undefined })
    expect(valueOf(whole, "12a")).toEqual({ problem: { reason: "notNumber" } })
    expect(valueOf(whole, "1.5")).toEqual({ problem: { reason: "notWhole" } })
    expect(valueOf(whole, "0x10")).toEqual({ problem: { reason: "notNumber" } })
    expect(valueOf({ kind: "number", isWhole: false }, "1e-3")).toEqual({ value: 0.001 })
  })

  it("names the line of a list or the property of an object that is wrong", () => {
    const [list] = fieldsOf({ type: "array", items: { type: "integer" } })
    expect(valueOf(list!, ["1", "x"])).toEqual({ problem: { reason: "notNumber", part: "2" } })
    const [object] = fieldsOf(flat)
    expect(valueOf(object!, { name: "a", count: "x" })).toEqual({
      problem: { reason: "notNumber", part: "count" },
    })
  })

  it("reads an object, a list of objects and names with values", () => {
    const [object] = fieldsOf(flat)
    expect(valueOf(object!, { name: "a", count: "2", isOn: "true", extra: "[1]" })).toEqual({
      value: { name: "a", count: 2, isOn: true, extra: [1] },
    })
    const [bearer] = fieldsOf(auth)
    expect(valueOf(bearer!, { token: "t" })).toEqual({ value: { type: "bearer", token: "t" } })
    const [map] = fieldsOf({ type: "object", additionalProperties: { type: "string" } })
    expect(
      valueOf(map!, [
        ["a", "1"],
        ["", ""],
      ]),
    ).toEqual({ value: { a: "1" } })
    expect(
      valueOf(map!, [
        ["a", "1"],
        ["a", "2"],
      ]),
    ).toEqual({
      problem: { reason: "nameTwice", part: "a" },
    })
    expect(valueOf(map!, [["", "1"]])).toEqual({ problem: { reason: "nameMissing" } })
    expect(valueOf(map!, [["__proto__", "1"]])).toEqual({
      value: JSON.parse('{"__proto__":"1"}') as unknown,
    })
  })

  it("says that JSON is not finished, and takes an expression as it is", () => {
    expect(valueOf({ kind: "json" }, '{"a": ')).toEqual({ problem: { reason: "notJson" } })
    expect(valueOf({ kind: "json" }, " ")).toEqual({ value: undefined })
    expect(valueOf({ kind: "expression" }, "{{ a.b")).toEqual({ value: "{{ a.b" })
  })

  it("reads JSON where a line may be anything, and else the text, digit by digit", () => {
    const any: Field = { kind: "any" }
    const read = (text: Typed) => valueOf(any, text)
    expect(read("5000")).toEqual({ value: 5000 })
    expect(read("10 minutes")).toEqual({ value: "10 minutes" })
    expect(read("01234")).toEqual({ value: "01234" })
    expect(read("12345678901234567890")).toEqual({ value: "12345678901234567890" })
    expect(read("{{ a.b }}")).toEqual({ value: "{{ a.b }}" })
    expect(read('{"a"')).toEqual({ problem: { reason: "notJson" } })
    expect(read('"5"')).toEqual({ value: "5" })
  })
})

describe("fieldFor", () => {
  it("shows all of a value, or shows it as JSON", () => {
    expect(roundTrip(flat, { name: "a", count: 2 })).toEqual([
      "object",
      { value: { name: "a", count: 2 } },
    ])
    const other = { name: "a", more: 1 }
    expect(roundTrip(flat, other)).toEqual(["json", { value: other }])
    expect(roundTrip({ type: "integer" }, "{{ a.b }}")[0]).toBe("expression")
    expect(roundTrip({ type: "integer" }, "text")).toEqual(["json", { value: "text" }])
    expect(roundTrip({ type: "boolean" }, 1)).toEqual(["json", { value: 1 }])
    expect(roundTrip({ enum: ["a"] }, "b")).toEqual(["json", { value: "b" }])
    expect(roundTrip({}, "text")).toEqual(["text", { value: "text" }])
    const basic = { type: "basic", username: "u", password: "p" }
    expect(fieldFor(fieldsOf(auth), basic)).toMatchObject({ title: "basic" })
    expect(roundTrip(auth, basic)).toEqual(["object", { value: basic }])
  })

  it("loses nothing of any value in any form that it chooses", () => {
    const simple = [0, -1.5, 1e21, "5", "[1", '"', "{{", "true", " x\n", null, true]
    const lists = [[], [[]], [""], ["a", 1], [{ name: "a" }]]
    const objects = [{}, { a: 1 }, { name: "" }, { "": "" }, { isOn: "true" }]
    const schemas: ReadonlyArray<unknown> = [
      flat,
      auth,
      {},
      { type: "string" },
      { type: "integer" },
      { type: "boolean" },
      { enum: [1, "1", null] },
      { anyOf: [{ type: "string" }, { type: "number" }] },
      { type: "object", additionalProperties: {} },
      { type: "array", items: {} },
      { type: "array", items: flat },
    ]
    for (const schema of schemas)
      for (const value of [...simple, ...lists, ...objects]) {
        const field = fieldFor(fieldsOf(schema), value)
        expect(fits(field, value) || field.kind === "json").toBe(true)
        const read = valueOf(field, typedOf(field, value))
        expect(read, JSON.stringify([schema, value])).toEqual({ value })
      }
  })
})
