// Amounts of credits: what is one, and what is refused.
import { assert, describe, it } from "@effect/vitest"
import { fromNumber, isAmount, toNumber } from "@millrace/core/domain/Credits"
import { mostCredits } from "@millrace/core/domain/Limits"
import { Schema } from "effect"

describe("Credits.fromNumber", () => {
  const Micro = Schema.Int.check(Schema.isBetween({ minimum: -1e15, maximum: 1e15 }))
  it.prop("gives back every amount of six decimals", [Micro], ([micro]) => {
    assert.strictEqual(fromNumber(toNumber(micro)), micro + 0)
    assert.strictEqual(fromNumber(Number((micro / 1e6).toFixed(6))), micro + 0)
  })

  it("takes sums and products of amounts for what they mean", () => {
    assert.strictEqual(fromNumber(0.1 + 0.2), 300_000)
    assert.strictEqual(fromNumber(3 * 0.000_002), 6)
    assert.strictEqual(fromNumber(1.1 * 1_000_003), 1_100_003_300_000)
  })

  it("takes nothing else for an amount", () => {
    const bad = [NaN, Infinity, -Infinity, 1e-7, 0.000_000_5, 1.000_000_1, 1e300, mostCredits + 1]
    for (const credits of bad) assert.isNaN(fromNumber(credits), String(credits))
    assert.isFalse(isAmount(fromNumber(-1)))
    assert.isTrue(isAmount(fromNumber(mostCredits)))
  })
})
