/**
 * Random scripts about deliveries against their model. `MODEL_SEED=17` in the environment
 * plays only
 * that seed.
 *
 * Guarantees: the first difference fails the test and is told with its seed and its script. Leaves
 * out: races; scripts are sequential.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { epoch } from "@millrace/conformance/Samples"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Config, Effect, type Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import type { DeliveryCommand } from "./DeliveryScript.ts"
import { play, scriptOf } from "./DeliveryScript.ts"
import type { ModelOptions } from "./ModelSuite.ts"

type Verdict = Effect.Success<ReturnType<typeof play>>
type Play<R> = (script: ReadonlyArray<DeliveryCommand>) => Effect.Effect<Verdict, never, R>

/** What is told of the first difference, if there is one. */
const search = Effect.fnUntraced(function* <R>({ seeds, steps = 40 }: ModelOptions, once: Play<R>) {
  const one = Option.getOrUndefined(yield* Config.option(Config.Int("MODEL_SEED")))
  const all = one === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [one]
  for (const seed of all) {
    const script = scriptOf(seed, steps)
    const verdict = yield* once(script)
    if (verdict === undefined) continue
    return [
      `seed=${seed} step=${verdict.step} command=${JSON.stringify(verdict.command)}`,
      verdict.difference,
      ...script
        .slice(0, verdict.step + 1)
        .map((each, step) => `  ${step}. ${JSON.stringify(each)}`),
      `Play it again with MODEL_SEED=${seed}`,
    ].join("\n")
  }
  return undefined
})

const playAll = <R>(options: ModelOptions, once: Play<R>) =>
  Effect.flatMap(search(options, once), (report) =>
    report === undefined ? Effect.void : Effect.sync(() => assert.fail(report)),
  )

const title = ({ seeds }: ModelOptions) => `give the same answers to ${seeds} random scripts`

const onTestClock =
  (stores: Layer.Layer<WebhookStore>): Play<never> =>
  (script) =>
    Effect.andThen(
      TestClock.setTime(epoch),
      play(script, { wait: (millis) => TestClock.adjust(millis), slackMillis: 0 }).pipe(
        Effect.provide(stores, { local: true }),
        Effect.orDie,
      ),
    )

/**
 * What is told of the first difference from stores that follow Effect's clock; for tests of
 * this.
 */
export const deliveryDifferenceOf = (
  stores: Layer.Layer<WebhookStore>,
  options: ModelOptions,
): Effect.Effect<string | undefined> => Effect.orDie(search(options, onTestClock(stores)))

/** Registers the scripts for stores that are cheap to build and follow Effect's clock. */
export const deliveryModelOnTestClock = (
  name: string,
  stores: Layer.Layer<WebhookStore>,
  options: ModelOptions,
): void => {
  describe(`deliveries of ${name} and the model`, () => {
    it.effect(title(options), () => playAll(options, onTestClock(stores)), {
      timeout: options.timeoutMillis ?? 120_000,
    })
  })
}

/** Registers the scripts for stores with a clock of their own, which has to be ours. */
export const deliveryModelOnRealClock = <E>(
  name: string,
  stores: Layer.Layer<WebhookStore, E>,
  options: ModelOptions,
): void =>
  layer(stores, { timeout: "120 seconds", excludeTestServices: true })(
    `deliveries of ${name} and the model`,
    (tests) => {
      const clock = { wait: () => Effect.void, slackMillis: 5_000 }
      const once: Play<WebhookStore> = (script) => Effect.orDie(play(script, clock))
      tests.effect(title(options), () => playAll(options, once), {
        timeout: options.timeoutMillis ?? 120_000,
      })
    },
  )
