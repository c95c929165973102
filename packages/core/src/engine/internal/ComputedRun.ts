/**
 * Computes a run whose nodes have no effects before it is stored: in one step, which ends it, or
 * not at all. Such a run is stored once, instead of at its start and at its end.
 *
 * Guarantees: what is stored of such a run is what its own commits would have stored: its rows,
 * events, entries and deliveries. A run that is not stored was never there: what was computed of it
 * has reached nothing. Leaves out: the time between the items of a loop, which `Turn` says, and
 * between starts, which `RunScheduler` says.
 */
import type { RunId } from "../../domain/Id.ts"
import { Effect, Result } from "effect"
import { computedTries } from "../../domain/Limits.ts"
import type { RunRecord } from "../../domain/Run.ts"
import type { Graph } from "../../graph/Graph.ts"
import type { Compiled } from "../GraphCache.ts"
import type { ComputedTries } from "./ComputedTries.ts"
import { triesOf } from "./ComputedTries.ts"
import type { ValueSource } from "./CurrentValues.ts"
import type { Prepared } from "./FirstStep.ts"
import { parkAfterMillis } from "./FirstStep.ts"
import type { Shared } from "./RunExecution.ts"
import { RunExecution } from "./RunExecution.ts"
import type { Environment } from "./RunState.ts"
import { resume } from "./RunState.ts"
import { decideStep } from "./Step.ts"

/** Nothing is stored for a run that is not stored itself: what needs that does not end at once. */
const storingNothing = ({ memory }: ValueSource): ValueSource => ({
  memory,
  write: () => Effect.never,
  load: () => Effect.never,
})

/** Handlers that count as those of another run, which is stored and has an owner. */
const handlersOf = (handlers: Shared["handlers"], runId: RunId): Shared["handlers"] => ({
  begin: (called) => handlers.begin({ ...called, runId }),
  enter: (handler, now) => handlers.enter(handler, now),
  leave: (handler, now) => handlers.leave(handler, now),
  end: (handler) => handlers.end(handler),
  forget: () => {},
})

/**
 * The first step, if it ends the run. `undefined` if it does not, or the steps of such runs usually
 * do not: then the run has to be executed as any other run.
 */
const compute = (
  shared: Shared,
  known: ComputedTries,
  record: RunRecord,
  graph: Graph,
  environment: Environment,
): Prepared | undefined => {
  if (!known.isPlain || known.vain >= computedTries) return undefined
  const { values } = shared
  const own = { ...shared, values: values && storingNothing(values) }
  const progress = resume(record, graph, environment)
  const execution = new RunExecution(progress, own, { wake: () => {} })
  const first = decideStep(progress, [], environment.now, {
    isDraining: () => false,
    parkAfterMillis,
    compute: (started, now) => execution.compute(started, now),
  })
  execution.close()
  const hasEnded = first.commit.run.finishedAt !== null
  known.vain = hasEnded ? 0 : known.vain + 1
  return hasEnded ? { progress, first } : undefined
}

/** A run of the body of a loop as it has ended, with all that is to be stored of it. */
export const computeRun: Shared["computeRun"] = (shared, child, environment) => {
  const { body, definition, nodeRuns, run } = child
  const handlers = handlersOf(shared.handlers, run.parent!.runId)
  const computed = compute({ ...shared, handlers }, body, child, body.compiled, environment)
  if (computed === undefined) return undefined
  const { commit } = computed.first
  const { credits = [], deliveries, events, implied } = commit
  const rows = [...nodeRuns, ...commit.nodeRuns]
  return { run: commit.run, definition, nodeRuns: rows, implied, events, credits, deliveries }
}

/** What is known of graphs that runs were started of. */
const triesByGraph = new WeakMap<Graph, ComputedTries>()

/**
 * The first step of a run that is started now, if it ends the run. A step that needs more credits
 * than the estimate is left to an execution: if they are not covered, the run fails, and not its
 * start.
 */
export const computeStart = (
  shared: Shared,
  record: RunRecord,
  compiled: Compiled,
  environment: Environment,
): Prepared | undefined => {
  if (Result.isFailure(compiled)) return undefined
  const graph = compiled.success
  const known = triesByGraph.get(graph) ?? triesOf(graph)
  triesByGraph.set(graph, known)
  const computed = compute(shared, known, record, graph, environment)
  return computed?.first.otherwise === undefined ? computed : undefined
}
