// Prices that an operator sets for node types: how they are read, and which one holds.
import { priceOf, pricesOf, readPrices } from "@millrace/core/domain/Prices"
import type { JsonObject } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const typed = (key: string, modes: ReadonlyArray<string> = []) =>
  define({ key, modes, inputs: {}, outputs: {}, run: () => Effect.succeed({}) }).type

const types = [typed("search", ["quick", "deep"]), typed("echo")]

const problemsOf = (given: unknown) => readPrices(given, types).problems

describe("Prices.readPrices", () => {
  it("takes a number for a type, or one for each mode, in credits", () => {
    assert.deepStrictEqual(readPrices({ echo: 0.25, search: { deep: 3 } }, types), {
      prices: { echo: 250_000, search: { deep: 3_000_000 } },
      problems: [],
    })
    assert.deepStrictEqual(readPrices({}, types), { prices: {}, problems: [] })
  })

  it("refuses what is no amount, with its place", () => {
    const expected = "expected a number of credits from 0 to 1000000000, of at most six decimals"
    for (const wrong of [-1, -0, Number.NaN, Infinity, 1e10, 0.0000001, null, [1]]) {
      assert.deepStrictEqual(problemsOf({ echo: wrong }), [`["echo"]: ${expected}`], String(wrong))
      assert.deepStrictEqual(problemsOf({ search: { deep: wrong } }), [
        `["search"]["deep"]: ${expected}`,
      ])
    }
    assert.deepStrictEqual(problemsOf({ search: -1 }), [
      `["search"]: ${expected}, or an object with one for each mode`,
    ])
    for (const wrong of [null, [], 1, "x"]) {
      const expectedList = "expected an object with a price for each node type"
      assert.deepStrictEqual(problemsOf(wrong), [expectedList])
    }
  })

  it("refuses an expression that cannot be read, with its column", () => {
    const operand = "expected a number, inputs, min, max, round, ceil, floor"
    assert.deepStrictEqual(problemsOf({ echo: "1 +", search: { deep: "input.a" } }), [
      `["echo"]: column 4: ${operand}, got the end`,
      `["search"]["deep"]: column 1: ${operand}, got "input"`,
    ])
  })

  it("refuses an unknown type or mode, with the nearest name", () => {
    assert.deepStrictEqual(problemsOf({ serch: 1, eco: 1, search: { dep: 1 }, echo: { a: 1 } }), [
      '["serch"]: there is no such node type; did you mean "search"?',
      '["eco"]: there is no such node type; did you mean "echo"?',
      '["search"]["dep"]: the type has no such mode; did you mean "deep"?',
      '["echo"]: the type has no modes; expected a number',
    ])
  })
})

const inMode = (mode?: string, inputs: JsonObject = {}) => ({ mode, inputs })

describe("Prices.priceOf", () => {
  const { prices } = readPrices({ echo: 1, search: { quick: 2 } }, types)
  const [search, echo] = types as [(typeof types)[0], (typeof types)[0]]

  it("is that of the mode in force, the default one if none is set", () => {
    assert.strictEqual(priceOf(prices, search, inMode()), 2_000_000)
    assert.strictEqual(priceOf(prices, search, inMode("quick")), 2_000_000)
    assert.strictEqual(priceOf(prices, echo, inMode()), 1_000_000)
  })

  it("is computed from the literals, rounded to a millionth of a credit", () => {
    const given = { search: { deep: "1 + inputs.pages * 0.1" }, echo: "inputs.text.length / 3" }
    const read = readPrices(given, types)
    assert.deepStrictEqual(read.problems, [])
    assert.strictEqual(priceOf(read.prices, search, inMode("deep", { pages: 3 })), 1_300_000)
    assert.strictEqual(priceOf(read.prices, echo, inMode("", { text: "abcd" })), 1_333_333)
    assert.isNaN(priceOf(read.prices, echo, inMode("", { text: 1 })))
  })

  it("is none for a type, a mode or a list that is not there", () => {
    assert.isUndefined(priceOf(prices, search, inMode("deep")))
    assert.isUndefined(priceOf(prices, typed("toString"), inMode()))
    assert.isUndefined(priceOf(undefined, echo, inMode()))
  })
})

describe("Prices.pricesOf", () => {
  it("keeps those of some types, in one order", () => {
    const prices = { b: 1, a: 2, c: 3 }
    assert.deepStrictEqual(Object.entries(pricesOf(prices, ["b", "a", "b", "d"])!), [
      ["a", 2],
      ["b", 1],
    ])
    assert.isUndefined(pricesOf(prices, ["d", "toString"]))
  })
})
