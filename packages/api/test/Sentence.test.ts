/**
 * How problems with the form of a value are worded.
 */
import { assert, describe, it } from "@effect/vitest"
import { sentenceOf } from "@millrace/api/Sentence"
import { problemsShown } from "@millrace/core/domain/Limits"
import { Effect, Result, Schema } from "effect"

const sentence = <A, I>(schema: Schema.Codec<A, I>, value: unknown): string => {
  const result = Schema.decodeUnknownResult(schema)(value, { errors: "all" })
  return Result.isSuccess(result) ? "" : sentenceOf(result.failure.issue, "body")
}

const Thing = Schema.Struct({
  name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(5)),
  size: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))),
  note: Schema.optionalKey(Schema.NullOr(Schema.String)),
  parts: Schema.optionalKey(Schema.Array(Schema.Struct({ on: Schema.Boolean }))),
  kind: Schema.optionalKey(Schema.Literals(["a", "b", "c"])),
  more: Schema.optionalKey(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Int))),
})

describe("Sentence.sentenceOf", () => {
  const cases: ReadonlyArray<readonly [unknown, string]> = [
    [null, "body: expected an object"],
    ["text", "body: expected an object"],
    [{}, "name: is missing"],
    [{ name: 1 }, "name: expected a string"],
    [{ name: "" }, "name: expected a length of at least 1"],
    [{ name: "toolong" }, "name: expected a length of at most 5"],
    [{ name: "n", size: 1.5 }, "size: expected an integer"],
    [{ name: "n", size: 10 }, "size: expected a value between 1 and 9"],
    [{ name: "n", note: 1 }, "note: expected a string or null"],
    [{ name: "n", parts: {} }, "parts: expected an array"],
    [{ name: "n", parts: [{ on: true }, { on: 1 }] }, "parts[1].on: expected true or false"],
    [{ name: "n", kind: "d" }, 'kind: expected "a", "b" or "c"'],
    [{ name: "n", more: { x: { y: "z" } } }, "more.x.y: expected a number"],
    [{ name: "n", more: { "a b": { "": 0.5 } } }, 'more["a b"][""]: expected an integer'],
    [
      { size: "s", note: 2 },
      "name: is missing; size: expected a number; note: expected a string or null",
    ],
  ]
  for (const [value, expected] of cases) {
    it(`says ${expected}`, () => assert.strictEqual(sentence(Thing, value), expected))
  }

  const Shape = Schema.Union([
    Schema.Struct({ kind: Schema.Literal("circle"), radius: Schema.Number }),
    Schema.Struct({ kind: Schema.Literal("square"), side: Schema.Number }),
  ])
  for (const value of [{ kind: "line" }, null, {}]) {
    it(`says which objects there are, for ${JSON.stringify(value)}`, () => {
      const expected = 'body: expected an object whose kind is "circle" or "square"'
      assert.strictEqual(sentence(Shape, value), expected)
    })
  }

  it("names at most 20 problems and counts the rest", () => {
    const text = sentence(Schema.Array(Schema.String), Array(problemsShown + 3).fill(0))
    assert.strictEqual(text.split("; ").length, problemsShown + 1)
    assert.isTrue(text.endsWith("; and 3 more"))
  })

  it("cuts long keys, so that a sentence stays one", () => {
    const text = sentence(Thing, { name: "n", more: { ["k".repeat(100_000)]: 1 } })
    assert.isBelow(text.length, 160)
  })

  it.effect.prop(
    "is one line and never repeats a value",
    { secret: Schema.String.check(Schema.isMinLength(12), Schema.isPattern(/^[A-Z]+$/)) },
    ({ secret }) =>
      Effect.sync(() => {
        const values = [secret, [secret], { name: [secret], size: secret, kind: secret }]
        for (const value of values) {
          const text = sentence(Thing, value)
          assert.notStrictEqual(text, "")
          assert.notInclude(text, secret)
          assert.notInclude(text, "\n")
        }
      }),
  )
})
