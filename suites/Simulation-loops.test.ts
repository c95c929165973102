/**
 * The simulation of loops, over many more seeds than the package's own test plays, and what gives
 * it weight: stores with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { brokenLoopOf, loopSimulation } from "@millrace/simulation/LoopSuite"
import { Stores } from "@millrace/memory"
import { Effect } from "effect"
import { contentFaults, faultyRuns } from "./FaultyStores.ts"

loopSimulation("the stores in memory", Stores.layer, 2_000)

const faults = {
  ...contentFaults,
  "gives the items of a loop in another order": faultyRuns(({ children }) => ({
    children: (query) => Effect.map(children(query), (found) => found.toReversed()),
  })),
  "skips a child after another one": faultyRuns(({ children }) => ({
    children: (query) =>
      children({ ...query, after: query.after < 0 ? query.after : query.after + 1 }),
  })),
  "gives the first page of items alone": faultyRuns(({ children }) => ({
    children: (query) => (query.after < 0 ? children(query) : Effect.succeed([])),
  })),
  "starts no second run for a loop": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, starts: each.starts?.slice(0, 1) }),
  })),
  "loses an end that comes with another one": faultyRuns(({ inboxes }) => ({
    inboxes: (requests) =>
      Effect.map(inboxes(requests), (found) =>
        found.map(({ messages, runId }) => ({
          runId,
          messages: messages.length < 2 ? messages : messages.slice(0, -1),
        })),
      ),
  })),
  "tells no item that its loop has ended": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        messages: each.messages?.filter(({ message }) => message.name === "child"),
      }),
  })),
  "forgets what stands for the loop in its body": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({ ...each, starts: each.starts?.map(({ nodeRuns: _, ...start }) => start) }),
  })),
  "stores none of the items that a loop has computed": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({ ...each, starts: each.starts?.filter(({ run }) => run.finishedAt === null) }),
  })),
  "stores nothing of them but their runs": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        starts: each.starts?.map((start) =>
          start.run.finishedAt === null ? start : { ...start, nodeRuns: [] },
        ),
      }),
  })),
  "moves no credits for them": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        starts: each.starts?.map((start) =>
          start.run.finishedAt === null ? start : { ...start, credits: [] },
        ),
      }),
  })),
}

describe("brokenLoopOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    const test = Effect.gen(function* () {
      const seeds = Array.from({ length: 150 }, (_, at) => at + 1)
      assert.match((yield* brokenLoopOf(stores, seeds)) ?? "", /^seed=\d+: /)
    })
    it.effect(`tells of a store that ${fault}`, () => test, { timeout: 120_000 })
  }
})
