/**
 * What gives the simulation weight: stores in memory with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { violationOf } from "@millrace/simulation/SimSuite"
import { AccountId } from "@millrace/core/domain/Id"
import { isPinned } from "@millrace/core/domain/Run"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Stores } from "@millrace/memory"
import { Effect, Layer, Option } from "effect"
import { faultyRuns } from "./FaultyStores.ts"

type Values = ValueStore["Service"]

/** Good stores that keep large values in another way. */
const faultyValues = (change: (good: Values) => Partial<Values>) =>
  Layer.effect(
    ValueStore,
    Effect.map(ValueStore, (good) => ValueStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provideMerge(Stores.layer))

const faults = {
  "forgets large values": faultyValues(() => ({ put: () => Effect.void })),
  "gives one large value for another": faultyValues(({ put }) => {
    let first: Uint8Array | undefined
    return { put: (key, bytes) => put(key, (first ??= bytes)) }
  }),
  "never removes large values": faultyValues(() => ({ remove: () => Effect.void })),
  "forgets which large value a run puts out": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, run: { ...each.run, largeValues: null } }),
  })),
  "takes stale commits for done": faultyRuns(({ commit }) => ({
    commit: (each) => Effect.ignore(commit(each)),
  })),
  "moves no credits": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, credits: [] }),
  })),
  "keeps no lease": faultyRuns(({ heartbeat }) => ({
    heartbeat: (runner) => heartbeat(runner, 0),
  })),
  "forgets who waits": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, run: { ...each.run, waiting: [] } }),
  })),
  "forgets what is in progress": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, run: { ...each.run, active: [] } }),
  })),
  "forgets events": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, events: [] }),
  })),
  "forgets the names of starts": faultyRuns(({ commit, findStart }) => ({
    commit: ({ expected, ...each }) =>
      commit({
        ...each,
        expected: expected._tag === "New" ? { ...expected, idempotencyKey: undefined } : expected,
      }),
    findStart: () => Effect.as(findStart(AccountId.make("acc_none"), ""), Option.none()),
  })),
  "starts workflows that have changed": faultyRuns(({ commit }) => ({
    commit: ({ expected, ...each }) =>
      commit({
        ...each,
        expected: expected._tag === "New" ? { ...expected, isCurrent: false } : expected,
      }),
  })),
  "forgets what runs have lost": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, clearsLosses: true }),
  })),
  "overlooks messages that a commit has not seen": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, seen: undefined }),
  })),
  "forgets who took a message": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, taken: undefined }),
  })),
  "takes a message for a new one when it is sent again": faultyRuns(({ send }) => {
    let count = 0
    return { send: (account, id, each) => send(account, id, { ...each, id: `${(count += 1)}` }) }
  }),
  "forgets what reruns take over": faultyRuns(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        nodeRuns: each.nodeRuns.filter((row) => each.run.mode !== "rerun" || !isPinned(row)),
      }),
  })),
  "forgets of which run a rerun is": faultyRuns(({ commit }) => ({
    commit: (each) => commit({ ...each, run: { ...each.run, rerunOf: null } }),
  })),
  "hands runs out before their time": faultyRuns(({ commit }) => ({
    commit: ({ run, ...each }) =>
      commit({ ...each, run: { ...run, dueAt: run.dueAt === null ? null : run.dueAt - 500 } }),
  })),
}

describe("violationOf", () => {
  for (const [fault, stores] of Object.entries(faults)) {
    const test = Effect.gen(function* () {
      const report = yield* violationOf(stores, { seeds: 100 })
      assert.match(report ?? "", /^seed=\d+ step=\d+ after \d+ ms\n/)
      assert.match(report ?? "", /SIM_SEED=\d+$/)
    })
    it.effect(`tells of a store that ${fault}`, () => test, { timeout: 120_000 })
  }
})
