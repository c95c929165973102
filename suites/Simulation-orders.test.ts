/**
 * The simulation of signals to workflows, over many more seeds than the package's own test plays,
 * and what gives it weight: stores with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { brokenOrderSeedOf, orderSimulation } from "@millrace/simulation/OrderSuite"
import { Stores } from "@millrace/memory"
import { Effect } from "effect"
import { faultyRuns } from "./FaultyStores.ts"

orderSimulation("the stores in memory", Stores.layer, 2_000)

const faults = {
  "forgets which signals runs wait for": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, signals: undefined }),
  })),
  "takes a signal for a new one when it is sent again": faultyRuns(({ signal }) => {
    let count = 0
    return {
      signal: (account, workflow, each) =>
        signal(account, workflow, { ...each, id: `${(count += 1)}` }),
    }
  }),
  "forgets the keys of signals": faultyRuns(({ signal }) => ({
    signal: (account, workflow, each) => signal(account, workflow, { ...each, isNamed: false }),
  })),
  "starts what was in force before": faultyRuns(({ commit }) => ({
    commit: ({ expected, ...each }) =>
      commit({
        ...each,
        expected: expected._tag === "New" ? { ...expected, isCurrent: false } : expected,
      }),
  })),
  "gives a signal to whom it does not fit": faultyRuns(({ commit }) => ({
    commit: ({ signals, ...each }) =>
      commit({
        ...each,
        signals: signals && {
          ...signals,
          waits: signals.waits.map((wait) => ({ ...wait, correlation: "order 0" })),
        },
      }),
  })),
}

describe("brokenOrderSeedOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    const test = Effect.gen(function* () {
      const seeds = Array.from({ length: 150 }, (_, at) => at + 1)
      assert.match((yield* brokenOrderSeedOf(stores, seeds)) ?? "", /^seed=\d+: /)
    })
    it.effect(`tells of a store that ${fault}`, () => test, { timeout: 120_000 })
  }
})
