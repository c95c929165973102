// What a run costs where an operator has set prices: those of its start.
import { toNumber } from "@millrace/core/domain/Credits"
import type { Prices } from "@millrace/core/domain/Prices"
import { CurrentPrices } from "@millrace/core/domain/Prices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { node as played, play } from "./PlayedRun.ts"
import { book, fund, known, spends } from "./TestCredits.ts"
import { edge, engine, node, run } from "./TestEngine.ts"

const under =
  (prices: Prices) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provide(engine(known)),
      Effect.provideService(CurrentPrices, { id: "p1", prices }),
    )

describe("a run under prices of its operator", () => {
  it.effect("reserves and pays them in the place of what types declare", () =>
    Effect.gen(function* () {
      yield* fund(100)
      const nodes = [spends("a", 3), node("b", "pass"), spends("c", 2, { charges: [0.5] })]
      const record = yield* run(nodes, [edge("a", "b"), edge("b", "c")])
      assert.strictEqual(toNumber(record.run.estimatedCredits), 15)
      assert.strictEqual(toNumber(record.run.actualCredits), 8.5)
      const told = ["reserve 15", "post a 7", "post b 1", "post c 0.5", "void 6.5"]
      assert.deepStrictEqual((yield* book).told, told)
    }).pipe(under({ spend: 7e6, pass: 1e6 })),
  )

  it.effect("keeps the prices of its own types with its definition", () =>
    Effect.gen(function* () {
      const { definition, run: stored } = yield* run([node("a", "pass")])
      assert.deepStrictEqual(definition.settings, { prices: { pass: 1e6 } })
      assert.match(definition.id, /@1\+n\$p1\+e$/)
      assert.strictEqual(stored.definitionId, definition.id)
    }).pipe(under({ pass: 1e6, spend: 2e6 })),
  )

  it.effect("shares the definition of runs without prices if none of its types has one", () =>
    Effect.gen(function* () {
      const { definition } = yield* run([node("a", "pass")])
      assert.deepStrictEqual([definition.settings, definition.id.split("@")[1]], [{}, "1+n+e"])
    }).pipe(under({ spend: 2e6 })),
  )

  it("pays what its definition says, whatever the prices are now", () => {
    const priced = play([played("a", "priced", { price: 3 })], [], {
      settings: { prices: { priced: 9e6 } },
      run: { estimatedCredits: 9e6, heldCredits: 9e6, revision: 1 },
    })
    priced.step(1)
    const { commit } = priced.step(2, [priced.completes("a", 2)])
    assert.strictEqual(toNumber(commit.run.actualCredits), 9)
  })
})
