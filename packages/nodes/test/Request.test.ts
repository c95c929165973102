import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { request } from "../src/internal/Request.ts"
import { clauses, isClean, json, outputs, run } from "./TestNode.ts"

const fields = [{ name: "city", type: "string", required: true }, { name: "limit" }]

describe("request", () => {
  it("has an output for each declared field besides values", () => {
    expect(outputs(request, {})).toEqual(["values"])
    expect(outputs(request, { fields })).toEqual(["values", "city", "limit"])
    expect(outputs(request, { fields: "nonsense" })).toEqual(["values"])
  })

  it.effect("puts out the run's values, all together and field by field", () =>
    Effect.gen(function* () {
      const values = { city: "Bern", limit: null }
      expect(yield* run(request, { fields }, { values })).toEqual({ ...values, values })
    }),
  )

  it.effect("does not take the port of a field that the run has no value for", () =>
    Effect.gen(function* () {
      const values = { city: "Bern" }
      expect(yield* run(request, { fields }, { values })).toEqual({ city: "Bern", values })
      expect(yield* run(request, {}, { values })).toEqual({ values })
      expect(yield* run(request, {})).toEqual({ values: {} })
    }),
  )

  it("says what is wrong with malformed fields", () => {
    expect(clauses(request, "fields", fields)).toEqual([])
    expect(clauses(request, "fields", "city")).toHaveLength(1)
    expect(clauses(request, "fields", [{ name: "a" }, { name: "a" }])).toHaveLength(1)
    expect(clauses(request, "fields", [{ name: "values" }, { name: "error" }])).toHaveLength(2)
    expect(clauses(request, "fields", [{ name: "a", type: "date" }])?.[0]).toContain("[0]")
  })

  it.effect("pollutes nothing, whatever the values and fields are called", () =>
    Effect.gen(function* () {
      const hostile = json('[{"name": "__proto__"}, {"name": "constructor"}]')
      expect(outputs(request, { fields: hostile })).toEqual(["values"])
      expect(clauses(request, "fields", hostile)).toHaveLength(2)
      const values = json('{"__proto__": {"polluted": 1}}')
      const output = yield* run(request, { fields: [{ name: "toString" }] }, { values })
      expect(JSON.stringify(output)).toBe('{"values":{"__proto__":{"polluted":1}}}')
      expect(isClean()).toBe(true)
    }),
  )
})
