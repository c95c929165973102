/**
 * Starts runs when schedules are due, and when runs have ended that triggers follow.
 *
 * Guarantees: the run of a time is started once, over any number of processes, crashes and pauses:
 * its id follows from the trigger and the time, and a store has an id once. A time that has a run
 * is never recorded as missed. What a refused start would have started is, with the sentence of the
 * refusal. A process looks for what is due once a second at most, and every few seconds if nothing
 * is due before. Leaves out: which times a schedule has, and what a run gets that follows another.
 */
import { Clock, Duration, Effect, Layer, Queue, Result } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import {
  handlerMessageLength,
  triggerLeaseMillis,
  triggerPollMillis,
  triggersAtOnce,
  triggersPerClaim,
} from "../domain/Limits.ts"
import { firstOf } from "../domain/Quote.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { format } from "../domain/Timestamp.ts"
import type { Schedule } from "../domain/Trigger.ts"
import { jitterOf, runIdAt } from "../domain/Trigger.ts"
import { webhookOfRuns } from "../domain/Webhook.ts"
import { CurrentCalendar } from "../ports/Calendar.ts"
import { RunStore, type StaleRun } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { StoreManifest } from "../ports/StoreManifest.ts"
import type {
  ClaimedEnd,
  ClaimedTriggers,
  TriggerAdvance,
  TriggerPause,
} from "../ports/TriggerStore.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import { decideOverlap, runsToCheck } from "./internal/Overlaps.ts"
import { dueTimesOf } from "./internal/ScheduleTimes.ts"
import { TakenSchedule } from "./internal/TakenSchedule.ts"
import type { VersionNotFound, WorkflowNotFound } from "./Refusals.ts"
import { pausedBefore, RunEndTriggers } from "./RunEndTriggers.ts"
import { Runner } from "./Runner.ts"
import { RunNotifier } from "./RunNotifier.ts"
import { Runs, type StartRefusal } from "./Runs.ts"
import { monotonicMillis } from "./StoreClock.ts"
import { Triggers } from "./Triggers.ts"

const tooLate = "It was not started within a minute: no server was there, or the store failed"

const servicesOf = Effect.all({
  store: TriggerStore,
  triggers: Triggers,
  runEnds: RunEndTriggers,
  notifier: RunNotifier,
  runs: Runs,
  runStore: RunStore,
  runner: Runner,
  clock: Clock.Clock,
  calendar: CurrentCalendar,
})
type Services = Effect.Success<typeof servicesOf>

/** What became of one time. */
type Outcome =
  | { readonly _tag: "Started"; readonly runId: RunId }
  | { readonly _tag: "Missed"; readonly why: string }
  | { readonly _tag: "Waits" }
  /** The store failed, or the claim is over. Whoever takes the trigger next tries again. */
  | { readonly _tag: "Unknown" }

/** Cancels a run for one that takes its place. It may end, or be gone, meanwhile. */
const cancelFor = ({ runs }: Services, { accountId }: Schedule, runId: RunId) =>
  Effect.catchTags(runs.cancel(accountId, runId), {
    RunEnded: () => Effect.void,
    RunNotFound: () => Effect.void,
  })

/** Makes room for the run of a time. Its answer: why there is no start now. */
const makeRoom = Effect.fnUntraced(function* (
  services: Services,
  trigger: Schedule,
  runId: RunId,
  runIds: ReadonlyArray<RunId>,
): Effect.fn.Return<Outcome | undefined, StorageError | WorkflowNotFound | VersionNotFound> {
  const { accountId, values, workflowId } = trigger
  const version = trigger.version ?? undefined
  const beside = runsToCheck(trigger, runId, runIds)
  if (beside.length === 0) return undefined
  const found = yield* services.runStore.findMany(accountId, beside, 0)
  const decided = decideOverlap(trigger, runId, { runIds, runs: found.map(({ run }) => run) })
  if (decided._tag === "Wait") return { _tag: "Waits" }
  if (decided._tag === "Skip") {
    return { _tag: "Missed", why: `Skipped: run ${decided.runId} was still in progress` }
  }
  if (decided._tag === "Start") return undefined
  // Nothing is canceled for a run that would be refused because of what it executes.
  const { problems } = yield* services.runs.validate(accountId, { workflowId, version, values })
  if (problems.length > 0) return undefined
  yield* Effect.forEach(decided.runIds, (id) => cancelFor(services, trigger, id))
  return undefined
})

