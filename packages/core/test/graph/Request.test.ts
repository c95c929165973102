// The fields of a request node, and a run's values against them.
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import type { Json, JsonObject } from "../../src/domain/Json.ts"
import { settingsOf } from "../../src/domain/Workflow.ts"
import { fieldsOf, problemsOfFields, resolveValues } from "../../src/graph/Request.ts"
import { graphOf, messages, node } from "./Fixture.ts"

const settings = (fields: Json) => settingsOf(node("r", "request", { fields }))

const resolve = (fields: Json, values: JsonObject) =>
  resolveValues(graphOf([node("r", "request", { fields })]), values)

const refusal = (fields: Json, values: JsonObject) => {
  const result = resolve(fields, values)
  if (Result.isSuccess(result)) expect.fail("the values were accepted")
  return messages(result.failure)
}

const field = (name: string, more: JsonObject = {}): Json => ({ name, ...more })

describe("Request.fieldsOf", () => {
  it("reads fields in order, optional and of any type unless they say otherwise", () => {
    const full = { name: "b", type: "string", required: true, default: "x", description: "Why" }
    expect(fieldsOf(settings([field("a"), full]))).toStrictEqual([
      { name: "a", type: "any", required: false },
      full,
    ])
  })

  it("keeps a default of null", () => {
    expect(fieldsOf(settings([field("a", { default: null })]))[0]).toHaveProperty("default", null)
  })

  it.each([null, {}, "x", [null, 3, "a", [], {}]])("finds nothing in %j", (fields) => {
    expect(fieldsOf(settings(fields))).toEqual([])
  })

  it("leaves malformed entries out and keeps the first of two with one name", () => {
    const fields = [field("a", { type: "number" }), field("a"), field("9"), field("b")]
    expect(fieldsOf(settings(fields))).toEqual([
      { name: "a", type: "number", required: false },
      { name: "b", type: "any", required: false },
    ])
  })
})

describe("Request.problemsOfFields", () => {
  it("has nothing against a node without fields", () => {
    expect(problemsOfFields(settingsOf(node("r", "request")))).toEqual([])
    expect(problemsOfFields(settings([]))).toEqual([])
  })

  it("names everything that is wrong, by entry", () => {
    const fields = [
      "x",
      {},
      field("a b", { type: "date", required: "yes", description: 1 }),
      field("ok", { type: "number", default: "1" }),
      field("ok"),
      field("values"),
      field("error"),
      field("__proto__"),
    ]
    const name = "expected 1 to 64 letters, digits, _ or -, not beginning with a digit or -"
    expect(problemsOfFields(settings(fields))).toEqual([
      "[0]: expected an object with a name",
      `[1].name: ${name}`,
      `[2].name: ${name}`,
      "[2].type: expected one of string, number, boolean, object, array, any",
      "[2].required: expected a boolean",
      "[2].description: expected a string",
      "[3].default: expected a number",
      '[4].name: "ok" is declared more than once',
      '[5].name: "values" is reserved',
      '[6].name: "error" is reserved',
      '[7].name: "__proto__" is reserved',
    ])
  })

  it("wants an array", () => {
    expect(problemsOfFields(settings({ name: "a" }))).toEqual(["expected an array"])
  })
})

describe("Request.resolveValues", () => {
  it("hands values on unchanged where no request node is", () => {
    const values = { anything: [1] }
    expect(resolveValues(graphOf([node("a", "source")]), values)).toEqual(Result.succeed(values))
  })

  it("finds the request node among others", () => {
    const graph = graphOf([
      node("a", "source"),
      node("r", "request", { fields: [field("b", { default: 1 })] }),
    ])
    expect(resolveValues(graph, {})).toEqual(Result.succeed({ b: 1 }))
  })

  it("hands values on unchanged where no fields are declared", () => {
    expect(resolve([], { a: 1 })).toEqual(Result.succeed({ a: 1 }))
    expect(resolveValues(graphOf([node("r", "request")]), { a: 1 })).toEqual(
      Result.succeed({ a: 1 }),
    )
  })

  it("hands values on unchanged where the request node is disabled", () => {
    const disabled = node("r", "request", { fields: [field("a")] }, { disabled: true })
    expect(resolveValues(graphOf([disabled]), { b: 1 })).toEqual(Result.succeed({ b: 1 }))
  })

  it("puts values over defaults, in the order of the fields", () => {
    const fields = [field("a", { default: 1 }), field("b", { default: 2 }), field("c")]
    const result = resolve(fields, { b: null, a: 7 })
    expect(result).toEqual(Result.succeed({ a: 7, b: null }))
    expect(Object.keys(Result.getOrThrow(result))).toEqual(["a", "b"])
    expect(resolve(fields, {})).toEqual(Result.succeed({ a: 1, b: 2 }))
  })

  it("takes the default of a required field", () => {
    expect(resolve([field("a", { required: true, default: 1 })], {})).toEqual(
      Result.succeed({ a: 1 }),
    )
  })

  it("names every value that is missing, unknown or of the wrong type", () => {
    const fields = [
      field("city", { type: "string", required: true }),
      field("count", { type: "number" }),
      field("deep", { type: "object" }),
      field("list", { type: "array" }),
    ]
    const values = { count: "3", deep: [], list: {}, toString: 1 }
    expect(refusal(fields, values)).toEqual([
      'Node "r": there is no field "toString"; the fields are city, count, deep, list',
      'Node "r": field "city": a value is required',
      'Node "r": field "count": expected a number',
      'Node "r": field "deep": expected an object',
      'Node "r": field "list": expected an array',
    ])
  })

  it("does not take null for a string", () => {
    expect(refusal([field("a", { type: "string" })], { a: null })).toEqual([
      'Node "r": field "a": expected a string',
    ])
  })

  it("sees a value named __proto__ as the unknown field that it is", () => {
    const values = JSON.parse('{"__proto__": {"a": 1}}') as JsonObject
    expect(refusal([field("a")], values)).toEqual([
      'Node "r": there is no field "__proto__"; the fields are a',
    ])
  })

  it("refuses a run of malformed fields, naming them", () => {
    expect(refusal([field("a", { type: "date" }), field("b", { default: 1 })], { c: 1 })).toEqual([
      'Node "r": input "fields": [0].type: expected one of ' +
        "string, number, boolean, object, array, any",
    ])
  })
})
