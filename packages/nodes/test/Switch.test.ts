import { describe, expect, it } from "@effect/vitest"
import { casesPerSwitch } from "@millrace/core/domain/Limits"
import { Effect } from "effect"
import { switchNode } from "../src/internal/Switch.ts"
import { clauses, isClean, json, outputs, run } from "./TestNode.ts"

const cases = [
  { name: "big", rule: { path: "total", op: "greaterThan", value: 1_000 } },
  { name: "paid", rule: { path: "total", op: "greaterThan", value: 0 } },
]
const exists = { op: "exists" }

describe("switch", () => {
  it("has an output for each case besides default", () => {
    expect(outputs(switchNode, { cases })).toEqual(["default", "big", "paid"])
    expect(outputs(switchNode, {})).toEqual(["default"])
    expect(outputs(switchNode, { cases: [{ name: "a b" }, null, { name: "error" }, 1] })).toEqual([
      "default",
    ])
  })

  it.effect("lets its input out at the first case whose rule holds, else at default", () =>
    Effect.gen(function* () {
      for (const [total, name] of [
        [2_000, "big"],
        [5, "paid"],
        [0, "default"],
      ] as const) {
        expect(yield* run(switchNode, { cases, input: { total } })).toEqual({ [name]: { total } })
      }
      expect(yield* run(switchNode, { cases })).toEqual({ default: null })
      expect(yield* run(switchNode, { cases: [] })).toEqual({ default: null })
    }),
  )

  it("says what is wrong with its cases", () => {
    expect(clauses(switchNode, "cases", cases)).toEqual([])
    const named = (name: unknown) =>
      clauses(switchNode, "cases", json(JSON.stringify([{ name, rule: exists }])))
    expect(named("a b")).toEqual([
      "[0][name]: expected 1 to 128 letters, digits or characters of _ . : -",
    ])
    expect(named(1)).toHaveLength(1)
    for (const name of ["error", "default", "__proto__", "constructor"]) {
      expect(named(name)).toEqual([`[0][name]: "${name}" is reserved`])
    }
    const twice = [
      { name: "a", rule: exists },
      { name: "a", rule: exists },
    ]
    expect(clauses(switchNode, "cases", twice)).toEqual(['two cases have the name "a"'])
    expect(clauses(switchNode, "cases", [{ name: "a" }])?.[0]).toMatch(/^\[0\]\[rule\]/)
    expect(clauses(switchNode, "cases", {})).toEqual(["expected an array of cases"])
    const many = Array.from({ length: casesPerSwitch + 1 }, (_, at) => ({
      name: `c${at}`,
      rule: exists,
    }))
    expect(clauses(switchNode, "cases", many)).toEqual(["expected at most 50 cases"])
  })

  it("pollutes nothing", () => {
    const hostile = json('[{"name": "__proto__", "rule": {"op": "exists"}}]')
    expect(outputs(switchNode, { cases: hostile })).toEqual(["default"])
    expect(isClean()).toBe(true)
  })
})
