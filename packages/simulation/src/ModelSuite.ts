/**
 * Random scripts against the model: the suite for what nobody thought of.
 *
 * A seed draws a script, which is played on the model of the stores and on the stores under test.
 * The first difference fails the test and is told with its seed, its step, its command and the
 * shortest script found that still shows it. `MODEL_SEED=17` in the environment plays only it.
 *
 * Leaves out: durability and races within one run; scripts are sequential but for commits of
 * different runs.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Clock, Config, Effect, type Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { type Command, scriptOf } from "./ModelCommands.ts"
import { play, type StoreClock, type Verdict } from "./ModelPlay.ts"
import { epoch } from "@millrace/conformance/Samples"
import type { Services } from "./StoreModel.ts"

/** How much is played. */
export interface ModelOptions {
  /** Seeds from 1 to this one. */
  readonly seeds: number
  /** Commands in each script; 60 unless said otherwise. */
  readonly steps?: number
  readonly timeoutMillis?: number
}

type Play<R> = (script: ReadonlyArray<Command>) => Effect.Effect<Verdict | undefined, never, R>

const minuteMillis = 60_000
const defaultSteps = 60
const defaultTimeoutMillis = 120_000

/**
 * A play that is repeated where the answers differ and a minute began meanwhile: model and store
 * may have read their clocks on different sides of it.
 */
const playWithin =
  <R>(once: Play<R>): Play<R> =>
  (script) =>
    Effect.gen(function* () {
      for (let tries = 0; ; tries++) {
        const before = yield* Clock.currentTimeMillis
        const verdict = yield* once(script)
        const after = yield* Clock.currentTimeMillis
        const isSame = Math.floor(before / minuteMillis) === Math.floor(after / minuteMillis)
        if (verdict === undefined || isSame || tries === 2) return verdict
      }
    })

interface Failure {
  readonly script: ReadonlyArray<Command>
  readonly verdict: Verdict
}

/** Leaves out whatever can be left out with a difference staying, the latest commands first. */
const shorten = Effect.fnUntraced(function* <R>(once: Play<R>, failure: Failure) {
  const cut = ({ script, verdict }: Failure): Failure => ({
    script: script.slice(0, verdict.step + 1),
    verdict,
  })
  let shortest = cut(failure)
  for (let index = shortest.script.length - 1; index >= 0; index--) {
    if (index >= shortest.script.length) continue
    const script = shortest.script.toSpliced(index, 1)
    const verdict = yield* once(script)
    if (verdict !== undefined) shortest = cut({ script, verdict })
  }
  return shortest
})

const reportOf = (seed: number, first: Verdict, { script, verdict }: Failure): string =>
  [
    `seed=${seed} step=${first.step} command=${JSON.stringify(first.command)}`,
    first.difference,
    `The shortest script found that differs (${verdict.difference}):`,
    ...script.map((command, step) => `  ${step}. ${JSON.stringify(command)}`),
    `Play it again with MODEL_SEED=${seed}`,
  ].join("\n")

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const seedsOf = (count: number) =>
  Effect.map(
    Config.option(Config.Int("MODEL_SEED")),
    Option.match({
      onNone: () => range(count),
      onSome: (seed) => [seed],
    }),
  )

/** Plays seeds until an answer differs, and tells of it. */
const search = Effect.fnUntraced(function* <R>(
  seeds: ReadonlyArray<number>,
  steps: number | undefined,
  once: Play<R>,
) {
  for (const seed of seeds) {
    const script = scriptOf(seed, steps ?? defaultSteps)
    const verdict = yield* once(script)
    if (verdict === undefined) continue
    const shortest = yield* shorten(once, { script, verdict })
    return reportOf(seed, verdict, shortest)
  }
  return undefined
})

const playAll = Effect.fnUntraced(function* <R>({ seeds, steps }: ModelOptions, once: Play<R>) {
  const report = yield* search(yield* seedsOf(seeds), steps, once)
  if (report !== undefined) assert.fail(report)
})

const title = ({ seeds }: ModelOptions) => `give the same answers to ${seeds} random scripts`

/** A play on stores of its own, on a clock that it moves. */
const onTestClock =
  <E>(stores: Layer.Layer<Services, E>): Play<never> =>
  (script) =>
    Effect.andThen(
      TestClock.setTime(epoch),
      play(script, { wait: (millis) => TestClock.adjust(millis), slackMillis: 0 }).pipe(
        Effect.provide(stores, { local: true }),
        Effect.orDie,
      ),
    )

/**
 * What is told of the first difference that the seeds find in stores that follow Effect's clock, or
 * `undefined`. For tests of this suite; it needs the test clock.
 */
export const differenceOf = <E>(
  stores: Layer.Layer<Services, E>,
  { seeds, steps }: ModelOptions,
): Effect.Effect<string | undefined> => search(range(seeds), steps, onTestClock(stores))

/**
 * Registers the scripts for stores that are cheap to build and follow Effect's clock: each play
 * builds its own, and moves the clock.
 */
export const modelOnTestClock = <E>(
  name: string,
  stores: Layer.Layer<Services, E>,
  options: ModelOptions,
): void => {
  describe(`${name} and the model`, () => {
    it.effect(title(options), () => playAll(options, onTestClock(stores)), {
      timeout: options.timeoutMillis ?? defaultTimeoutMillis,
    })
  })
}

/**
 * Registers the scripts for stores with a clock of their own, one after the other on one build of
 * the layer. Nobody else may claim in the same database meanwhile, and its clock must be ours.
 */
export const modelOnRealClock = <E>(
  name: string,
  stores: Layer.Layer<Services, E>,
  options: ModelOptions,
): void =>
  layer(stores, { timeout: "120 seconds", excludeTestServices: true })(
    `${name} and the model`,
    (tests) => {
      const clock: StoreClock = { wait: () => Effect.void, slackMillis: 5_000 }
      const once = playWithin((script) => play(script, clock))
      tests.effect(title(options), () => playAll(options, once), {
        timeout: options.timeoutMillis ?? defaultTimeoutMillis,
      })
    },
  )
