/**
 * Renewals of leases: that none comes after its lease was let go.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Renewals } from "../src/internal/Renewals.ts"

describe("Renewals.over", () => {
  it.effect("waits for a renewal on its way, so that none comes after the lease was let go", () =>
    Effect.gen(function* () {
      const renewals = new Renewals()
      const told: Array<string> = []
      const tell = (what: string) => Effect.sync(() => told.push(what))
      yield* renewals.begin(5_000, Effect.andThen(Effect.sleep(1_000), tell("renewed")))
      const letGo = yield* Effect.forkChild(Effect.andThen(renewals.over(2_000), tell("let go")))
      yield* TestClock.adjust(1_000)
      yield* Fiber.join(letGo)
      assert.deepStrictEqual(told, ["renewed", "let go"])
    }),
  )

  it.effect("breaks off a renewal that the database does not answer", () =>
    Effect.gen(function* () {
      const renewals = new Renewals()
      const told: Array<string> = []
      const tell = (what: string) => Effect.sync(() => told.push(what))
      yield* renewals.begin(60_000, Effect.andThen(Effect.sleep(30_000), tell("renewed")))
      const letGo = yield* Effect.forkChild(Effect.andThen(renewals.over(2_000), tell("let go")))
      yield* TestClock.adjust(2_000)
      yield* Fiber.join(letGo)
      yield* TestClock.adjust(60_000)
      assert.deepStrictEqual(told, ["let go"])
    }),
  )
})
