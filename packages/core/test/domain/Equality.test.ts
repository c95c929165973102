import { describe, expect, it } from "@effect/vitest"
import type { Json } from "@millrace/core/domain/Json"
import { Schema } from "effect"
import { isSame as isSameCounted } from "@millrace/core/domain/Equality"
import { Work } from "@millrace/core/domain/Work"

const json = (text: string) => JSON.parse(text) as Json

const isSame = (left: Json, right: Json) =>
  isSameCounted(left, right, new Work(Number.POSITIVE_INFINITY))

const nested = (levels: number): Json => {
  let value: Json = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

/** The same value with every object's keys in the opposite order. */
const reversed = (value: Json): Json => {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(reversed)
  const entries = Object.entries(value).map(([key, child]) => [key, reversed(child)])
  return Object.fromEntries(entries.toReversed()) as Json
}

describe("Equality.isSame", () => {
  it.prop("is true for a copy, whatever the order of its keys", [Schema.Json], ([value]) => {
    // Not by `JSON.parse`: Node 24 mixes up keys with escapes (docs/decisions/0069).
    expect(isSame(value, structuredClone(value))).toBe(true)
    expect(isSame(value, reversed(value))).toBe(true)
  })

  it.prop(
    "is true exactly when the sorted texts agree",
    [Schema.Json, Schema.Json],
    ([left, right]) => {
      const text = (value: Json): string =>
        JSON.stringify(value, (_key, each: Json) =>
          typeof each === "object" && each !== null && !Array.isArray(each)
            ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
            : each,
        )
      expect(isSame(left, right)).toBe(text(left) === text(right))
      expect(isSame([left, right], [right, left])).toBe(text(left) === text(right))
    },
    { arbitrary: { runs: 500 } },
  )

  it("tells types, orders and lengths apart", () => {
    const pairs: ReadonlyArray<[Json, Json]> = [
      [1, "1"],
      [0, false],
      [null, 0],
      [null, {}],
      [{}, []],
      [[], {}],
      [
        [1, 2],
        [2, 1],
      ],
      [[1], [1, 1]],
      [{ a: 1 }, { b: 1 }],
      [{ a: null }, {}],
      [json('{"__proto__": 1}'), {}],
    ]
    for (const [left, right] of pairs) {
      expect(isSame(left, right), JSON.stringify([left, right])).toBe(false)
      expect(isSame(right, left), JSON.stringify([right, left])).toBe(false)
    }
  })

  it("compares values nested a hundred thousand levels deep", () => {
    expect(isSame(nested(100_000), nested(100_000))).toBe(true)
    expect(isSame(nested(100_000), nested(100_001))).toBe(false)
  })
})
