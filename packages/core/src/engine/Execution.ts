/**
 * The execution of one run: one fiber, and the run's only writer while it owns it.
 *
 * A turn takes every attempt that has ended, settles it, decides what that releases, commits all of
 * it in one atomic step, and only then starts the released nodes. So a node starts only after
 * whatever it depends on is durable, and a start is itself recorded before it happens.
 *
 * Guarantees: a finished node is never run again; a refused commit stops the execution at once and
 * without a trace; no handler can hold up its run by ignoring that it is interrupted. Leaves out:
 * who owns a run; that is the runner's.
 */
import { Clock, Effect, Queue, Random, Result } from "effect"
import type { RunId } from "../domain/Id.ts"
import { CurrentLimits, lossesPerRun } from "../domain/Limits.ts"
import { sentenceOf } from "../domain/Loss.ts"
import type { RunRecord } from "../domain/Run.ts"
import type { StaleRun } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { Outcome } from "./Attempt.ts"
import { commitTurn } from "./Commit.ts"
import type { Compiled } from "./Graphs.ts"
import { Graphs } from "./Graphs.ts"
import { Handlers } from "./Handlers.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { Circumstances, Progress } from "./Progress.ts"
import { recordOf, resume } from "./Progress.ts"
import type { Signal, Spent, Turn } from "./Turn.ts"
import { giveUp, goesOn, turn } from "./Turn.ts"
import type { News } from "./Workshop.ts"
import { Workshop } from "./Workshop.ts"

/** A run that has nothing to do for longer than this is parked, and taken up again at its time. */
export const parkAfterMillis = 1_000

/** An execution that is about to begin: its first turn is decided, and not yet committed. */
export interface Prepared {
  /** Absent where the first turn gives the run up. */
  readonly progress: Progress | undefined
  readonly first: Turn
}

/** How an execution and its process learn of each other. */
export interface Drain {
  readonly isDraining: () => boolean
  /** Calls back once, when draining begins; the answer takes that back. */
  readonly onDrain: (notify: () => void) => () => void
  /** Says how to learn what attempts of a run that executes here have charged so far. */
  readonly onBegin: (run: RunId, spent: Spent) => void
  /** The handlers in progress in the process. */
  readonly handlers: Handlers
}

/** For executions that nobody tells to stop. */
export const noDrain: Drain = {
  isDraining: () => false,
  onDrain: () => () => undefined,
  onBegin: () => undefined,
  handlers: new Handlers(),
}

/**
 * The run as it is stored when an execution is over: it has ended, is parked until its time, or was
 * left open for another owner. `undefined` where it was given up.
 */
export type Over = RunRecord | undefined

const refused = (record: RunRecord, error: string, { now }: Circumstances): Prepared => ({
  progress: undefined,
  first: { commit: giveUp(record, error, now), started: [], stopped: [] },
})

/** What a new owner has to settle first: attempts whose outcome nobody knows, and lost time. */
const inherited = (progress: Progress, { now }: Circumstances): ReadonlyArray<Signal> => {
  const lost = [...progress.running.values()].map(({ attempt, index }): Outcome => ({
    _tag: "Failed",
    index,
    attempt,
    logs: progress.leftovers.get(index)?.logs ?? null,
    charged: null,
    at: now,
    error: `the outcome of attempt ${attempt} is unknown: its process stopped`,
    retryable: false,
    retryAfterMillis: undefined,
  }))
  const reached = Math.max(now, progress.run.dueAt ?? now)
  const expired = progress.deadline !== undefined && progress.deadline <= reached
  return expired ? [...lost, { _tag: "Expired" }] : lost
}

/** Decides the first turn of whoever owns a run from now on. Pure. */
export const prepare = (
  record: RunRecord,
  graph: Compiled,
  circumstances: Circumstances,
): Prepared => {
  const { losses } = record.run
  if (losses.length >= lossesPerRun) {
    return refused(
      record,
      `The run was given up: ${sentenceOf(losses, record.definition.nodes)}`,
      circumstances,
    )
  }
  if (Result.isFailure(graph)) {
    const problems = graph.failure.map((each) => each.message).join("; ")
    return refused(record, `The run cannot be executed: ${problems}`, circumstances)
  }
  const progress = resume(record, graph.success, circumstances)
  const signals = inherited(progress, circumstances)
  const manner = { draining: false, parkAfterMillis }
  return { progress, first: turn(progress, signals, circumstances.now, manner) }
}

/**
 * Executes a run from a first turn whose commit is stored, until it has ended, is parked or was
 * left open, and gives it as it is stored then. Fails with `StaleRun` when somebody else took it
 * over, and nothing more was written.
 *
 * Interruption stops its handlers and leaves the run as it was last committed. While draining no
 * further node is started, and the execution is over when those in progress have settled: the run
 * stays open for the next owner.
 */
export const proceed: (
  prepared: Prepared,
  drain: Drain,
) => Effect.Effect<Over, StaleRun, RunStore | NodeTypes> = Effect.fnUntraced(function* (
  { first, progress },
  drain,
) {
  if (progress === undefined) return undefined
  const store = yield* RunStore
  const types = yield* NodeTypes
  const clock = yield* Clock.Clock
  const workshop = new Workshop(
    progress,
    types,
    drain.handlers,
    clock,
    yield* Queue.unbounded<News>(),
  )
  const forget = drain.onDrain(() => workshop.nudge())
  drain.onBegin(progress.run.id, progress.spent)
  const work = Effect.gen(function* () {
    if (progress.deadline !== undefined && goesOn(progress)) workshop.limit(progress.deadline)
    let next = first
    while (goesOn(progress) && (progress.running.size > 0 || !drain.isDraining())) {
      workshop.begin(next)
      const signals = yield* workshop.next()
      const draining = drain.isDraining()
      next = turn(progress, signals, clock.currentTimeMillisUnsafe(), { draining, parkAfterMillis })
      next = yield* commitTurn(store, next)
    }
    return recordOf(progress)
  })
  return yield* Effect.ensuring(
    work,
    Effect.sync(() => {
      forget()
      workshop.close()
    }),
  )
})

/** Executes a run that was taken over. See {@link proceed}. */
export const execute: (
  record: RunRecord,
  drain?: Drain,
) => Effect.Effect<Over, StaleRun, RunStore | NodeTypes | Graphs> = Effect.fnUntraced(function* (
  record,
  drain = noDrain,
) {
  const graphs = yield* Graphs
  const circumstances = yield* circumstancesOf
  const graph = graphs.compile(record.definition, record.run.inputOverrides)
  const prepared = prepare(record, graph, circumstances)
  const first = yield* commitTurn(yield* RunStore, prepared.first)
  return yield* proceed({ ...prepared, first }, drain)
})

/** What a new owner is told: the limits, the time, and a source of luck. */
export const circumstancesOf: Effect.Effect<Circumstances> = Effect.gen(function* () {
  const random = yield* Random.Random
  return {
    limits: yield* CurrentLimits,
    now: yield* Clock.currentTimeMillis,
    luck: () => random.nextDoubleUnsafe(),
  }
})
