import { describe, expect, it } from "@effect/vitest"
import type { Json } from "@millrace/core/domain/Json"
import { stepsPerTransform } from "@millrace/core/domain/Limits"
import { Schema } from "effect"
import type { Step } from "../src/Steps.ts"
import { carryOut as carryingOut, problemsOfSteps } from "../src/Steps.ts"
import { done, isClean, json } from "./TestNode.ts"

const carryOut = (items: ReadonlyArray<Json>, steps: ReadonlyArray<Step>) =>
  done((work) => carryingOut(items, steps, work))

const after = (items: ReadonlyArray<Json>, ...steps: ReadonlyArray<Step>) => {
  expect(problemsOfSteps(steps)).toEqual([])
  return carryOut(items, steps).output
}

const orders = [
  { id: 1, city: "Bern", total: 10.1, at: 3 },
  { id: 2, city: "Basel", total: 20.2, at: 1 },
  { id: 3, city: "Bern", total: 30.3, at: 2 },
  { id: 4, total: 0.1 },
]

const ids = (items: unknown) =>
  (items as ReadonlyArray<{ readonly id: number }>).map(({ id }) => id)

describe("Steps.carryOut", () => {
  it("gives the items back where there is no step", () => {
    expect(carryOut(orders, [])).toEqual({ output: orders, count: 4 })
  })

  it("filters by a rule", () => {
    const rule = { path: "city", op: "equals", value: "Bern" } as const
    expect(ids(after(orders, { op: "filter", rule }))).toEqual([1, 3])
  })

  it("sorts by a path, either way, with missing values last", () => {
    expect(ids(after(orders, { op: "sort", by: "at" }))).toEqual([2, 3, 1, 4])
    expect(ids(after(orders, { op: "sort", by: "at", order: "desc" }))).toEqual([1, 3, 2, 4])
    expect(ids(after(orders, { op: "sort", by: "city", order: "desc" }))).toEqual([1, 3, 2, 4])
  })

  it("sorts numbers by size, texts by code unit, and numbers before texts", () => {
    const items = ["b", 10, "a", null, 9, "B", true, "10", -1]
    expect(after(items, { op: "sort" })).toEqual([-1, 9, 10, "10", "B", "a", "b", true, null])
  })

  it("groups in order of first appearance, with counts and sums", () => {
    expect(after(orders, { op: "group", by: "city", sum: ["total", "at"] })).toEqual([
      { key: "Bern", count: 2, sums: { total: 40.4, at: 5 } },
      { key: "Basel", count: 1, sums: { total: 20.2, at: 1 } },
      { key: null, count: 1, sums: { total: 0.1, at: 0 } },
    ])
    expect(after([{ a: 1 }], { op: "group", by: "a", count: false })).toEqual([{ key: 1 }])
  })

  it("keeps groups of different types apart", () => {
    const items = [{ a: 1 }, { a: "1" }, { a: null }, { a: "null" }, { a: true }, { a: "true" }]
    expect(after(items, { op: "group", by: "a" })).toHaveLength(6)
  })

  it("takes, counts and sums", () => {
    expect(ids(after(orders, { op: "take", n: 2 }))).toEqual([1, 2])
    expect(after(orders, { op: "take", n: 0 })).toEqual([])
    expect(after(orders, { op: "count" })).toBe(4)
    expect(after(orders, { op: "sum", path: "total" })).toBe(60.7)
    expect(after([0.1, 0.2], { op: "sum" })).toBe(0.3)
    expect(after([1, null, 2], { op: "sum" })).toBe(3)
  })

  it("carries steps out in order, and says how many items were left", () => {
    const steps: ReadonlyArray<Step> = [
      { op: "filter", rule: { path: "city", op: "exists" } },
      { op: "group", by: "city", sum: ["total"] },
      { op: "sort", by: "sums.total", order: "desc" },
      { op: "take", n: 1 },
    ]
    expect(carryOut(orders, steps)).toEqual({
      output: [{ key: "Bern", count: 2, sums: { total: 40.4 } }],
      count: 1,
    })
    expect(carryOut(orders, [...steps, { op: "sum", path: "count" }])).toEqual({
      output: 2,
      count: 1,
    })
  })

  it("maps to the value at a path, and to null where there is none", () => {
    expect(after(orders, { op: "map", path: "city" })).toEqual(["Bern", "Basel", "Bern", null])
  })

  it("flattens arrays by one level", () => {
    expect(after([1, [2, [3]], [], "a"], { op: "flatten" })).toEqual([1, 2, [3], "a"])
  })

  it("keeps the first of equal items, or of those with equal values at a path", () => {
    expect(after([1, "1", 1, null, [1], [1], null], { op: "distinct" })).toEqual([
      1,
      "1",
      null,
      [1],
    ])
    expect(ids(after(orders, { op: "distinct", by: "city" }))).toEqual([1, 2, 4])
  })

  it("splits texts, and joins anything", () => {
    const lines = after(["a,b", "", "c"], { op: "split", separator: "," })
    expect(lines).toEqual(["a", "b", "", "c"])
    expect(() => carryOut(["a", 1], [{ op: "split", separator: "," }])).toThrow(
      "item 1 is not a text",
    )
    expect(carryOut(["a", 1, null, true, { b: 2 }], [{ op: "join" }])).toEqual({
      output: 'a, 1, , true, {"b":2}',
      count: 5,
    })
    expect(after(["a", "b"], { op: "join", separator: "" })).toBe("ab")
    expect(after([], { op: "join" })).toBe("")
  })

  it("finds the least, the largest and the mean, without missing values", () => {
    const items = [{ a: 3 }, {}, { a: -1 }, { a: null }, { a: 4 }]
    expect(after(items, { op: "min", path: "a" })).toBe(-1)
    expect(after(items, { op: "max", path: "a" })).toBe(4)
    expect(after(items, { op: "average", path: "a" })).toBe(2)
    expect(after([0.1, 0.2], { op: "average" })).toBe(0.15)
    for (const op of ["min", "max", "average"] as const) {
      expect(after([null], { op })).toBe(null)
      expect(() => carryOut(["1"], [{ op }])).toThrow("item 0 is not a number")
    }
    const many = Array.from({ length: 200_000 }, (_, at) => at)
    expect(after(many, { op: "max" })).toBe(199_999)
  })

  it("says which item is not a number", () => {
    expect(() => carryOut([{ a: 1 }, { a: "2" }], [{ op: "sum", path: "a" }])).toThrow(
      'item 1: "a" is not a number',
    )
    expect(() => carryOut([1, []], [{ op: "sum" }])).toThrow("item 1 is not a number")
    expect(() => carryOut([1e308, 1e308], [{ op: "sum" }])).toThrow("larger than a number can be")
  })

  it("reads own properties only, and pollutes nothing", () => {
    const items = [json('{"__proto__": {"polluted": 1}, "constructor": 3}'), {}]
    expect(after(items, { op: "sum", path: "constructor" })).toBe(3)
    const [group] = after(items, { op: "group", by: "toString", sum: ["__proto__.polluted"] }) as [
      Json,
    ]
    expect(group).toEqual({ key: null, count: 2, sums: { "__proto__.polluted": 1 } })
    expect(JSON.stringify(after([{}], { op: "group", by: "a", sum: ["__proto__"] }))).toBe(
      '[{"key":null,"count":1,"sums":{"__proto__":0}}]',
    )
    expect(isClean()).toBe(true)
  })
})

