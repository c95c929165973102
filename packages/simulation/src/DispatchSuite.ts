/**
 * The simulation of dispatchers as a test: some servers over one store in simulated time, with
 * floods, slow receivers, crashes, stops, and a store that is away.
 *
 * The first story that breaks a rule fails the test and is told with its seed. `DISPATCH_SEED=17`
 * in the environment plays only that one.
 */
import { assert, describe, it } from "@effect/vitest"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import * as DispatcherStep from "@millrace/webhooks/DispatcherStep"
import { Config, Effect, type Layer, Option } from "effect"
import type { DispatchScenario } from "./DispatchScenario.ts"
import { crashAtCall, scenarioOf } from "./DispatchScenario.ts"
import type { Decider, DispatchOutcome } from "./DispatchWorld.ts"
import { DispatchWorld } from "./DispatchWorld.ts"

/** How much is played. */
export interface DispatchOptions {
  /** Stories from seed 1 to this one. */
  readonly seeds: number
  /** So many stories are played again for every call of theirs, with a crash right before it. */
  readonly crashed: number
  readonly timeoutMillis?: number
}

type Stores = Layer.Layer<WebhookStore>

/** Plays a story on stores of its own. */
const play = (stores: Stores, scenario: DispatchScenario, decider: Decider) =>
  WebhookStore.useSync((store) => new DispatchWorld(scenario, decider, store).play()).pipe(
    Effect.provide(stores, { local: true }),
  )

const reportOf = (scenario: DispatchScenario, violation: string): string =>
  [
    `seed=${scenario.seed} crashAt=${scenario.crashAt}`,
    violation,
    `servers ${scenario.servers}, latency ${scenario.latencyMillis} ms`,
    ...scenario.receivers.map((receiver, index) => `  ${index} ${JSON.stringify(receiver)}`),
    ...scenario.actions.map((action) => `  ${JSON.stringify(action)}`),
    `Play it again with DISPATCH_SEED=${scenario.seed}`,
  ].join("\n")

/** What is told of the first story that breaks a rule; the stores follow Effect's clock. */
export const brokenRuleOf = Effect.fnUntraced(function* (
  stores: Stores,
  { crashed, seeds }: DispatchOptions,
  decider: Decider = DispatcherStep,
) {
  const one = Option.getOrUndefined(yield* Config.option(Config.Int("DISPATCH_SEED")))
  const all = one === undefined ? Array.from({ length: seeds }, (_, index) => index + 1) : [one]
  for (const seed of all) {
    const scenario = scenarioOf(seed)
    const { violation } = yield* play(stores, scenario, decider)
    if (violation !== undefined) return reportOf(scenario, violation)
    yield* Effect.yieldNow
  }
  for (const seed of all.slice(0, crashed)) {
    let outcome: DispatchOutcome
    for (let crashAt = 1; ; crashAt++) {
      const scenario = crashAtCall(seed, crashAt)
      outcome = yield* play(stores, scenario, decider)
      if (outcome.violation !== undefined) return reportOf(scenario, outcome.violation)
      // Polls go on for ever; what matters is over by then.
      if (crashAt >= Math.min(outcome.calls, 60)) break
    }
  }
  return undefined
})

/** Registers the stories. */
export const dispatchSimulation = (
  name: string,
  stores: Stores,
  options: DispatchOptions,
): void => {
  describe(`dispatchers over ${name}`, () => {
    it.effect(
      `keep their rules in ${options.seeds} stories, and wherever one crashes`,
      () =>
        Effect.gen(function* () {
          const report = yield* brokenRuleOf(stores, options)
          if (report !== undefined) assert.fail(report)
        }),
      { timeout: options.timeoutMillis ?? 120_000 },
    )
  })
}
