import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { list } from "../src/internal/List.ts"
import { clauses, failing, run } from "./TestNode.ts"

describe("list", () => {
  it.effect("carries out its steps and counts what is left", () =>
    Effect.gen(function* () {
      const items = [
        { city: "Bern", total: 1.1 },
        { city: "Basel", total: 9 },
        { city: "Bern", total: 2.2 },
      ]
      const steps = [
        { op: "filter", rule: { path: "total", op: "lessThan", value: 5 } },
        { op: "group", by: "city", sum: ["total"] },
      ]
      expect(yield* run(list, { items, steps })).toEqual({
        output: [{ key: "Bern", count: 2, sums: { total: 3.3 } }],
        count: 1,
      })
      expect(yield* run(list, { items })).toEqual({ output: items, count: 3 })
      expect(yield* run(list, { items, steps: [{ op: "sum", path: "total" }] })).toEqual({
        output: 12.3,
        count: 3,
      })
    }),
  )

  it.effect("says what is wrong with its items and steps", () =>
    Effect.gen(function* () {
      expect(clauses(list, "items", { length: 1 })).toHaveLength(1)
      expect(clauses(list, "steps", [{ op: "count" }, { op: "sort" }])).toEqual([
        "[1]: expected no step after count: there is no array any more",
      ])
      expect(yield* failing(list, { items: "abc" })).toMatch(/^input \[items\]/)
      const steps = [{ op: "sum" }]
      expect(yield* failing(list, { items: [1, "2"], steps })).toBe("item 1 is not a number")
    }),
  )
})