describe("Steps.carryOut over any array", () => {
  const Keys = Schema.Union([
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
    Schema.Literals(["a", "b"]),
    Schema.Null,
  ])
  const Amounts = Schema.Int.check(Schema.isBetween({ minimum: -1_000_000, maximum: 1_000_000 }))
  const Items = Schema.Array(Schema.Struct({ key: Keys, amount: Amounts }))
  const many = { arbitrary: { runs: 300 } }

  it.prop(
    "sorting orders by key and, where keys are equal, keeps the order there was",
    { items: Items, order: Schema.Literals(["asc", "desc"]) },
    ({ items, order }) => {
      const numbered = items.map((item, at) => ({ ...item, at }))
      const sorted = after(numbered, { op: "sort", by: "key", order }) as typeof numbered
      const rank = (key: string | number | null) =>
        key === null ? 9 : (order === "asc" ? 1 : -1) * [0, 1, 2, 3, "a", "b"].indexOf(key)
      const expected = numbered.toSorted(
        (left, right) => rank(left.key) - rank(right.key) || left.at - right.at,
      )
      expect(sorted).toEqual(expected)
    },
    many,
  )

  it.prop(
    "filtering keeps exactly the items for which the rule holds, in order",
    { items: Items, than: Amounts },
    ({ items, than }) => {
      const rule = { path: "amount", op: "greaterThan", value: than } as const
      const kept = after(items, { op: "filter", rule })
      expect(kept).toEqual(items.filter(({ amount }) => amount > than))
      const rest = after(items, { op: "filter", rule: { not: rule } }) as ReadonlyArray<Json>
      expect((kept as ReadonlyArray<Json>).length + rest.length).toBe(items.length)
    },
    many,
  )

  it.prop(
    "the counts of groups add up to the items and their sums to the sum",
    [Items],
    ([items]) => {
      const cents = items.map(({ amount, key }) => ({ key, amount: amount / 100 }))
      const groups = after(cents, { op: "group", by: "key", sum: ["amount"] }) as ReadonlyArray<{
        readonly key: Json
        readonly count: number
        readonly sums: { readonly amount: number }
      }>
      expect(new Set(groups.map(({ key }) => key)).size).toBe(groups.length)
      expect(groups.reduce((sum, { count }) => sum + count, 0)).toBe(items.length)
      const sums = groups.map(({ sums: { amount } }) => amount)
      const exact = items.reduce((sum, { amount }) => sum + amount, 0) / 100
      expect(after(sums, { op: "sum" })).toBe(exact)
      expect(after(cents, { op: "sum", path: "amount" })).toBe(exact)
    },
    many,
  )

  it.prop("nothing is changed in place", [Items], ([items]) => {
    const before = JSON.stringify(items)
    after(items, { op: "sort", by: "key" }, { op: "group", by: "key" }, { op: "take", n: 1 })
    expect(JSON.stringify(items)).toBe(before)
  })
})

