import { describe, expect, it } from "@effect/vitest"
import { Schema } from "effect"
import { sumOf } from "../src/internal/Sum.ts"

describe("Sum.sumOf", () => {
  it("adds what people wrote in decimal as people would", () => {
    expect(sumOf([0.1, 0.2])).toBe(0.3)
    expect(sumOf([19.99, 5.01, 0.1])).toBe(25.1)
    expect(sumOf(Array.from({ length: 1_000 }, () => 0.1))).toBe(100)
    expect(sumOf([])).toBe(0)
    expect(sumOf([-0.1, 0.1])).toBe(0)
  })

  it("stays close where numbers have more digits or are huge", () => {
    expect(sumOf([1 / 3, 1 / 3, 1 / 3])).toBeCloseTo(1, 15)
    expect(sumOf([1e100, 1, -1e100])).toBe(1)
    expect(sumOf([1e308, 1e308])).toBe(Infinity)
  })

  const Micro = Schema.Int.check(
    Schema.isBetween({ minimum: -1_000_000_000_000, maximum: 1_000_000_000_000 }),
  )
  it.prop("is exact for six decimals, in any order", [Schema.Array(Micro)], ([micros]) => {
    const exact = Number(micros.reduce((sum, each) => sum + BigInt(each), 0n)) / 1_000_000
    const amounts = micros.map((each) => each / 1_000_000)
    expect(sumOf(amounts)).toBe(exact)
    expect(sumOf(amounts.toReversed())).toBe(exact)
  })
})
