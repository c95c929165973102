/**
 * The simulation of child runs, over many more seeds than the package's own test plays, and what
 * gives it weight: stores with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { brokenTreeOf, treeSimulation } from "@millrace/simulation/TreeSuite"
import { Stores } from "@millrace/memory"
import { Effect, Layer } from "effect"

treeSimulation("the stores in memory", Stores.layer, 2_000)

type Runs = RunStore["Service"]

/** Good stores, of which something is changed. */
const faulty = (change: (good: Runs) => Partial<Runs>) =>
  Layer.effect(
    RunStore,
    Effect.map(RunStore, (good) => RunStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provideMerge(Stores.layer))

type Workflows = WorkflowStore["Service"]

/** The same of what is stored of workflows. */
const misread = (change: (good: Workflows) => Partial<Workflows>) =>
  Layer.effect(
    WorkflowStore,
    Effect.map(WorkflowStore, (good) => WorkflowStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provideMerge(Stores.layer))

const faults = {
  "gives another version of a workflow than it is asked for": misread(({ findVersion }) => ({
    findVersion: (account, id, number) => findVersion(account, id, number + 1),
  })),
  "gives the draft in the place of what is published": misread(({ find }) => ({
    findCurrent: find,
  })),
  "gives what is published in the place of the draft": misread(({ findCurrent }) => ({
    find: findCurrent,
  })),
  "starts no children": faulty(({ commit }) => ({
    commit: (each) => commit({ ...each, starts: undefined }),
  })),
  "tells nobody of the end of a child": faulty(({ commit }) => ({
    commit: (each) => commit({ ...each, messages: undefined }),
  })),
  "tells no child that its parent has ended": faulty(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        messages: each.messages?.filter(({ message }) => message.name === "child"),
      }),
  })),
  "forgets what children have cost": faulty(({ commit }) => ({
    commit: (each) => commit({ ...each, run: { ...each.run, childCredits: 0 } }),
  })),
  "overlooks messages that a commit has not seen": faulty(({ commit }) => ({
    commit: (each) => commit({ ...each, seen: undefined }),
  })),
  "forgets who took a signal": faulty(({ commit }) => ({
    commit: (each) => commit({ ...each, taken: undefined }),
  })),
  "takes a signal for a new one when it is sent again": faulty(({ send }) => {
    let count = 0
    return { send: (account, id, each) => send(account, id, { ...each, id: `${(count += 1)}` }) }
  }),
  "reserves nothing for children": faulty(({ commit }) => ({
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
