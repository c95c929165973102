import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { fail } from "../src/internal/Fail.ts"
import { clauses, failing, outputs, run } from "./TestNode.ts"

describe("fail", () => {
  it.effect("always fails, with its message", () =>
    Effect.gen(function* () {
      expect(yield* failing(fail, {})).toBe("failed on purpose")
      expect(yield* failing(fail, { message: "no stock", input: [1] })).toBe("no stock")
      expect((yield* Effect.flip(run(fail, {}))).retryable).toBe(false)
    }),
  )

  it("has no outputs, and a message that is not empty", () => {
    expect(outputs(fail, {})).toEqual([])
    expect(clauses(fail, "message", "")).toHaveLength(1)
  })
})
