import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { merge } from "../src/internal/Merge.ts"
import { failing, isClean, json, run, settings } from "./TestNode.ts"

describe("merge", () => {
  it("takes any number of edges into one port, and needs none", () => {
    const port = merge.type.portsOf(settings({})).inputs.get("inputs")
    expect([port?.multiple, port?.required]).toEqual([true, false])
    expect(merge.type.modes).toEqual(["array", "first", "object"])
  })

  it.effect("puts values together as an array, in order, by default", () =>
    Effect.gen(function* () {
      const inputs = [1, null, { a: 2 }]
      expect(yield* run(merge, { inputs })).toEqual({ output: inputs })
      expect(yield* run(merge, { inputs }, { mode: "array" })).toEqual({ output: inputs })
      expect(yield* run(merge, {})).toEqual({ output: [] })
    }),
  )

  it.effect("passes on the first value in the mode first", () =>
    Effect.gen(function* () {
      expect(yield* run(merge, { inputs: [3, 4] }, { mode: "first" })).toEqual({ output: 3 })
      expect(yield* run(merge, {}, { mode: "first" })).toEqual({ output: null })
    }),
  )

  it.effect("makes one object in the mode object, where later values win", () =>
    Effect.gen(function* () {
      const mode = { mode: "object" }
      const inputs = [{ a: 1, b: { x: 1 } }, { b: { y: 2 } }, { c: 3 }]
      expect(yield* run(merge, { inputs }, mode)).toEqual({ output: { a: 1, b: { y: 2 }, c: 3 } })
      expect(yield* run(merge, {}, mode)).toEqual({ output: {} })
      for (const odd of [[1], 1, null, "x"]) {
        expect(yield* failing(merge, { inputs: [{}, odd] }, mode)).toBe(
          'input "inputs": [1]: expected an object',
        )
      }
    }),
  )

  it.effect("pollutes nothing", () =>
    Effect.gen(function* () {
      const inputs = [json('{"__proto__": {"polluted": 1}}'), json('{"constructor": 2}')]
      const { output } = yield* run(merge, { inputs }, { mode: "object" })
      expect(JSON.stringify(output)).toBe('{"__proto__":{"polluted":1},"constructor":2}')
      expect(isClean()).toBe(true)
    }),
  )
})
