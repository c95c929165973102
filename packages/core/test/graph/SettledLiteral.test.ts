// Literals in which values have become constants, and what they mean when they are read again.
import type { Json } from "@millrace/core/domain/Json"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { Filler, readLiteral } from "../../src/graph/internal/Literal.ts"
import { constantOf, settled } from "../../src/graph/internal/SettledLiteral.ts"
import { Choice, seeds } from "./RandomGraph.ts"

const parts = ["{", "}", "{{", "}}", " ", "secrets.other", '"', "\\", "a", "\n", "{{ secrets.x }}"]

const textOf = (choice: Choice): string =>
  Array.from({ length: choice.below(6) }, () => choice.of(parts)).join("")

/** What a literal means whose only name is `secrets.kept`, with `KEPT` in its place. */
const readAgain = (literal: Json): Json | undefined => {
  const read = readLiteral(literal)
  if (read === undefined) return literal
  assert.deepStrictEqual(read.problems, [])
  const values = read.expressions.map(({ meaning, text }) => {
    if (meaning._tag === "Constant") return meaning.value
    assert.strictEqual(text, "secrets.kept")
    return "KEPT"
  })
  return Result.getOrThrow(new Filler().fill(read, values))
}

describe("SettledLiteral.settled", () => {
  it.prop("means the same when it is read again, whatever texts the values are", seeds, (from) => {
    const choice = new Choice(from)
    const drawn = Array.from({ length: 4 }, () =>
      choice.of(["{{ secrets.kept }}", "{{ values.x }}", "{ ", " }", "}", "{", "y"]),
    ).join("")
    // A text that is drawn may hold braces that begin no expression.
    const literal = readLiteral([drawn, { deep: "{{ values.x }}" }])
    if (literal === undefined || literal.problems.length > 0) return
    const isKept = (place: number) => literal.expressions[place]!.text === "secrets.kept"
    const values = literal.expressions.map((_, place) =>
      isKept(place) ? undefined : textOf(choice),
    )
    const kept = new Set(Array.from(values.keys()).filter(isKept))
    const whole = values.map((value) => value ?? "KEPT")
    const expected = Result.getOrThrow(new Filler().fill(literal, whole))
    assert.deepStrictEqual(readAgain(settled(literal, values, kept)), expected)
  })

  it.prop("constantOf keeps JSON of any texts", seeds, (from) => {
    const choice = new Choice(from)
    const json: Json = { a: [textOf(choice), 1, null], "{{ secrets.kept }}": { b: textOf(choice) } }
    assert.deepStrictEqual(readAgain(constantOf(json)), json)
  })
})