/** Starts the run of a time; `runIds` are those of all times that are looked at. */
const startAt = Effect.fnUntraced(function* (
  services: Services,
  trigger: Schedule,
  at: Timestamp,
  runIds: ReadonlyArray<RunId>,
): Effect.fn.Return<Outcome> {
  const { accountId, fence: claimFence, id: triggerId, values, workflowId } = trigger
  const version = trigger.version ?? undefined
  const runId = runIdAt(triggerId, at)
  type Failure = StartRefusal | StaleRun | StorageError
  const attempt = Effect.gen(function* (): Effect.fn.Return<Outcome, Failure> {
    const instead = yield* makeRoom(services, trigger, runId, runIds)
    if (instead !== undefined) return instead
    const admittedWebhook = webhookOfRuns(trigger.webhook)
    const ofTrigger = { source: "schedule" as const, triggerId, admittedWebhook }
    const request = { workflowId, version, values, ...ofTrigger }
    yield* services.runs.startAs(accountId, request, { runId, claimFence })
    return { _tag: "Started", runId }
  })
  const done = yield* Effect.result(attempt)
  if (Result.isSuccess(done)) return done.success
  if (done.failure._tag === "StaleRun") return { _tag: "Unknown" }
  if (done.failure._tag !== "StorageError") {
    const { failure } = done
    const why = failure._tag === "InsufficientCredits" ? failure.withoutBalance : failure.message
    return { _tag: "Missed", why: firstOf(why, handlerMessageLength) }
  }
  yield* Effect.logWarning(`could not start trigger ${triggerId}`, done.failure)
  return { _tag: "Unknown" }
})

/** Those of these times that have a run: whoever started it did not come to note that. */
const startedOf = Effect.fnUntraced(function* (
  { runStore }: Services,
  { accountId, id }: Schedule,
  late: ReadonlyArray<Timestamp>,
) {
  if (late.length === 0) return []
  const ids = late.map((at) => runIdAt(id, at))
  const found = yield* runStore.findMany(accountId, ids, 0)
  const known = new Set(found.map(({ run }) => run.id))
  return late.filter((at) => known.has(runIdAt(id, at)))
})

/** The time that waits, those that started late, and those to start, as the ids of their runs. */
const runIdsOf = (
  { id, waitingAt }: Schedule,
  started: ReadonlyArray<Timestamp>,
  starts: ReadonlyArray<Timestamp>,
) =>
  [...(waitingAt === null ? [] : [waitingAt]), ...started, ...starts].map((at) => runIdAt(id, at))

/** How a trigger is taken. `leaseEnd` is by the monotonic clock. */
interface Taking {
  readonly leaseEnd: number
  readonly now: Timestamp
  readonly pause: TriggerPause | undefined
}

/** Starts the runs of a trigger that is claimed until `leaseEnd`. */
const take = Effect.fnUntraced(function* (
  services: Services,
  found: Schedule,
  { leaseEnd, now, pause }: Taking,
): Effect.fn.Return<TriggerAdvance, StorageError> {
  // What computes the times does not give way to others.
  yield* Effect.yieldNow
  const due = dueTimesOf(services.calendar, found, now, pause)
  const { missed: late, next, paused, starts, waitingAt } = due
  const claimed = { ...found, waitingAt }
  const started = yield* startedOf(services, claimed, [...late, ...paused])
  const taken = new TakenSchedule(claimed, next)
  const lastAt = started.at(-1)
  if (lastAt !== undefined) taken.started(lastAt)
  const missed = late.filter((at) => !started.includes(at))
  if (missed.length > 0) {
    const last = missed.at(-1)!
    const isBeforePause = pause !== undefined && last + jitterOf(found) < pause.since
    taken.missed(last, isBeforePause ? pausedBefore : tooLate, missed.length)
    const times = `${missed.length}, the last ${format(last)}`
    yield* Effect.logWarning(`times of trigger ${claimed.id} that were missed: ${times}`)
  }
  const runIds = runIdsOf(claimed, started, starts)
  const waiting = waitingAt === null ? [] : [waitingAt]
  for (const [index, at] of [...waiting, ...starts].entries()) {
    if (taken.waitingAt !== null) {
      taken.missed(at, `Skipped: the time ${format(taken.waitingAt)} was still waiting`)
      continue
    }
    const isOver = monotonicMillis(services.clock) >= leaseEnd
    const outcome: Outcome = isOver
      ? { _tag: "Unknown" }
      : yield* startAt(services, taken.schedule, at, runIds)
    if (outcome._tag === "Unknown") return taken.again(at, starts[index + 1 - waiting.length], now)
    if (outcome._tag === "Missed") taken.missed(at, outcome.why)
    else if (outcome._tag === "Waits") taken.waitingAt = at
    else taken.started(at)
  }
  return taken.advance(now)
})

