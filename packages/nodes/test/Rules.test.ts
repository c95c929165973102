import { describe, expect, it } from "@effect/vitest"
import type { Json } from "@millrace/core/domain/Json"
import { conditionsPerRule } from "@millrace/core/domain/Limits"
import { Schema } from "effect"
import type { Operator, Rule } from "@millrace/core/domain/Rule"
import { compileRule, isHeldBy, operators } from "@millrace/core/domain/Rule"
import { problemsOfRule } from "../src/Rules.ts"
import { done, json } from "./TestNode.ts"

const holds = (rule: Rule, value: Json) => {
  expect(problemsOfRule(rule)).toEqual([])
  return done((work) => isHeldBy(compileRule(rule), value, work))
}

const order = { id: 7, total: 49.9, city: "Bern", tags: ["new", "vip"], note: null, lines: [] }

describe("Rules.compileRule", () => {
  const truths: ReadonlyArray<[string, Operator, unknown, boolean]> = [
    ["city", "equals", "Bern", true],
    ["city", "equals", "bern", false],
    ["tags", "equals", ["new", "vip"], true],
    ["id", "equals", "7", false],
    ["note", "equals", null, true],
    ["city", "notEquals", "Basel", true],
    ["city", "notEquals", "Bern", false],
    ["total", "greaterThan", 49.8, true],
    ["total", "greaterThan", 49.9, false],
    ["total", "greaterOrEqual", 49.9, true],
    ["total", "lessThan", 50, true],
    ["total", "lessOrEqual", 49.9, true],
    ["total", "lessOrEqual", 49, false],
    ["city", "greaterThan", "Basel", true],
    ["id", "greaterThan", "5", false],
    ["id", "lessThan", "9", false],
    ["city", "lessThan", 5, false],
    ["city", "greaterThan", 5, false],
    ["note", "lessThan", 5, false],
    ["city", "contains", "er", true],
    ["city", "contains", "ER", false],
    ["tags", "contains", "vip", true],
    ["tags", "contains", "vi", false],
    ["id", "contains", 7, false],
    ["city", "startsWith", "Be", true],
    ["city", "endsWith", "rn", true],
    ["city", "endsWith", "Be", false],
    ["tags", "startsWith", "new", false],
    ["city", "in", ["Basel", "Bern"], true],
    ["city", "in", [], false],
    ["note", "in", [null], true],
    ["id", "in", ["7"], false],
    ["note", "exists", undefined, true],
    ["city", "isEmpty", undefined, false],
    ["note", "isEmpty", undefined, true],
    ["lines", "isEmpty", undefined, true],
    ["tags", "isEmpty", undefined, false],
    ["id", "isEmpty", undefined, false],
  ]
  for (const [path, op, value, expected] of truths) {
    it(`${path} ${op} ${JSON.stringify(value) ?? ""} is ${expected}`, () => {
      const rule = value === undefined ? { path, op } : { path, op, value }
      expect(holds(rule as Rule, order)).toBe(expected)
    })
  }

  it("makes every test of a missing value false, notEquals and isEmpty excepted", () => {
    for (const op of operators) {
      const value = op === "in" ? [null] : "x"
      const rule = {
        path: "missing",
        op,
        ...(op === "exists" || op === "isEmpty" ? {} : { value }),
      }
      expect(holds(rule, order), op).toBe(op === "notEquals" || op === "isEmpty")
    }
  })

  it("means the whole value where there is no path", () => {
    expect(holds({ op: "equals", value: 5 }, 5)).toBe(true)
    expect(holds({ op: "contains", value: { a: 1 } }, [{ a: 1 }])).toBe(true)
  })

  it("combines: all of all, one of any, not not", () => {
    const yes: Rule = { path: "city", op: "equals", value: "Bern" }
    const no: Rule = { path: "city", op: "equals", value: "Basel" }
    expect(holds({ all: [yes, yes] }, order)).toBe(true)
    expect(holds({ all: [yes, no] }, order)).toBe(false)
    expect(holds({ any: [no, yes] }, order)).toBe(true)
    expect(holds({ any: [no, no] }, order)).toBe(false)
    expect(holds({ not: no }, order)).toBe(true)
    expect(holds({ all: [] }, order)).toBe(true)
    expect(holds({ any: [] }, order)).toBe(false)
    expect(holds({ all: [yes], any: [yes, no], not: no }, order)).toBe(true)
    expect(holds({ all: [yes], any: [yes, no], not: yes }, order)).toBe(false)
    expect(holds({ not: { any: [{ not: yes }, { all: [no, yes] }] } }, order)).toBe(true)
  })

  it("sees own properties only", () => {
    for (const path of ["__proto__", "constructor", "city.length", "tags.length", "toString"]) {
      expect(holds({ path, op: "exists" }, order), path).toBe(false)
    }
    expect(holds({ path: "__proto__", op: "exists" }, json('{"__proto__": 1}'))).toBe(true)
  })

  const Values = Schema.Union([Schema.Int, Schema.String, Schema.Null])
  it.prop(
    "keeps the laws of order between numbers",
    [Schema.Finite, Schema.Finite],
    ([left, right]) => {
      const is = (op: Operator) => holds({ op, value: right }, left)
      expect(is("greaterThan")).toBe(!is("lessOrEqual"))
      expect(is("lessThan")).toBe(!is("greaterOrEqual"))
      expect(is("equals")).toBe(is("lessOrEqual") && is("greaterOrEqual"))
      expect(is("notEquals")).toBe(!is("equals"))
    },
  )
  it.prop("finds with in what contains finds", [Values, Schema.Array(Values)], ([one, many]) => {
    expect(holds({ op: "in", value: many }, one)).toBe(holds({ op: "contains", value: one }, many))
  })
})

