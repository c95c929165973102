/**
 * Computes a run of the body of a loop whose nodes have no effects, before it is stored: in one
 * step, which ends it, or not at all.
 *
 * Guarantees: what is stored of such a run is what its own commits would have stored: its rows,
 * events, entries and deliveries. Leaves out: which bodies are computed, which `ChildSource` says,
 * and the time between their items, which `Turn` says.
 */
import type { RunId } from "../../domain/Id.ts"
import { Effect } from "effect"
import { itemTries } from "../../domain/Limits.ts"
import type { ValueSource } from "./CurrentValues.ts"
import { parkAfterMillis } from "./FirstStep.ts"
import type { Shared } from "./RunExecution.ts"
import { RunExecution } from "./RunExecution.ts"
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
 * The run as it has ended, with all that is to be stored of it. `undefined` if it did not end at
 * once, or such runs usually do not: then it has to be executed as any other run.
 */
export const computeRun: Shared["computeRun"] = (shared, child, environment) => {
  const { body, definition, nodeRuns, run } = child
  if (!body.isPlain || body.vain >= itemTries) return undefined
  const { handlers, values } = shared
  const own = {
    ...shared,
    handlers: handlersOf(handlers, run.parent!.runId),
    values: values && storingNothing(values),
  }
  const execution = new RunExecution(resume(child, body.compiled, environment), own, {
    wake: () => {},
  })
  const { commit } = decideStep(execution.progress, [], environment.now, {
    isDraining: () => false,
    parkAfterMillis,
    compute: (started, now) => execution.compute(started, now),
  })
  execution.close()
  const hasEnded = commit.run.finishedAt !== null
  body.vain = hasEnded ? 0 : body.vain + 1
  if (!hasEnded) return undefined
  const { credits = [], deliveries, events, implied } = commit
  const rows = [...nodeRuns, ...commit.nodeRuns]
  return { run: commit.run, definition, nodeRuns: rows, implied, events, credits, deliveries }
}
