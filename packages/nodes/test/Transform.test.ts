import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { transform } from "../src/internal/Transform.ts"
import { clauses, failing, isClean, json, run } from "./TestNode.ts"

describe("transform", () => {
  it.effect("fills a template from its input and the run's values", () =>
    Effect.gen(function* () {
      const template = { text: "{{ values.greeting }} {{ input.name }}", age: "{{ input.age }}" }
      const inputs = { template, input: { name: "Ada", age: 36 } }
      expect(yield* run(transform, inputs, { values: { greeting: "Hello" } })).toEqual({
        output: { text: "Hello Ada", age: 36 },
      })
    }),
  )

  it.effect("works without an input, and puts out null as a value", () =>
    Effect.gen(function* () {
      expect(yield* run(transform, { template: "{{ input }}" })).toEqual({ output: null })
      expect(yield* run(transform, { template: null })).toEqual({ output: null })
      expect(yield* run(transform, { template: [1, "x"] })).toEqual({ output: [1, "x"] })
    }),
  )

  it("says at the start which expression is none, and where", () => {
    expect(clauses(transform, "template", { a: ["{{ input.x }}"] })).toEqual([])
    expect(clauses(transform, "template", { a: ["{{ inptu.x }}"] })?.[0]).toMatch(
      /^\[a\]\[0\]: expected a path that begins with input or values.*not "inptu\.x"$/,
    )
    const many = Array.from({ length: 1_000 }, () => "{{ x }}")
    expect(clauses(transform, "template", many)).toHaveLength(20)
  })

  it.effect("fails with one sentence when the result would be huge", () =>
    Effect.gen(function* () {
      const template = Array.from({ length: 100 }, () => "{{ input }}")
      const input = "x".repeat(100_000)
      expect(yield* failing(transform, { template, input })).toBe(
        "the result is larger than 1048576 characters",
      )
    }),
  )

  it.effect("pollutes nothing", () =>
    Effect.gen(function* () {
      const template = json('{"__proto__": {"polluted": "{{ input.constructor.prototype }}"}}')
      const output = yield* run(transform, { template, input: json('{"__proto__": {"x": 1}}') })
      expect(JSON.stringify(output)).toBe('{"output":{"__proto__":{"polluted":null}}}')
      expect(isClean()).toBe(true)
    }),
  )
})
