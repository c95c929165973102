/**
 * The simulation of child runs, over many more seeds than the package's own test plays, and what
 * gives it weight: stores with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { brokenTreeOf, treeSimulation } from "@millrace/simulation/TreeSuite"
import { Stores } from "@millrace/memory"
import { Effect } from "effect"
import { contentFaults, faultyRuns } from "./FaultyStores.ts"

treeSimulation("the stores in memory", Stores.layer, 2_000)

const faults = {
  ...contentFaults,
  "starts no children": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, starts: undefined }),
  })),
  "tells nobody of the end of a child": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, messages: undefined }),
  })),
  "tells no child that its parent has ended": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        messages: each.messages?.filter(({ message }) => message.name === "child"),
      }),
  })),
  "forgets what children have cost": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, run: { ...each.run, childCredits: 0 } }),
  })),
  "overlooks messages that a commit has not seen": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, seen: undefined }),
  })),
  "forgets who took a signal": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, taken: undefined }),
  })),
  "takes a signal for a new one when it is sent again": faultyRuns(({ send }) => {
    let count = 0
    return { send: (account, id, each) => send(account, id, { ...each, id: `${(count += 1)}` }) }
  }),
  "reserves nothing for children": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({ ...each, starts: each.starts?.map((start) => ({ ...start, credits: [] })) }),
  })),
}

describe("brokenTreeOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    const test = Effect.gen(function* () {
      const seeds = Array.from({ length: 150 }, (_, at) => at + 1)
      assert.match((yield* brokenTreeOf(stores, seeds)) ?? "", /^seed=\d+: /)
    })
    it.effect(`tells of a store that ${fault}`, () => test, { timeout: 120_000 })
  }
})