describe("Rules.problemsOfRule", () => {
  const clauses = (rule: unknown) =>
    problemsOfRule(rule).map(({ issue, path }) => `${path.join(".")}: ${issue}`)

  it("names what is not a rule", () => {
    const expected = [": expected an object with all, any, not or op"]
    for (const rule of [null, 1, "x", [], undefined]) expect(clauses(rule)).toEqual(expected)
    expect(clauses({})).toEqual([": expected all, any, not or op"])
  })

  it("names every problem at once, by where it is", () => {
    const rule = {
      all: [
        { path: "a..b", op: "equals", value: 1 },
        { path: "a", op: "matches", value: "x" },
        {
          any: [
            { path: "a", op: "in", value: "x" },
            { op: "exists", value: 1 },
          ],
        },
      ],
      not: { path: "a", op: "greaterThan", value: null },
    }
    expect(clauses(rule)).toEqual([
      "all.0.path: expected a path like user.name or items[0].id",
      `all.1.op: expected one of ${operators.join(", ")}`,
      "not.value: expected a number or a string",
      "all.2.any.0.value: expected an array of strings, numbers, booleans or nulls",
      "all.2.any.1.value: expected no value",
    ])
  })

  it("names a missing value, a wrong list and a key that means nothing", () => {
    expect(clauses({ op: "equals" })).toEqual(["value: expected a value"])
    expect(clauses({ op: "startsWith", value: 1 })).toEqual(["value: expected a string"])
    expect(clauses({ op: "in", value: [{}] })[0]).toContain("expected an array of strings")
    expect(clauses({ all: {} })).toEqual(["all: expected an array of rules"])
    expect(clauses({ all: [], path: "a" })).toEqual(["path: expected only all, any, not"])
    expect(clauses({ op: "exists", vlaue: 1 })).toEqual(["vlaue: expected only path, op, value"])
    expect(clauses({ op: "constructor", value: 1 })[0]).toContain("op: expected one of")
    expect(clauses(json('{"__proto__": {"op": "exists"}}'))).toEqual([
      ": expected all, any, not or op",
      "__proto__: expected only all, any, not",
    ])
  })

  it("bounds the number of conditions, however they are nested", () => {
    const wide = (count: number) => ({
      all: Array.from({ length: count }, () => ({ op: "exists" })),
    })
    expect(problemsOfRule(wide(conditionsPerRule - 1))).toEqual([])
    expect(clauses(wide(conditionsPerRule))).toEqual([": expected at most 100 conditions"])
    let deep: unknown = { op: "exists" }
    for (let level = 0; level < 100_000; level += 1) deep = { not: deep }
    expect(clauses(deep)).toEqual([": expected at most 100 conditions"])
  })
})
