// Amounts of credits: what is one, and what is refused.
import { assert, describe, it } from "@effect/vitest"
import { Amount, fromNumber, isAmount, SignedAmount, toNumber } from "@millrace/core/domain/Credits"
import { mostCredits } from "@millrace/core/domain/Limits"
import { Option, Schema } from "effect"

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

describe("Credits.isAmount", () => {
  it("takes whole numbers from 0 to the bound", () => {
    const most = mostCredits * 1e6
    assert.deepStrictEqual([0, 1, most].map(isAmount), [true, true, true])
    for (const micro of [-1, 0.5, NaN, most + 1]) assert.isFalse(isAmount(micro), String(micro))
  })
})

describe("Credits.Amount and SignedAmount", () => {
  const read = (codec: typeof Amount, credits: unknown) =>
    Option.getOrUndefined(Schema.decodeUnknownOption(codec)(credits))

  it("take amounts from a client, negative ones only where those make sense", () => {
    for (const codec of [Amount, SignedAmount]) {
      assert.deepStrictEqual(
        [0, 1.5, mostCredits].map((credits) => read(codec, credits)),
        [0, 1_500_000, mostCredits * 1e6],
      )
      for (const bad of [mostCredits + 1, 1e-7, NaN, Infinity, "1", null]) {
        assert.isUndefined(read(codec, bad), String(bad))
      }
    }
    assert.isUndefined(read(Amount, -1))
    assert.strictEqual(read(SignedAmount, -1), -1_000_000)
    assert.strictEqual(read(SignedAmount, -mostCredits), -mostCredits * 1e6)
    assert.isUndefined(read(SignedAmount, -mostCredits - 1))
  })

  it("say what they expect", () => {
    const most = mostCredits
    assert.throws(
      () => Schema.decodeSync(Amount)(-1),
      `expected a number of credits from 0 to ${most}, of at most six decimals`,
    )
    assert.throws(
      () => Schema.decodeSync(SignedAmount)(1e-7),
      `expected a number of credits up to ${most} either way, of at most six decimals`,
    )
  })
})
