// Arithmetic over a node's literals, as an operator's price.
import type { JsonObject } from "@millrace/core/domain/Json"
import { priceLength } from "@millrace/core/domain/Limits"
import { priced, readExpression } from "@millrace/core/domain/PriceExpression"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { runInNewContext } from "node:vm"
import { Choice, seeds } from "../graph/RandomGraph.ts"

const inputs: JsonObject = {
  n: 4,
  text: "four",
  "a name": { list: [1, { deep: 2.5 }] },
  later: "{{ fetch.body }}",
  empty: null,
}

const arithmetic = (choice: Choice, levels: number): string => {
  const next = () => arithmetic(choice, levels - 1)
  const leaf = () => choice.of([`${choice.below(10)}`, "inputs.n", "0.25"])
  return levels === 0
    ? leaf()
    : choice.of([
        leaf,
        () => `${next()} ${choice.of(["+", "-", "*", "/"])} ${next()}`,
        () => `(${next()})`,
        () => `-(${next()})`,
        () => `max(${next()}, ${next()})`,
        () => `(inputs.none ?? ${next()})`,
      ])()
}

const creditsOf = (text: string, of: JsonObject) => priced(text, of).credits

describe("PriceExpression.priced", () => {
  it("computes from the literals as JavaScript does", () => {
    const cases: ReadonlyArray<readonly [string, number]> = [
      ["2", 2],
      [" 1 + 2 * 3 ", 7],
      ["(1 + 2) * 3", 9],
      ["8 / 4 / 2", 1],
      ["2 - 1 - 1", 0],
      ["-inputs.n + 5", 1],
      ["inputs.n * 0.5", 2],
      ["inputs.text.length", 4],
      [`inputs["a name"].list.length + inputs['a name']["list"][1].deep`, 4.5],
      ["max(1, inputs.n, 2) + min(3, 2) + ceil(0.1) + floor(0.9) + round(0.5)", 8],
      ["inputs.none ?? inputs.n", 4],
      ["inputs.none ?? inputs.text ?? 1 + 1", 2],
    ]
    for (const [text, expected] of cases)
      assert.strictEqual(creditsOf(text, inputs), expected, text)
  })

  it("is nothing where a part is nothing, a text, or known only when the node executes", () => {
    const texts = ["inputs", "inputs.none", "inputs.none.more", "inputs.text", "inputs.empty.x"]
    const more = [
      "inputs.later",
      "inputs.later.length",
      "inputs.n + inputs.none",
      "max(inputs.none)",
    ]
    const own = ["inputs.constructor", "inputs.text.constructor.length", "inputs.__proto__"]
    for (const text of [...texts, ...more, ...own])
      assert.isUndefined(creditsOf(text, inputs), text)
  })

  it("names the paths for whose lack it gives nothing, and no others", () => {
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
      ["inputs.n + inputs.none * inputs.none", ["inputs.none"]],
      ["max(inputs.text, inputs.later)", ["inputs.text", "inputs.later"]],
      ["(inputs.none ?? inputs.n) + inputs.empty", ["inputs.empty"]],
      ["inputs.none ?? inputs.text", ["inputs.none", "inputs.text"]],
      [`inputs["a name"].list[7]`, [`inputs["a name"].list[7]`]],
      ["1 / 0", []],
    ]
    for (const [text, expected] of cases)
      assert.deepStrictEqual(priced(text, inputs).missing, expected, text)
  })

  it.prop("gives what JavaScript gives for any arithmetic", seeds, (from) => {
    const text = arithmetic(new Choice(from), 5)
    const expected: unknown = runInNewContext(text, { inputs, max: Math.max })
    // As `===`, but what is no number is equal to itself.
    const isSame = (left: unknown) => left === expected || Object.is(left, expected)
    assert.isTrue(isSame(creditsOf(text, inputs)), `${text} is ${String(expected)}`)
  })
})

describe("PriceExpression.readExpression", () => {
  it("says in a clause, with the column, why a text is none", () => {
    const operand = "expected a number, inputs, min, max, round, ceil, floor"
    const cases: ReadonlyArray<readonly [string, string]> = [
      ["", `column 1: ${operand}, got the end`],
      ["1 2", 'column 3: expected an operator, got "2"'],
      ["(1", 'column 3: expected ")", got the end'],
      ["inputs.", "column 8: expected a name, got the end"],
      ["inputs[a]", 'column 8: expected an index, or a name in quotes, got "a"'],
      ["eval(1)", `column 1: ${operand}, got "eval"`],
      ["constructor(1)", `column 1: ${operand}, got "constructor"`],
      ["1 & 2", "column 2: expected a number or a name"],
      ["1".repeat(priceLength + 1), `expected at most ${priceLength} characters`],
    ]
    for (const [text, expected] of cases) {
      assert.deepStrictEqual(
        Result.getFailure(readExpression(text)),
        Result.getFailure(Result.fail(expected)),
        text,
      )
    }
  })

  it("reads the deepest and longest text that it takes", () => {
    const deep = "(".repeat(499) + "1" + ")".repeat(499)
    assert.strictEqual(creditsOf(deep, {}), 1)
    assert.strictEqual(creditsOf("-".repeat(998) + "1", {}), 1)
    assert.strictEqual(creditsOf("1+".repeat(499) + "1", {}), 500)
  })
})
