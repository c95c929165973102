/**
 * The execution of one run: one fiber, and the run's only writer while it owns it.
 *
 * A step takes every attempt that has ended, finishes it, decides what that releases, commits all
 * of it in one atomic step, and only then starts the released nodes. So a node starts only after
 * whatever it depends on is durable, and a start is itself recorded before it happens.
 *
 * Guarantees: a finished node is never run again; a refused commit stops the execution at once and
 * without a trace; no handler can hold up its run by ignoring that it is interrupted. Leaves out:
 * who owns a run; that is the runner's.
 */
import { Clock, Effect, Queue, Random, Result } from "effect"
import type { RunId } from "../../domain/Id.ts"
import { CurrentLimits, lossesPerRun } from "../../domain/Limits.ts"
import { sentenceOf } from "../../domain/Loss.ts"
import type { Message } from "../../domain/Message.ts"
import type { RunRecord } from "../../domain/Run.ts"
import type { StaleRun } from "../../ports/RunStore.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { AttemptOutcome } from "./Attempt.ts"
import { commitStep, readInbox } from "./Commit.ts"
import type { Compiled } from "../GraphCache.ts"
import { GraphCache } from "../GraphCache.ts"
import { Handlers } from "./Handlers.ts"
import { NodeTypes } from "../NodeTypes.ts"
import type { Environment, RunState } from "./RunState.ts"
import { heldBy, isListening, reachedBy, recordOf, resume } from "./RunState.ts"
import type { Signal, ChargedSoFar, Step } from "./Step.ts"
import { giveUp, goesOn, decideStep } from "./Step.ts"
import type { News } from "./NodeExecutor.ts"
import { NodeExecutor } from "./NodeExecutor.ts"

/** A run that has nothing to do for longer than this is parked until it is due. */
export const parkAfterMillis = 1_000

/** An execution that is about to begin: its first step is decided, and not yet committed. */
export interface Prepared {
  /** Absent if the first step ends the run because it cannot be executed. */
  readonly progress: RunState | undefined
  readonly first: Step
}

/** The interface of an execution for its process. */
export interface LiveExecution {
  /** What its attempts have charged so far. */
  readonly spent: ChargedSoFar
  /** The number of the last message that it has seen; `undefined` unless it waits for messages. */
  readonly listensAfter: () => number | undefined
  /** Gives it messages of its run, in order. */
  readonly receive: (messages: ReadonlyArray<Message>) => void
}

/** The interface of the process for its executions. */
export interface DrainSignal {
  readonly isDraining: () => boolean
  /** Calls `notify` once, when draining begins. The returned function cancels that. */
  readonly onDrain: (notify: () => void) => () => void
  /** Gives the process the interface of a run's execution. */
  readonly onBegin: (run: RunId, execution: LiveExecution) => void
  /** The handlers in progress in the process. */
  readonly handlers: Handlers
}

/** A process that never drains. */
export const noDrainSignal: DrainSignal = {
  isDraining: () => false,
  onDrain: () => () => undefined,
  onBegin: () => undefined,
  handlers: new Handlers(),
}

/**
 * The run as it is stored when its execution is over: it has ended, is parked, or was left open for
 * another owner. `undefined` if it was given up.
 */
export type RunResult = RunRecord | undefined

const refused = (record: RunRecord, error: string, { now }: Environment): Prepared => ({
  progress: undefined,
  first: { commit: giveUp(record, error, now), started: [], stopped: [] },
})

/**
 * The signals that a new owner handles first: attempts with an unknown outcome, waits that are
 * over, and a deadline that has passed.
 */
const inherited = (progress: RunState, { now }: Environment): ReadonlyArray<Signal> => {
  const lost = [...progress.running.values()].map(({ attempt, index }): AttemptOutcome => ({
    _tag: "Failed",
    index,
    attempt,
    logs: progress.priorAttempts.get(index)?.logs ?? null,
    charged: null,
    at: now,
    error: `the outcome of attempt ${attempt} is unknown: its process stopped`,
    retryable: false,
    retryAfterMillis: undefined,
  }))
  const reached = reachedBy(progress.run, now)
  const due = [...progress.waiting.values()]
    .filter((wait) => wait.due <= reached)
    .map(({ ordinal }): Signal => ({ _tag: "Due", index: ordinal }))
  const expired = progress.deadline !== undefined && progress.deadline <= reached
  return [...lost, ...due, ...(expired ? [{ _tag: "Expired" as const }] : [])]
}

