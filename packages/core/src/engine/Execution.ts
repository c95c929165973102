/**
 * The execution of one run: one fiber, and the run's only writer while it owns it.
 *
 * A turn takes every attempt that has ended, settles it, decides what that releases, commits all of
 * it in one atomic step, and only then starts the released nodes. So a node starts only after
 * whatever it depends on is durable, and a start is itself recorded before it happens.
 *
 * Guarantees: a finished node is never run again; a refused commit stops the execution at once and
 * without a trace. Leaves out: who owns a run; that is the runner's.
 */
import { Clock, Effect, Queue, Result } from "effect"
import type { Limits } from "../domain/Limits.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { RunRecord } from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { StaleRun } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { Outcome } from "./Attempt.ts"
import { attempt } from "./Attempt.ts"
import { commitDurably } from "./Commit.ts"
import type { Compiled } from "./Graphs.ts"
import { Graphs } from "./Graphs.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { Progress, Started, Turn } from "./Progress.ts"
import { giveUp, recordOf, resume, turn } from "./Progress.ts"

/** A run of which so many owners have died without any progress is not given to another one. */
export const claimsWithoutProgress = 5

/** An execution that is about to begin: its first turn is decided, and not yet committed. */
export interface Prepared {
  /** Absent where the first turn gives the run up. */
  readonly progress: Progress | undefined
  readonly first: Turn
}

/** A run that has ended, as it is stored; `undefined` when it is left open for another owner. */
export type Ended = RunRecord | undefined

const refused = (record: RunRecord, error: string, now: Timestamp): Prepared => ({
  progress: undefined,
  first: { commit: giveUp(record.run, error, now), started: [] },
})

/** Decides the first turn of whoever owns a run from now on. Pure. */
export const prepare = (
  record: RunRecord,
  graph: Compiled,
  limits: Limits,
  now: Timestamp,
): Prepared => {
  const { claims } = record.run
  if (claims > claimsWithoutProgress) {
    const times = `${claimsWithoutProgress} times`
    return refused(record, `The run was given up: its runner stopped ${times} in a row`, now)
  }
  if (Result.isFailure(graph)) {
    const problems = graph.failure.map((each) => each.message).join("; ")
    return refused(record, `The run cannot be executed: ${problems}`, now)
  }
  const progress = resume(record, graph.success, limits)
  return { progress, first: turn(progress, [], now, false) }
}

/**
 * Executes a run to its end, from a first turn whose commit is stored. Succeeds when the run has
 * ended or was left open; fails with `StaleRun` when somebody else took it over, and nothing more
 * was written.
 * Interruption stops its handlers and leaves the run as it was last committed. Once `draining` says
 * so no further node is started, and the execution ends when those in progress have settled: the
 * run stays open for the next owner.
 */
export const proceed: (
  prepared: Prepared,
  draining: () => boolean,
) => Effect.Effect<Ended, StaleRun, RunStore | NodeTypes> = Effect.fnUntraced(function* (
  { first, progress },
  draining,
) {
  if (progress === undefined) return undefined
  const store = yield* RunStore
  const types = yield* NodeTypes
  const clock = yield* Clock.Clock
  const ended = yield* Queue.unbounded<Outcome>()
  const start = ({ attempt: number, index, inputs }: Started) => {
    const { graph, limits, run } = progress
    const node = graph.nodes[index]!
    const executable = types.executable(node.type.key)!
    const request = { run, node, executable, attempt: number, inputs, limits }
    return Effect.map(attempt(request), (outcome) => Queue.offerUnsafe(ended, outcome))
  }
  let next = first
  while (progress.run.finishedAt === null && progress.running.size > 0) {
    // At once, because a handler that does not wait has then ended before anybody looks.
    for (const started of next.started) {
      yield* Effect.forkChild(start(started), { startImmediately: true })
    }
    const outcomes = yield* Queue.takeAll(ended)
    next = turn(progress, outcomes, clock.currentTimeMillisUnsafe(), draining())
    yield* commitDurably(store, next.commit)
  }
  return progress.run.finishedAt === null ? undefined : recordOf(progress)
})

/** Executes a run that was taken over. See {@link proceed}. */
export const execute: (
  record: RunRecord,
  draining?: () => boolean,
) => Effect.Effect<Ended, StaleRun, RunStore | NodeTypes | Graphs> = Effect.fnUntraced(function* (
  record,
  draining = () => false,
) {
  const graphs = yield* Graphs
  const limits = yield* CurrentLimits
  const now = yield* Clock.currentTimeMillis
  const graph = graphs.compile(record.definition, record.run.inputOverrides)
  const prepared = prepare(record, graph, limits, now)
  yield* commitDurably(yield* RunStore, prepared.first.commit)
  return yield* proceed(prepared, draining)
})
