/**
 * The simulation as a test: three servers over one store, in simulated time, with everything going
 * wrong that a seed can think of. What must always hold is looked at after every step.
 *
 * The first seed that breaks a rule fails the test and is told with its step, the rule and the
 * shortest scenario found that still breaks it. In the environment, `SIM_SEED=17` plays only that
 * seed and prints what happens in it; `SIM_SEEDS=500` says how many are played.
 *
 * Leaves out: stores on a clock of their own and real processes, which no seed controls.
 */
import { assert, describe, it } from "@effect/vitest"
import { Config, Console, Effect, Option } from "effect"
import { type Outcome, play } from "./SimPlay.ts"
import { type Scenario, scenarioOf, type Setup } from "./SimScenario.ts"
import type { SimStores, Violation } from "./SimWorld.ts"

/** How much is played. */
export interface SimOptions {
  /** Seeds from 1 to this one. */
  readonly seeds: number
  /** Plays only the seeds of one part, for tests that share the work; the first one is 0. */
  readonly part?: number
  readonly parts?: number
  readonly timeoutMillis?: number
}

const defaultTimeoutMillis = 120_000

/** So many plays are spent at most on a shorter scenario. */
const playsAtMost = 300

interface Failure {
  readonly scenario: Scenario
  readonly violation: Violation
}

const calmer: ReadonlyArray<Partial<Setup>> = [
  { refused: 0, lost: 0, doubled: 0 },
  { refused: 0 },
  { lost: 0 },
  { doubled: 0 },
  { latencyMillis: 0 },
  { opsBeforeYield: 2_048 },
  { runsPerAccount: Infinity, runsPerWorkflow: Infinity, runsAtOnce: 100 },
]

/** Scenarios that are a little simpler than this one. */
const simpler = (scenario: Scenario): ReadonlyArray<Scenario> => [
  ...scenario.actions.map((_, index) => ({
    ...scenario,
    actions: scenario.actions.toSpliced(index, 1),
  })),
  ...(scenario.guilty === null ? [] : [{ ...scenario, guilty: null }]),
  ...calmer.map((setup) => ({ ...scenario, setup: { ...scenario.setup, ...setup } })),
]

/** Leaves out whatever can be left out with some rule still broken. */
const shorten = (stores: SimStores, failure: Failure): Failure => {
  const seen = new Set([JSON.stringify(failure.scenario)])
  let shortest = failure
  let isShorter = true
  while (isShorter && seen.size < playsAtMost) {
    isShorter = false
    for (const scenario of simpler(shortest.scenario)) {
      const text = JSON.stringify(scenario)
      if (seen.has(text)) continue
      seen.add(text)
      const { violation } = play(scenario, stores)
      if (violation === undefined) continue
      shortest = { scenario, violation }
      isShorter = true
      break
    }
  }
  return shortest
}

const titleOf = ({ message, rule }: Violation): string => `${rule}: ${message}`

const reportOf = (first: Failure, shortest: Failure): string => {
  const { actions, mood, seed, setup, workflows } = shortest.scenario
  const { atMillis, step } = first.violation
  return [
    `seed=${seed} step=${step} after ${atMillis} ms`,
    titleOf(first.violation),
    `The shortest scenario found that breaks a rule (${titleOf(shortest.violation)}):`,
    `  setup ${JSON.stringify(setup)}`,
    `  mood ${JSON.stringify(mood)}`,
    ...workflows.map((workflow, index) => `  workflow ${index} ${JSON.stringify(workflow)}`),
    ...actions.map((action) => `  ${JSON.stringify(action)}`),
    `Play it again, step by step, with SIM_SEED=${seed}`,
  ].join("\n")
}

/** Plays seeds until one breaks a rule, and tells of it; other fibers go on between two. */
const search = Effect.fnUntraced(function* (stores: SimStores, seeds: ReadonlyArray<number>) {
  for (const seed of seeds) {
    const scenario = scenarioOf(seed)
    const { violation } = play(scenario, stores)
    if (violation !== undefined) {
      const failure = { scenario, violation }
      return reportOf(failure, shorten(stores, failure))
    }
    yield* Effect.yieldNow
  }
  return undefined
})

const seedsOf = (count: number, { part = 0, parts = 1 }: SimOptions) =>
  Array.from({ length: count }, (_, index) => index + 1).filter(
    (seed) => (seed - 1) % parts === part,
  )

/** Plays one seed and prints it. */
const show = (stores: SimStores, seed: number): Effect.Effect<Outcome> => {
  const outcome = play(scenarioOf(seed), stores, true)
  return Effect.as(Console.log(outcome.trace.join("\n")), outcome)
}

const playAll = Effect.fnUntraced(function* (stores: SimStores, options: SimOptions) {
  const only = yield* Config.option(Config.Int("SIM_SEED"))
  const count = yield* Config.withDefault(Config.Int("SIM_SEEDS"), options.seeds)
  if (Option.isSome(only)) yield* show(stores, only.value)
  const seeds = Option.match(only, {
    onNone: () => seedsOf(count, options),
    onSome: (seed) => [seed],
  })
  const report = yield* search(stores, seeds)
  if (report !== undefined) assert.fail(report)
})

/**
 * What is told of the first seed that breaks a rule, or `undefined`. For tests of this suite.
 */
export const violationOf = (
  stores: SimStores,
  options: SimOptions,
): Effect.Effect<string | undefined> => search(stores, seedsOf(options.seeds, options))

/**
 * Registers the simulation over stores that are cheap to build, answer at once and follow Effect's
 * clock. Every seed builds its own.
 */
export const simulation = (name: string, stores: SimStores, options: SimOptions): void => {
  const { part = 0, parts = 1, seeds } = options
  const which = parts === 1 ? `${seeds} scenarios` : `${seeds} scenarios (part ${part + 1})`
  describe(`Three servers over ${name}`, () => {
    it.live(`keep every promise in ${which}`, () => playAll(stores, options), {
      timeout: options.timeoutMillis ?? defaultTimeoutMillis,
    })
  })
}
