/**
 * The simulation of child runs as a test: three servers over one store, in simulated time, while
 * servers crash, pause and stop, requests and answers get lost, and roots are canceled.
 *
 * The first seed that breaks a rule fails the test. In the environment, `SIM_SEED=17` plays only
 * that seed and prints what happens in it; `SIM_SEEDS=500` says how many are played.
 */
import { assert, describe, it } from "@effect/vitest"
import { Config, Console, Effect, Option } from "effect"
import type { SimStores } from "./SimWorld.ts"
import { playTree, type TreeOutcome } from "./TreePlay.ts"
import { type TreeScenario, treeScenarioOf } from "./TreeScenario.ts"

/** Leaves out what can be left out with some rule still broken. */
const shorten = (scenario: TreeScenario, stores: SimStores): TreeScenario => {
  const simpler = [
    ...scenario.actions.map((_, at) => ({
      ...scenario,
      actions: scenario.actions.toSpliced(at, 1),
    })),
    { ...scenario, setup: { ...scenario.setup, refused: 0, lost: 0, doubled: 0 } },
  ].filter((each) => JSON.stringify(each) !== JSON.stringify(scenario))
  const next = simpler.find((each) => playTree(each, stores).broken !== undefined)
  return next === undefined ? scenario : shorten(next, stores)
}

/** What is told of the first seed that breaks a rule, or `undefined`. */
export const brokenTreeOf = (
  stores: SimStores,
  seeds: ReadonlyArray<number>,
): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    for (const seed of seeds) {
      const scenario = treeScenarioOf(seed)
      const { broken } = playTree(scenario, stores)
      if (broken !== undefined) {
        const shortest = shorten(scenario, stores)
        return `seed=${seed}: ${broken}\n${JSON.stringify(shortest, null, 1)}`
      }
      yield* Effect.yieldNow
    }
    return undefined
  })

const show = (outcome: TreeOutcome) => Console.log(outcome.trace.join("\n"))

/** Registers the simulation; every seed builds its own stores. */
export const treeSimulation = (name: string, stores: SimStores, seeds: number): void => {
  describe(`Trees of runs over ${name}`, () => {
    it.live(
      `keep every promise in ${seeds} scenarios`,
      () =>
        Effect.gen(function* () {
          const only = yield* Config.option(Config.Int("SIM_SEED"))
          const count = yield* Config.withDefault(Config.Int("SIM_SEEDS"), seeds)
          if (Option.isSome(only)) yield* show(playTree(treeScenarioOf(only.value), stores))
          const all = Array.from({ length: count }, (_, at) => at + 1)
          const report = yield* brokenTreeOf(stores, Option.isSome(only) ? [only.value] : all)
          if (report !== undefined) assert.fail(report)
        }),
      { timeout: 1_200_000 },
    )
  })
}
