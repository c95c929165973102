/**
 * A simulation of stories as a test: three servers over one store, in simulated time.
 *
 * The first seed that breaks a rule fails the test, and is told with the shortest story found that
 * still breaks one. In the environment, `SIM_SEED=17` plays only that seed and prints what happens
 * in it; `SIM_SEEDS=500` says how many are played.
 */
import { assert, describe, it } from "@effect/vitest"
import { Config, Console, Effect, Option } from "effect"
import type { Setup } from "./SimScenario.ts"

/** What every kind of story has. */
interface Story {
  readonly setup: Setup
  readonly actions: ReadonlyArray<unknown>
}

/** A kind of stories. */
export interface Stories<S extends Story, Stores> {
  readonly title: string
  readonly scenarioOf: (seed: number) => S
  readonly play: (
    scenario: S,
    stores: Stores,
  ) => { readonly broken: string | undefined; readonly trace: ReadonlyArray<string> }
}

/** Leaves out what can be left out with some rule still broken. */
const shorten = <S extends Story, Stores>(
  stories: Stories<S, Stores>,
  scenario: S,
  stores: Stores,
): S => {
  const simpler = [
    ...scenario.actions.map((_, at) => ({
      ...scenario,
      actions: scenario.actions.toSpliced(at, 1),
    })),
    { ...scenario, setup: { ...scenario.setup, refused: 0, lost: 0, doubled: 0 } },
  ].filter((each) => JSON.stringify(each) !== JSON.stringify(scenario))
  const next = simpler.find((each) => stories.play(each, stores).broken !== undefined)
  return next === undefined ? scenario : shorten(stories, next, stores)
}

/** What is told of the first seed that breaks a rule, or `undefined`. */
export const brokenOf = Effect.fnUntraced(function* <S extends Story, Stores>(
  stories: Stories<S, Stores>,
  stores: Stores,
  seeds: ReadonlyArray<number>,
) {
  for (const seed of seeds) {
    const scenario = stories.scenarioOf(seed)
    const { broken } = stories.play(scenario, stores)
    if (broken !== undefined) {
      const shortest = shorten(stories, scenario, stores)
      return `seed=${seed}: ${broken}\n${JSON.stringify(shortest, null, 1)}`
    }
    yield* Effect.yieldNow
  }
  return undefined
})

/** Registers a simulation; every seed builds its own stores. */
export const seedSuite = <S extends Story, Stores>(
  name: string,
  stories: Stories<S, Stores>,
  stores: Stores,
  seeds: number,
): void => {
  describe(`${stories.title} over ${name}`, () => {
    it.live(
      `keep every promise in ${seeds} scenarios`,
      () =>
        Effect.gen(function* () {
          const only = yield* Config.option(Config.Int("SIM_SEED"))
          const count = yield* Config.withDefault(Config.Int("SIM_SEEDS"), seeds)
          if (Option.isSome(only)) {
            const { trace } = stories.play(stories.scenarioOf(only.value), stores)
            yield* Console.log(trace.join("\n"))
          }
          const all = Array.from({ length: count }, (_, at) => at + 1)
          const wanted = Option.isSome(only) ? [only.value] : all
          const report = yield* brokenOf(stories, stores, wanted)
          if (report !== undefined) assert.fail(report)
        }),
      // Against what hangs: tens of thousands of seeds take their time.
      { timeout: 7_200_000 },
    )
  })
}
