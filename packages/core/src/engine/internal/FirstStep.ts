/**
 * The first step of whoever owns a run from now on: of the process that starts it, or of one that
 * has claimed it.
 *
 * Guarantees: `prepare` is pure. Leaves out: what follows, which `RunScheduler` drives.
 */
import { Clock, Effect, Random, Result } from "effect"
import { CurrentLimits, lossesPerRun } from "../../domain/Limits.ts"
import { sentenceOf } from "../../domain/Loss.ts"
import type { Message } from "../../domain/Message.ts"
import type { RunRecord } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { StaleRun } from "../../ports/RunStore.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { Compiled } from "../GraphCache.ts"
import { GraphCache } from "../GraphCache.ts"
import type { RunNotifier } from "../RunNotifier.ts"
import type { AttemptOutcome } from "./Attempt.ts"
import { sentenceOfLateRefusal } from "./Billing.ts"
import { giveUp } from "./Cancelation.ts"
import { commitStep, readInbox } from "./Commit.ts"
import { CommitBuilder } from "./CommitBuilder.ts"
import type { Environment, RunState } from "./RunState.ts"
import { heldBy, reachedBy, resume } from "./RunState.ts"
import type { StepEvent, Step, StepOptions } from "./Step.ts"
import { decideStep } from "./Step.ts"

/** A run that has nothing to do for longer than this is parked until it is due. */
export const parkAfterMillis = 1_000

/** A run that is about to be executed, with its first step. */
export interface Prepared {
  /** Absent if the first step ends the run because it cannot be executed. */
  readonly progress: RunState | undefined
  readonly first: Step
}

const refused = (record: RunRecord, error: string, { now }: Environment): Prepared => ({
  progress: undefined,
  first: { commit: giveUp(record, error, now), started: [], stopped: [] },
})

/**
 * The events that a new owner handles first: attempts with an unknown outcome, waits that are
 * over, and a deadline that has passed.
 */
const inherited = (progress: RunState, { now }: Environment): ReadonlyArray<StepEvent> => {
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
    .map(({ ordinal }): StepEvent => ({ _tag: "Due", index: ordinal }))
  const expired = progress.deadline !== undefined && progress.deadline <= reached
  return [...lost, ...due, ...(expired ? [{ _tag: "Expired" as const }] : [])]
}

/** Parks a run that is not to start yet: somebody took it over, and has died. */
const putOff = ({ run }: RunRecord, startAt: Timestamp, { now }: Environment): Prepared => {
  const change = new CommitBuilder(run, now)
  change.park(startAt)
  return { progress: undefined, first: { commit: change.commit(), started: [], stopped: [] } }
}

/** The run is given up if its credits, which this step reserves, are not covered. */
const reserving = (record: RunRecord, step: Step, environment: Environment): Step => {
  const { unseen } = step
  return {
    ...step,
    otherwise: ({ required }) =>
      refused(record, sentenceOfLateRefusal(required), environment).first,
    unseen: unseen && ((messages) => reserving(record, unseen(messages), environment)),
  }
}

/** A run that is taken up. */
interface TakenUp {
  /** Its inbox. */
  readonly messages?: ReadonlyArray<Message> | undefined
  readonly isDraining?: StepOptions["isDraining"] | undefined
}

/** Decides the first step. */
export const prepare = (
  record: RunRecord,
  graph: Compiled,
  environment: Environment,
  { isDraining = () => false, messages = [] }: TakenUp = {},
): Prepared => {
  const { losses, startAt, startedAt } = record.run
  const isLater = startAt !== null && startedAt === null
  if (isLater && startAt > reachedBy(record.run, environment.now)) {
    return putOff(record, startAt, environment)
  }
  if (losses.length >= lossesPerRun) {
    const what = sentenceOf(losses, record.definition.nodes)
    return refused(record, `The run was given up: ${what}`, environment)
  }
  if (Result.isFailure(graph)) {
    const problems = graph.failure.map((each) => each.message).join("; ")
    return refused(record, `The run cannot be executed: ${problems}`, environment)
  }
  const progress = resume(record, graph.success, environment, messages)
  const events = inherited(progress, environment)
  const options = { isDraining, parkAfterMillis }
  const first = decideStep(progress, events, environment.now, options)
  return { progress, first: isLater ? reserving(record, first, environment) : first }
}

/** The limits, the time, and a source of random numbers. */
export const environmentOf: Effect.Effect<Environment> = Effect.gen(function* () {
  const random = yield* Random.Random
  return {
    limits: yield* CurrentLimits,
    now: yield* Clock.currentTimeMillis,
    random: () => random.nextDoubleUnsafe(),
  }
})

/** Decides and stores the first step of a run that was claimed. */
export const takeUp: (
  record: RunRecord,
  isDraining: StepOptions["isDraining"],
) => Effect.Effect<Prepared, StaleRun, RunStore | RunNotifier | GraphCache> = Effect.fnUntraced(
  function* (record, isDraining) {
    const graphs = yield* GraphCache
    const store = yield* RunStore
    const environment = yield* environmentOf
    const { id, inputOverrides, messages } = record.run
    const graph = graphs.compile(record.definition, inputOverrides)
    const held = heldBy(record.run)
    const inbox = messages === 0 ? [] : yield* readInbox(store, { runId: id, after: 0, held })
    // To read the inbox may have taken as long as the store was away.
    const prepared = prepare(record, graph, environment, { messages: inbox, isDraining })
    const first = yield* commitStep(store, prepared.first)
    // The progress is that of a step which is not the one that was stored if the run was given up.
    const isGivenUp = prepared.progress?.run !== first.commit.run
    return { progress: isGivenUp ? undefined : prepared.progress, first }
  },
)
