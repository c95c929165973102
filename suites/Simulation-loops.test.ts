/**
 * The simulation of loops, over many more seeds than the package's own test plays, and what gives
 * it weight: stores with a fault are told from good ones.
 */
import { assert, describe, it } from "@effect/vitest"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { brokenLoopOf, loopSimulation } from "@millrace/simulation/LoopSuite"
import { Stores } from "@millrace/memory"
import { Effect, Layer } from "effect"

loopSimulation("the stores in memory", Stores.layer, 2_000)

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
  "gives the items of a loop in another order": faulty(({ children }) => ({
    children: (query) => Effect.map(children(query), (found) => found.toReversed()),
  })),
  "skips a child after another one": faulty(({ children }) => ({
    children: (query) =>
      children({ ...query, after: query.after < 0 ? query.after : query.after + 1 }),
  })),
  "gives the first page of items alone": faulty(({ children }) => ({
    children: (query) => (query.after < 0 ? children(query) : Effect.succeed([])),
  })),
  "starts no second run for a loop": faulty(({ commit }) => ({
    commit: (each) => commit({ ...each, starts: each.starts?.slice(0, 1) }),
  })),
  "loses an end that comes with another one": faulty(({ inboxes }) => ({
    inboxes: (requests) =>
      Effect.map(inboxes(requests), (found) =>
        found.map(({ messages, runId }) => ({
          runId,
          messages: messages.length < 2 ? messages : messages.slice(0, -1),
        })),
      ),
  })),
  "tells no item that its loop has ended": faulty(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        messages: each.messages?.filter(({ message }) => message.name === "child"),
      }),
  })),
  "forgets what stands for the loop in its body": faulty(({ commit }) => ({
    commit: (each) =>
      commit({ ...each, starts: each.starts?.map(({ nodeRuns: _, ...start }) => start) }),
  })),
  "stores none of the items that a loop has computed": faulty(({ commit }) => ({
    commit: (each) =>
      commit({ ...each, starts: each.starts?.filter(({ run }) => run.finishedAt === null) }),
  })),
  "stores nothing of them but their runs": faulty(({ commit }) => ({
    commit: (each) =>
      commit({
        ...each,
        starts: each.starts?.map((start) =>
          start.run.finishedAt === null ? start : { ...start, nodeRuns: [] },
        ),
      }),
  })),
  "moves no credits for them": faulty(({ commit }) => ({
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
