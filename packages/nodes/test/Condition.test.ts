import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { condition } from "../src/internal/Condition.ts"
import { clauses, failing, run } from "./TestNode.ts"

const adult = { path: "age", op: "greaterOrEqual", value: 18 }

describe("condition", () => {
  it.effect("lets its input out on the port that the rule chooses", () =>
    Effect.gen(function* () {
      const [old, young] = [{ age: 36 }, { age: 7 }]
      expect(yield* run(condition, { input: old, rule: adult })).toEqual({ true: old })
      expect(yield* run(condition, { input: young, rule: adult })).toEqual({ false: young })
    }),
  )

  it.effect("judges and passes on null where there is no input", () =>
    Effect.gen(function* () {
      expect(yield* run(condition, { rule: { op: "isEmpty" } })).toEqual({ true: null })
      expect(yield* run(condition, { rule: adult })).toEqual({ false: null })
    }),
  )

  it.effect.prop("takes exactly one port, with the input on it", [Schema.Json], ([input]) =>
    Effect.gen(function* () {
      const taken = yield* run(condition, { input, rule: { op: "isEmpty" } })
      expect(Object.values(taken)).toEqual([input])
    }),
  )

  it.effect("says what is wrong with its rule, at the start and when it arrives by an edge", () =>
    Effect.gen(function* () {
      const rule = { any: [{ path: "age", op: "older", value: 1 }] }
      expect(clauses(condition, "rule", rule)?.[0]).toMatch(/^\[any\]\[0\]\[op\]: expected one of/)
      expect(yield* failing(condition, { rule })).toMatch(/^input \[rule\]\[any\]\[0\]\[op\]/)
      expect(yield* failing(condition, {})).toContain("rule")
    }),
  )
})
