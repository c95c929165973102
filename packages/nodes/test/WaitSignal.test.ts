// The wait_signal node by itself; that a signal is taken once is the engine's, and tested there.
import type { Suspension } from "@millrace/core/engine/CurrentNode"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Option, Result } from "effect"
import { TestClock } from "effect/testing"
import { waitSignal } from "../src/internal/WaitSignal.ts"
import { clauses, run } from "./TestNode.ts"

/** What the node waits for, when it is called the first time. */
const waitOf = (literals: Parameters<typeof run>[1]) =>
  Effect.map(Effect.exit(run(waitSignal, literals)), (exit) => {
    const defect = Exit.isFailure(exit) ? Cause.findDefect(exit.cause) : Result.fail(undefined)
    return Option.map(Result.getSuccess(defect), (each) => (each as Suspension).wait)
  })

describe("wait_signal", () => {
  it.effect("waits for a signal of its name, for its time at most", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_000)
      const forever = yield* waitOf({ name: "approved" })
      assert.deepStrictEqual(forever, Option.some({ for: "signal:approved" }))
      const bounded = yield* waitOf({ name: "approved", timeout: "2 minutes" })
      assert.deepStrictEqual(bounded, Option.some({ for: "signal:approved", until: 121_000 }))
    }),
  )

  it("says of itself that no start can give what it puts out", () => {
    assert.isTrue(waitSignal.type.waitsForSignal)
  })

  it.effect("puts out what the signal brought", () =>
    Effect.gen(function* () {
      const message = { number: 1, name: "signal:approved", payload: { by: "ada" }, at: 5 }
      const given = { name: "approved", input: "order" }
      const output = yield* run(waitSignal, given, { resumed: null, message })
      assert.deepStrictEqual(output, { payload: { by: "ada" } })
    }),
  )

  it.effect("lets its input out on timeout where no signal came in time", () =>
    Effect.gen(function* () {
      const given = { name: "approved", input: "order", timeout: 1 }
      const output = yield* run(waitSignal, given, { resumed: null })
      assert.deepStrictEqual(output, { timeout: "order" })
    }),
  )

  it("refuses a schema that it would not check in full", () => {
    assert.lengthOf(clauses(waitSignal, "schema", { pattern: "(a+)+$" }) ?? [], 1)
    assert.lengthOf(clauses(waitSignal, "schema", { type: "object" }) ?? [], 0)
  })

  it("refuses a name that is empty or too long", () => {
    assert.lengthOf(clauses(waitSignal, "name", "") ?? [], 1)
    assert.lengthOf(clauses(waitSignal, "name", "x".repeat(101)) ?? [], 1)
    assert.lengthOf(clauses(waitSignal, "name", "x".repeat(100)) ?? [], 0)
  })
})