/** The pause of the account of a trigger, which may be gone. */
const pauseOf = (
  pauses: ReadonlyArray<TriggerPause>,
  trigger: { readonly accountId: AccountId } | null,
): TriggerPause | undefined => pauses.find(({ accountId }) => accountId === trigger?.accountId)

/** Starts the runs that follow these ends, which are claimed until `leaseEnd`. */
const follow = Effect.fnUntraced(function* (
  { clock, runEnds, store }: Services,
  { ends, pauses }: ClaimedTriggers,
  leaseEnd: number,
) {
  const started = (end: ClaimedEnd) => {
    if (monotonicMillis(clock) >= leaseEnd) return Effect.undefined
    return runEnds.start(end, pauseOf(pauses, end.trigger))
  }
  const all = yield* Effect.forEach(ends, (end) => Effect.suspend(() => started(end)), {
    concurrency: triggersAtOnce,
  })
  const finished = all.flatMap((each) => each ?? [])
  if (finished.length > 0) yield* store.finish(finished)
})

/** Takes what is due. The time by the store's clock, and when something is due next. */
const look = Effect.fnUntraced(function* (services: Services) {
  const { clock, store } = services
  const leaseEnd = monotonicMillis(clock) + triggerLeaseMillis
  const limit = triggersPerClaim
  const claimed = yield* store.claimDue({ limit, leaseMillis: triggerLeaseMillis })
  const { ends, nextDueAt, now, pauses, triggers } = claimed
  const taken = (trigger: Schedule) => {
    const pause = pauseOf(pauses, trigger)
    const { fence, id, nextAt, waitingAt } = trigger
    const later = { id, fence, nextAt, waitingAt, dueAt: now + triggerLeaseMillis, missed: 0 }
    const what = `could not take trigger ${id}`
    return take(services, trigger, { leaseEnd, now, pause }).pipe(
      Effect.catch((error) => Effect.as(Effect.logWarning(what, error), later)),
      Effect.catchDefect((defect) => Effect.as(Effect.logError(what, defect), later)),
    )
  }
  const advances = yield* Effect.forEach(triggers, taken, { concurrency: triggersAtOnce })
  if (advances.length > 0) yield* store.advance(advances)
  yield* follow(services, claimed, leaseEnd)
  const dues = [nextDueAt, ...advances.map(({ dueAt }) => dueAt)].flatMap((due) => due ?? [])
  const isMore = triggers.length === limit || ends.length === limit
  return { now, isMore, nextAt: Math.min(...dues) }
})

const secondMillis = 1_000

/** When to look next: when something is due, and not twice within one second. */
const nextLook = (now: Timestamp, nextAt: Timestamp): Timestamp => {
  const nextSecond = now - (now % secondMillis) + secondMillis
  return Math.max(nextSecond, Math.min(nextAt, now + triggerPollMillis))
}

const run = Effect.gen(function* () {
  if (!(yield* StoreManifest).ports.includes("triggers")) return
  const services = yield* servicesOf
  const { clock, notifier, runner, triggers } = services
  const looked = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const rest = { now, isMore: false, nextAt: Number.POSITIVE_INFINITY }
    if (runner.status().isDraining) return Effect.succeed(rest)
    return Effect.catchCause(look(services), (cause) =>
      Effect.as(Effect.logWarning("could not look for due triggers", cause), rest),
    )
  })
  const sleepUntil = (time: Timestamp) =>
    Effect.sleep(Duration.millis(Math.max(0, time - clock.currentTimeMillisUnsafe())))
  const turn = Effect.gen(function* () {
    const { isMore, nextAt, now } = yield* looked
    // At once, whatever has happened meanwhile.
    if (isMore) return yield* Effect.yieldNow
    const slept = Effect.as(sleepUntil(nextLook(now, nextAt)), false)
    // One that was just made, or waits for an end, may be due before those that were known.
    const changed = Effect.as(Queue.take(triggers.changes), true)
    const ended = Effect.as(Queue.take(notifier.ends), true)
    if (yield* Effect.raceAll([slept, changed, ended])) yield* sleepUntil(nextLook(now, now))
  })
  yield* Effect.forkScoped(Effect.forever(turn))
})

/** Starts runs by triggers as long as the layer's scope is open, if the store has triggers. */
export const layer: Layer.Layer<
  never,
  never,
  TriggerStore | StoreManifest | Triggers | RunEndTriggers | RunNotifier | Runs | RunStore | Runner
> = Layer.effectDiscard(run)
