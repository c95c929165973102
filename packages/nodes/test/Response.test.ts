import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { response } from "../src/internal/Response.ts"
import { clauses, outputs, run } from "./TestNode.ts"

describe("response", () => {
  it.effect("takes anything and lets nothing go on", () =>
    Effect.gen(function* () {
      expect(outputs(response, {})).toEqual([])
      for (const input of [null, 1, "x", [], {}])
        expect(yield* run(response, { input })).toEqual({})
      expect(yield* run(response, {})).toEqual({})
    }),
  )

  it("is named by a text that is not empty", () => {
    expect(clauses(response, "name", "totals")).toEqual([])
    expect(clauses(response, "name", "")).toHaveLength(1)
    expect(clauses(response, "name", 1)).toHaveLength(1)
  })
})
