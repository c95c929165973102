// The delay node by itself; that its wait outlives processes is the engine's, and tested there.
import type { Suspension } from "@millrace/core/engine/CurrentNode"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { delay } from "../src/Delay.ts"
import { clauses, failing, run } from "./TestNode.ts"

/** When a delay asks to be called again; none when it went on at once. */
const dueOf = (literals: Parameters<typeof run>[1]) =>
  Effect.map(Effect.exit(run(delay, literals)), (exit) => {
    const defect = Exit.isFailure(exit) ? Cause.findDefect(exit.cause) : Result.fail(undefined)
    return Option.map(Result.getSuccess(defect), (each) => (each as Suspension).wait.until)
  })

describe("delay", () => {
  it.effect("asks to be called again after its time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000)
      assert.deepStrictEqual(yield* dueOf({ for: 3_000 }), Option.some(4_000))
      assert.deepStrictEqual(yield* dueOf({ for: "2 minutes" }), Option.some(121_000))
      const until = "1970-01-01T00:00:05Z"
      assert.deepStrictEqual(yield* dueOf({ until }), Option.some(5_000))
    }),
  )

  it.effect("does not wait for a time that has passed, nor for nothing", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(10_000)
      const until = "1970-01-01T00:00:05Z"
      assert.deepStrictEqual(yield* run(delay, { until, input: 1 }), { output: 1 })
      assert.deepStrictEqual(yield* run(delay, { for: 0 }), { output: null })
    }),
  )

  it.effect("passes its input on when it is called again, whatever the clock says", () =>
    Effect.gen(function* () {
      const output = yield* run(delay, { for: 60_000, input: "x" }, { resumed: 60_000 })
      assert.deepStrictEqual(output, { output: "x" })
    }),
  )

  it.effect("fails where it is told neither or both of for and until", () =>
    Effect.gen(function* () {
      const sentence = "a delay needs either for or until, and not both"
      assert.strictEqual(yield* failing(delay, {}), sentence)
      const until = "2026-01-31T09:30:00Z"
      assert.strictEqual(yield* failing(delay, { for: 1, until }), sentence)
    }),
  )

  it("refuses what is no length of time, and what is no time", () => {
    assert.deepStrictEqual(clauses(delay, "for", -1), ["expected at least 0 ms"])
    assert.deepStrictEqual(clauses(delay, "for", "400 days"), ["expected at most a year"])
    assert.match(clauses(delay, "for", "soon")?.[0] ?? "", /^expected a number of milliseconds/)
    for (const until of ["tomorrow", "5 minutes", "2027-02-31T00:00:00Z", "2027-02-29"]) {
      assert.match(clauses(delay, "until", until)?.[0] ?? "", /^expected an ISO 8601 time/)
    }
    assert.deepStrictEqual(clauses(delay, "until", "2028-02-29"), [])
  })
})
