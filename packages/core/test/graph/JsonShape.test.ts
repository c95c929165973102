// Whether a value has the form that a JSON Schema describes.
import { assert, describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { clausesOfShape } from "../../src/graph/internal/JsonShape.ts"

const person: JsonObject = {
  type: "object",
  properties: {
    name: { type: "string" },
    age: { type: "integer" },
    tags: { type: "array", items: { type: "string" } },
    kind: { enum: ["a", "b", null] },
  },
  required: ["name"],
}

const anything = Schema.Struct({
  text: Schema.String,
  count: Schema.Int,
  ratio: Schema.Finite,
  maybe: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  list: Schema.Array(Schema.Union([Schema.String, Schema.Int])),
  pair: Schema.Tuple([Schema.String, Schema.Int]),
  kind: Schema.Literals(["a", "b"]),
  date: Schema.Date,
})

describe("clausesOfShape", () => {
  it("names type, missing key, item and alternative, with the place in the value", () => {
    assert.deepStrictEqual(clausesOfShape({ type: "string" }, 3), ["expected string"])
    assert.deepStrictEqual(clausesOfShape(person, { age: 1.5, tags: ["x", 7], kind: "c" }), [
      'lacks "name"',
      "[age]: expected integer",
      "[tags][1]: expected string",
      '[kind]: expected "\\"a\\"", "\\"b\\"", null',
    ])
    const either = { anyOf: [{ type: "null" }, person] }
    assert.deepStrictEqual(clausesOfShape(either, { name: 7 }), ["[name]: expected string"])
    assert.deepStrictEqual(clausesOfShape(either, true), ["expected null or object"])
  })

  it("accepts what fits, and whatever the schema does not say", () => {
    const fitting = { name: "Ada", age: 3, tags: [], kind: null, more: [1] }
    assert.deepStrictEqual(clausesOfShape(person, fitting), [])
    for (const schema of [{}, { not: {} }, { $ref: "elsewhere.json" }, { allOf: [person] }]) {
      assert.deepStrictEqual(clausesOfShape(schema, 7), [])
    }
    assert.deepStrictEqual(clausesOfShape({ const: { a: 1, b: 2 } }, { b: 2, a: 1 }), [])
  })

  it("follows references into the definitions of the schema", () => {
    const schema = { $ref: "#/$defs/Person", $defs: { Person: person } }
    assert.deepStrictEqual(clausesOfShape(schema, { name: 1 }), ["[name]: expected string"])
  })

  it("names few problems of a large value, and ends in one that is deep", () => {
    const list = { type: "array", items: { type: "string" } }
    assert.lengthOf(
      clausesOfShape(
        list,
        Array.from({ length: 100_000 }, () => 1),
      ),
      5,
    )
    const loop: JsonObject = {
      $ref: "#/$defs/Loop",
      $defs: { Loop: { type: "object", properties: { next: { $ref: "#/$defs/Loop" } } } },
    }
    let deep: Json = 1
    for (let level = 0; level < 5_000; level++) deep = { next: deep }
    assert.deepStrictEqual(clausesOfShape(loop, deep), [])
  })

  it.effect.prop("accepts whatever a handler may put out", [anything], ([value]) =>
    Effect.sync(() => {
      const { type } = define({
        key: "any",
        inputs: {},
        outputs: { output: anything },
        run: () => Effect.die("never called"),
      })
      const settings = { inputs: {}, mode: undefined, version: undefined, label: undefined }
      const port = type.portsOf({ ...settings, disabled: false }).outputs.get("output")!
      const json = Schema.encodeSync(Schema.toCodecJson(anything))(value)
      assert.deepStrictEqual(clausesOfShape(port.schema, json), [])
    }),
  )
})
