/**
 * Stores in memory of which something is wrong: a simulation has to tell them from good ones.
 */
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Stores } from "@millrace/memory"
import { Effect, Layer } from "effect"

type Runs = RunStore["Service"]
type Workflows = WorkflowStore["Service"]

/** Good stores but for what is changed of that of runs. */
export const faultyRuns = (change: (good: Runs) => Partial<Runs>) =>
  Layer.effect(
    RunStore,
    Effect.map(RunStore, (good) => RunStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provideMerge(Stores.layer))

const faultyWorkflows = (change: (good: Workflows) => Partial<Workflows>) =>
  Layer.effect(
    WorkflowStore,
    Effect.map(WorkflowStore, (good) => WorkflowStore.of({ ...good, ...change(good) })),
  ).pipe(Layer.provideMerge(Stores.layer))

/** Stores that give another content of a workflow than they are asked for. */
export const contentFaults = {
  "gives another version of a workflow than it is asked for": faultyWorkflows(
    ({ findVersion }) => ({
      findVersion: (account, id, number) => findVersion(account, id, number + 1),
    }),
  ),
  "gives the draft in the place of what is published": faultyWorkflows(({ find }) => ({
    findCurrent: find,
  })),
  "gives what is published in the place of the draft": faultyWorkflows(({ findCurrent }) => ({
    find: findCurrent,
  })),
}