describe("Steps.problemsOfSteps", () => {
  const unknownOp =
    "expected an object with op, one of filter, sort, group, take, map, flatten, distinct, " +
    "split, count, join, sum, min, max, average"

  const clauses = (steps: unknown) =>
    problemsOfSteps(steps).map(({ issue, path }) => `${path.join(".")}: ${issue}`)

  it("refuses a step after the array has become a number", () => {
    for (const op of ["count", "sum", "join", "min", "max", "average"]) {
      const sentence = `1: expected no step after ${op}: there is no array any more`
      expect(clauses([{ op }, { op: "take", n: 1 }])).toEqual([sentence])
    }
    expect(clauses([{ op: "take", n: 1 }, { op: "count" }])).toEqual([])
  })

  it("names every problem at once, by where it is", () => {
    const steps = [
      { op: "filter" },
      { op: "filter", rule: { op: "exists", value: 1 } },
      { op: "sort", by: "a..b", order: "up" },
      { op: "group", sum: ["a", 1] },
      { op: "take", n: 1.5 },
      { op: "reverse" },
      { op: "take", n: 1, of: 2 },
      7,
    ]
    expect(clauses(steps)).toEqual([
      "0.rule: expected a value",
      "1.rule.value: expected no value",
      "2.by: expected a path like user.name or items[0].id",
      "2.order: expected asc or desc",
      "3.by: expected a value",
      "3.sum: expected an array of at most 20 paths",
      "4.n: expected a whole number from 0",
      `5: ${unknownOp}`,
      "6.of: expected only op, n",
      `7: ${unknownOp}`,
    ])
  })

  it("refuses what is no array, and too many steps", () => {
    expect(clauses({})).toEqual([": expected an array of steps"])
    const steps = Array.from({ length: stepsPerTransform + 1 }, () => ({ op: "take", n: 1 }))
    expect(clauses(steps)).toEqual([": expected at most 50 steps"])
    expect(clauses(steps.slice(1))).toEqual([])
    expect(clauses([{ op: "__proto__" }])).toHaveLength(1)
  })
})
