// Edges that bring an input what it cannot take: refused by a start, or only a warning.
import type { JsonObject } from "@millrace/core/domain/Json"
import type { InputPort, NodeType } from "@millrace/core/domain/NodeType"
import type { InputOverrides } from "@millrace/core/domain/Run"
import { compile, readDrawing } from "@millrace/core/graph/Graph"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { warningsOf } from "../../src/graph/internal/Warnings.ts"
import { byKey, edges, messages, node, type } from "./Fixture.ts"

/** Two nodes joined by one edge, whose ports have these schemas. */
const drawing = (
  source: JsonObject,
  target: JsonObject,
  port: Partial<InputPort> = {},
  data: JsonObject = {},
) => {
  const typed = (key: string, ports: ReturnType<NodeType["portsOf"]>): NodeType => ({
    ...type(key, [], []),
    portsOf: () => ports,
  })
  const input: InputPort = {
    name: "input",
    required: false,
    multiple: false,
    schema: target,
    check: () => [],
    ...port,
  }
  const output = { name: "output", schema: source }
  const types = byKey([
    typed("from", { inputs: new Map(), outputs: new Map([["output", output]]) }),
    typed("to", { inputs: new Map([["input", input]]), outputs: new Map() }),
  ])
  const [from, to] = [node("a", "from"), node("b", "to")]
  return { types, nodes: [from, { ...to, data }], edges: edges("a -> b") }
}

const mismatches = (of: ReturnType<typeof drawing>, overrides: InputOverrides = {}) =>
  messages(Result.getOrThrow(compile(of, of.types, overrides)).mismatches)

const warnings = (of: ReturnType<typeof drawing>) =>
  messages(warningsOf(readDrawing(of, { types: of.types, overrides: {}, evaluates: true })))

const text = { type: "string" }
const number = { type: "number" }

describe("an edge between ports without a common JSON type", () => {
  it("is named with its ends and their types", () => {
    assert.deepStrictEqual(mismatches(drawing(number, text)), [
      'Edge "e1": output "output" of node "a" gives a number, ' +
        'and input "input" of node "b" takes a string',
    ])
    const either = { anyOf: [text, { type: "object" }] }
    assert.match(
      mismatches(drawing(either, { type: ["integer", "null"] }))[0]!,
      /a string or an ob/,
    )
    assert.match(mismatches(drawing({ const: true }, { enum: [1, 2] }))[0]!, /a boolean.*a number/)
  })

  it("is one from error into a text, because a failure is an object", () => {
    const of = { ...drawing(text, text), edges: edges("a.error -> b.input") }
    assert.match(mismatches(of)[0]!, /"error" of node "a" gives an object/)
  })

  it("is no problem for a node that is disabled, and for an input that the run overrides", () => {
    assert.deepStrictEqual(mismatches(drawing(number, text, {}, { disabled: true })), [])
    assert.deepStrictEqual(mismatches(drawing(number, text), { b: { input: "x" } }), [])
  })

  it("is no problem where the input converts what it gets", () => {
    assert.deepStrictEqual(mismatches(drawing(text, number, { convertsTypes: true })), [])
  })
})

describe("an edge between ports that some value fits", () => {
  it.each<readonly [string, JsonObject, JsonObject]>([
    ["a whole number into a number", { type: "integer" }, number],
    ["a number into a whole number", number, { type: "integer" }],
    ["what may be null", { type: ["string", "null"] }, text],
    ["an unknown output", {}, text],
    ["an unknown input", text, {}],
    ["one of several types", text, { anyOf: [number, text] }],
    ["an alternative that is unknown", text, { oneOf: [number, { $ref: "#/$defs/any" }] }],
  ])("is fine: %s", (_, source, target) => {
    assert.deepStrictEqual(mismatches(drawing(source, target)), [])
    assert.deepStrictEqual(warnings(drawing(source, target)), [])
  })

  it("is fine where an input that takes many gets one item", () => {
    const all = { multiple: true }
    assert.deepStrictEqual(mismatches(drawing(text, { type: "array", items: text }, all)), [])
    assert.deepStrictEqual(mismatches(drawing(text, { type: "array" }, all)), [])
    assert.lengthOf(mismatches(drawing(text, { type: "array", items: number }, all)), 1)
  })

  it("is only a warning where items or required keys have no common type", () => {
    const arrays = drawing({ type: "array", items: text }, { type: "array", items: number })
    assert.deepStrictEqual(mismatches(arrays), [])
    assert.deepStrictEqual(warnings(arrays), [
      'Edge "e1": output "output" of node "a" may not fit input "input" of node "b": ' +
        "each item is a string, and a number is expected",
    ])
    const object = (id: JsonObject) => ({ type: "object", properties: { id }, required: ["id"] })
    assert.match(warnings(drawing(object(text), object(number)))[0]!, /"id" is a string, and a nu/)
    assert.deepStrictEqual(warnings(drawing(object(text), object(text))), [])
  })
})
