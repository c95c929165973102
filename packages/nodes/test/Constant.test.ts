import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { constant } from "../src/Constant.ts"
import { failing, run, settings } from "./TestNode.ts"

describe("constant", () => {
  it.effect.prop("puts out the value it was given", [Schema.Json], ([value]) =>
    Effect.gen(function* () {
      expect(yield* run(constant, { value })).toEqual({ output: value })
    }),
  )

  it.effect("needs a value", () =>
    Effect.gen(function* () {
      expect(constant.type.portsOf(settings({})).inputs.get("value")?.required).toBe(true)
      expect(yield* failing(constant, {})).toContain("value")
    }),
  )
})
