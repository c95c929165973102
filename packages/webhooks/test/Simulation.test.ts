/**
 * Dispatchers in simulated time, and what gives that weight: one with a fault breaks a rule.
 */
import { assert, describe, it } from "@effect/vitest"
import { brokenRuleOf, dispatchSimulation } from "@millrace/simulation/DispatchSuite"
import * as Stores from "@millrace/memory/Stores"
import { Effect } from "effect"
import type { DispatcherCommand } from "../src/DispatcherStep.ts"
import * as DispatcherStep from "../src/DispatcherStep.ts"

dispatchSimulation("the stores in memory", Stores.layer, { seeds: 100, crashed: 2 })

type Next = typeof DispatcherStep.next

/** A good dispatcher, of whose commands something is changed. */
const faulty = (change: (command: DispatcherCommand) => DispatcherCommand | undefined) => ({
  ...DispatcherStep,
  next: ((...args) => DispatcherStep.next(...args).flatMap((each) => change(each) ?? [])) as Next,
})

const withBounds = (options: Partial<Parameters<typeof DispatcherStep.makeState>[0]>) => ({
  ...DispatcherStep,
  makeState: (given: Parameters<typeof DispatcherStep.makeState>[0]) =>
    DispatcherStep.makeState({ ...given, ...options }),
})

const faults = {
  "records nothing": faulty((each) => (each._tag === "Record" ? undefined : each)),
  "sends what it was given to record a lost attempt": faulty((each) =>
    each._tag === "Record" && each.job.claimed.lostAt !== null
      ? { _tag: "Send", job: each.job }
      : each,
  ),
  "tries again at once": faulty((each) =>
    each._tag === "Record" && each.outcome.next._tag === "Retry"
      ? { ...each, outcome: { ...each.outcome, next: { _tag: "Retry", delayMillis: 0 } } }
      : each,
  ),
  "gives up at the first failure": faulty((each) =>
    each._tag === "Record" && each.outcome.next._tag === "Retry" && each.outcome.attempt !== null
      ? { ...each, outcome: { ...each.outcome, next: { _tag: "Failed", isGone: false } } }
      : each,
  ),
  "knows no bound per origin": withBounds({ perOrigin: 100 }),
  "knows no bound per account": withBounds({ perAccount: 100 }),
  "knows no bound in all": withBounds({ atOnce: 300 }),
  "sends what has waited too long": withBounds({ freshMillis: 60_000 }),
  "tries too often": withBounds({
    schedule: { delaysMillis: Array(20).fill(5_000), jitter: 0, lifeMillis: 3_600_000 },
  }),
}

describe("brokenRuleOf", () => {
  for (const [fault, decider] of Object.entries(faults)) {
    it.effect(`tells a dispatcher that ${fault} from a good one`, () =>
      Effect.gen(function* () {
        const report = yield* brokenRuleOf(Stores.layer, { seeds: 100, crashed: 0 }, decider)
        assert.match(report ?? "", /^seed=\d+ /)
      }),
    )
  }
})