/** Decides the first step of whoever owns a run from now on. Pure. */
export const prepare = (
  record: RunRecord,
  graph: Compiled,
  environment: Environment,
  messages: ReadonlyArray<Message> = [],
): Prepared => {
  const { losses } = record.run
  if (losses.length >= lossesPerRun) {
    return refused(
      record,
      `The run was given up: ${sentenceOf(losses, record.definition.nodes)}`,
      environment,
    )
  }
  if (Result.isFailure(graph)) {
    const problems = graph.failure.map((each) => each.message).join("; ")
    return refused(record, `The run cannot be executed: ${problems}`, environment)
  }
  const progress = resume(record, graph.success, environment, messages)
  const signals = inherited(progress, environment)
  const options = { draining: false, parkAfterMillis }
  return { progress, first: decideStep(progress, signals, environment.now, options) }
}

/**
 * Makes a step clear losses that this process does not know. While a run blocks the event loop, the
 * thread that keeps the lease may record a loss. If the run goes on, its next progress clears it.
 */
const clearing = (step: Step, handlers: Handlers): Step => {
  const { commit } = step
  if (!handlers.hasBlocked(commit.run.id)) return step
  const isProgress =
    commit.run.dueAt !== null ||
    [...commit.nodeRuns, ...commit.rewritten].some(({ sequence }) => sequence !== null)
  return isProgress ? { ...step, commit: { ...commit, clearsLosses: true } } : step
}

/**
 * Executes a run from a first step whose commit is stored, until it has ended, is parked or was
 * left open, and gives it as it is stored then. Fails with `StaleRun` when somebody else took it
 * over, and nothing more was written.
 *
 * Interruption stops its handlers and leaves the run as it was last committed. While draining no
 * further node is started, and the execution is over when those in progress have finished: the run
 * stays open for the next owner.
 */
export const proceed: (
  prepared: Prepared,
  drain: DrainSignal,
) => Effect.Effect<RunResult, StaleRun, RunStore | NodeTypes> = Effect.fnUntraced(function* (
  { first, progress },
  drain,
) {
  if (progress === undefined) return undefined
  const store = yield* RunStore
  const types = yield* NodeTypes
  const clock = yield* Clock.Clock
  const executor = new NodeExecutor(
    progress,
    types,
    drain.handlers,
    clock,
    yield* Queue.unbounded<News>(),
  )
  const forget = drain.onDrain(() => executor.notifyDrain())
  drain.onBegin(progress.run.id, {
    spent: (index, attempt) => progress.spent(index, attempt),
    listensAfter: () =>
      progress.run.dueAt === null && isListening(progress) ? progress.seen : undefined,
    receive: (messages) => executor.receive(messages),
  })
  const work = Effect.gen(function* () {
    if (progress.deadline !== undefined && goesOn(progress)) executor.limit(progress.deadline)
    let next = first
    while (goesOn(progress) && (progress.running.size > 0 || !drain.isDraining())) {
      executor.begin(next)
      const signals = yield* executor.next()
      const draining = drain.isDraining()
      next = decideStep(progress, signals, clock.currentTimeMillisUnsafe(), {
        draining,
        parkAfterMillis,
      })
      next = yield* commitStep(store, clearing(next, drain.handlers))
    }
    return recordOf(progress)
  })
  return yield* Effect.ensuring(
    work,
    Effect.sync(() => {
      forget()
      executor.close()
      drain.handlers.forget(progress.run.id)
    }),
  )
})

/** Executes a run that was claimed or taken over. See {@link proceed}. */
export const execute: (
  record: RunRecord,
  drain?: DrainSignal,
) => Effect.Effect<RunResult, StaleRun, RunStore | NodeTypes | GraphCache> = Effect.fnUntraced(
  function* (record, drain = noDrainSignal) {
    const graphs = yield* GraphCache
    const environment = yield* environmentOf
    const graph = graphs.compile(record.definition, record.run.inputOverrides)
    const store = yield* RunStore
    const { id, messages } = record.run
    const inbox =
      messages === 0
        ? []
        : yield* readInbox(store, { runId: id, after: 0, held: heldBy(record.run) })
    const prepared = prepare(record, graph, environment, inbox)
    const first = yield* commitStep(store, prepared.first)
    return yield* proceed({ ...prepared, first }, drain)
  },
)

/** The limits, the time, and a source of random numbers. */
export const environmentOf: Effect.Effect<Environment> = Effect.gen(function* () {
  const random = yield* Random.Random
  return {
    limits: yield* CurrentLimits,
    now: yield* Clock.currentTimeMillis,
    random: () => random.nextDoubleUnsafe(),
  }
})
