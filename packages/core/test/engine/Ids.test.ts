/** Identifiers as the engine makes them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Ids } from "../../src/engine/Ids.ts"

const many = Effect.gen(function* () {
  const ids = yield* Ids
  return yield* Effect.replicateEffect(ids.make("run"), 10_000)
}).pipe(Effect.provide(Layer.fresh(Ids.layer)))

describe("Ids.layer", () => {
  it.effect("makes identifiers that sort by when they were made, each once", () =>
    Effect.map(many, (made) => {
      assert.strictEqual(new Set(made).size, made.length)
      assert.deepStrictEqual(made, made.toSorted())
      for (const id of made) {
        assert.match(
          id,
          /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        )
      }
    }),
  )

  it.effect("counts instead, for tests that must give the same identifiers every time", () =>
    Effect.gen(function* () {
      const ids = yield* Ids
      const made = [yield* ids.make("run"), yield* ids.make("key")]
      assert.deepStrictEqual(made, ["run_000000000001", "key_000000000002"])
      assert.deepStrictEqual([...(yield* ids.bytes(2))], [3, 3])
    }).pipe(Effect.provide(Layer.fresh(Ids.layerSequential))),
  )

  it.effect("shares nothing random between two layers", () =>
    Effect.gen(function* () {
      const tails = [...(yield* many), ...(yield* many)].map((id) => id.slice(-8))
      // Of 20,000 tails of 32 random bits hardly any two are alike.
      assert.isAtLeast(new Set(tails).size, 19_990)
    }),
  )
})
