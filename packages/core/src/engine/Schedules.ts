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
import type { RunId } from "../domain/Id.ts"
import {
  handlerMessageLength,
  triggerLeaseMillis,
  triggerPollMillis,
  triggersAtOnce,
  triggersPerClaim,
} from "../domain/Limits.ts"
import { firstOf } from "../domain/Quote.ts"
import { isTerminal } from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { format } from "../domain/Timestamp.ts"
import type { Schedule } from "../domain/Trigger.ts"
import { dueAtOf, runIdAt } from "../domain/Trigger.ts"
import { CurrentCalendar } from "../ports/Calendar.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { StoreManifest } from "../ports/StoreManifest.ts"
import type { ClaimedEnd, TriggerAdvance } from "../ports/TriggerStore.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import { dueTimesOf } from "./internal/ScheduleTimes.ts"
import { RunEndTriggers } from "./RunEndTriggers.ts"
import { Runner } from "./Runner.ts"
import { RunNotifier } from "./RunNotifier.ts"
import { Runs } from "./Runs.ts"
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
  /** The store failed. Whoever takes the trigger next tries again. */
  | { readonly _tag: "Unknown" }

/**
 * The run for which a time is skipped: one that goes on. Whoever took the trigger before may have
 * started some of these runs without coming to note that. A time that has a run is not skipped, and
 * one was skipped already if a later one has a run.
 */
const skippedFor = Effect.fnUntraced(function* (
  { runStore }: Services,
  { accountId, lastRunId }: Schedule,
  runId: RunId,
  runIds: ReadonlyArray<RunId>,
) {
  const ids = lastRunId === null ? runIds : [lastRunId, ...runIds]
  if (ids.every((id) => id === runId)) return undefined
  const runs = (yield* runStore.findMany(accountId, [...new Set(ids)], 0)).map(({ run }) => run)
  if (runs.some(({ id }) => id === runId)) return undefined
  const later = runIds.slice(runIds.indexOf(runId) + 1)
  const isSkipped = runs.some(({ id }) => later.includes(id))
  const open = runs.find(({ status }) => !isTerminal(status))
  return open?.id ?? (isSkipped ? (lastRunId ?? runs[0]!.id) : undefined)
})

/** Starts the run of a time, which is one of these. */
const startAt = Effect.fnUntraced(function* (
  services: Services,
  trigger: Schedule,
  at: Timestamp,
  times: ReadonlyArray<Timestamp>,
): Effect.fn.Return<Outcome> {
  const { accountId, id: triggerId, overlap, values, workflowId } = trigger
  const runId = runIdAt(triggerId, at)
  const attempt = Effect.gen(function* () {
    if (overlap === "skip") {
      const runIds = times.map((each) => runIdAt(triggerId, each))
      const other = yield* skippedFor(services, trigger, runId, runIds)
      if (other !== undefined) return other
    }
    const request = { workflowId, values, source: "schedule" as const, triggerId }
    yield* services.runs.startAs(accountId, request, runId)
    return runId
  })
  const done = yield* Effect.result(attempt)
  if (Result.isSuccess(done)) {
    if (done.success === runId) return { _tag: "Started", runId }
    return { _tag: "Missed", why: `Skipped: run ${done.success} was still in progress` }
  }
  if (done.failure._tag !== "StorageError") {
    const { failure } = done
    const why = failure._tag === "InsufficientCredits" ? failure.withoutBalance : failure.message
    return { _tag: "Missed", why: firstOf(why, handlerMessageLength) }
  }
  yield* Effect.logWarning(`could not start trigger ${triggerId}`, done.failure)
  return { _tag: "Unknown" }
})

/** The late times that have a run: whoever started it did not come to note that. */
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

/** Starts the runs of a trigger that is claimed until `leaseEnd`, by the monotonic clock. */
const take = Effect.fnUntraced(function* (
  services: Services,
  claimed: Schedule,
  { leaseEnd, now }: { readonly leaseEnd: number; readonly now: Timestamp },
): Effect.fn.Return<TriggerAdvance, StorageError> {
  // What computes the times does not give way to others.
  yield* Effect.yieldNow
  const { missed: late, next, starts } = dueTimesOf(services.calendar, claimed, now)
  const started = yield* startedOf(services, claimed, late)
  const missed = late.filter((at) => !started.includes(at))
  const lastAt = started.at(-1)
  let trigger =
    lastAt === undefined ? claimed : { ...claimed, lastAt, lastRunId: runIdAt(claimed.id, lastAt) }
  let nextAt = next
  let dueAt = dueAtOf(claimed, next)
  const miss = (lastMissedAt: Timestamp, lastError: string, count: number) => {
    trigger = { ...trigger, lastMissedAt, lastError, missed: trigger.missed + count }
  }
  if (missed.length > 0) {
    miss(missed.at(-1)!, tooLate, missed.length)
    const times = `${missed.length}, the last ${format(missed.at(-1)!)}`
    yield* Effect.logWarning(`times of trigger ${claimed.id} that were missed: ${times}`)
  }
  for (const at of starts) {
    const isOver = monotonicMillis(services.clock) >= leaseEnd
    const outcome = isOver
      ? { _tag: "Unknown" as const }
      : yield* startAt(services, trigger, at, starts)
    if (outcome._tag === "Unknown") {
      nextAt = at
      dueAt = now + triggerLeaseMillis
      break
    }
    if (outcome._tag === "Missed") miss(at, outcome.why, 1)
    else trigger = { ...trigger, lastAt: at, lastRunId: outcome.runId }
  }
  const { fence, id, lastError, lastMissedAt, lastRunId } = trigger
  const facts = { lastAt: trigger.lastAt, lastRunId, lastMissedAt, lastError }
  return { id, fence, nextAt, dueAt, missed: trigger.missed - claimed.missed, ...facts }
})

/** Starts the runs that follow these ends, which are claimed until `leaseEnd`. */
const follow = Effect.fnUntraced(function* (
  { clock, runEnds, store }: Services,
  ends: ReadonlyArray<ClaimedEnd>,
  leaseEnd: number,
) {
  const started = (end: ClaimedEnd) =>
    monotonicMillis(clock) >= leaseEnd ? Effect.undefined : runEnds.start(end)
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
  const { ends, nextDueAt, now, triggers } = yield* store.claimDue({
    limit,
    leaseMillis: triggerLeaseMillis,
  })
  const taken = (trigger: Schedule) => {
    const { fence, id, nextAt } = trigger
    const later = { id, fence, nextAt, dueAt: now + triggerLeaseMillis, missed: 0 }
    const what = `could not take trigger ${id}`
    return take(services, trigger, { leaseEnd, now }).pipe(
      Effect.catch((error) => Effect.as(Effect.logWarning(what, error), later)),
      Effect.catchDefect((defect) => Effect.as(Effect.logError(what, defect), later)),
    )
  }
  const advances = yield* Effect.forEach(triggers, taken, { concurrency: triggersAtOnce })
  if (advances.length > 0) yield* store.advance(advances)
  yield* follow(services, ends, leaseEnd)
  const dues = [nextDueAt, ...advances.map(({ dueAt }) => dueAt)].flatMap((due) => due ?? [])
  const isMore = triggers.length === limit || ends.length === limit
  return { now, nextAt: isMore ? now : Math.min(...dues) }
})

const secondMillis = 1_000

/** When to look next: when something is due, and not twice within one second. */
const nextLook = (now: Timestamp, nextAt: Timestamp): Timestamp => {
  const nextSecond = now - (now % secondMillis) + secondMillis
  const isMore = nextAt === now
  return isMore ? now : Math.max(nextSecond, Math.min(nextAt, now + triggerPollMillis))
}

const run = Effect.gen(function* () {
  if (!(yield* StoreManifest).ports.includes("triggers")) return
  const services = yield* servicesOf
  const { clock, notifier, runner, triggers } = services
  const looked = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const rest = { now, nextAt: Number.POSITIVE_INFINITY }
    if (runner.status().isDraining) return Effect.succeed(rest)
    return Effect.catchCause(look(services), (cause) =>
      Effect.as(Effect.logWarning("could not look for due triggers", cause), rest),
    )
  })
  const sleepUntil = (time: Timestamp) =>
    Effect.sleep(Duration.millis(Math.max(0, time - clock.currentTimeMillisUnsafe())))
  const turn = Effect.gen(function* () {
    const { nextAt, now } = yield* looked
    const slept = Effect.as(sleepUntil(nextLook(now, nextAt)), false)
    // One that was just made, or waits for an end, may be due before those that were known.
    const changed = Effect.as(Queue.take(triggers.changes), true)
    const ended = Effect.as(Queue.take(notifier.ends), true)
    if (yield* Effect.raceAll([slept, changed, ended])) yield* sleepUntil(nextLook(now, now + 1))
  })
  yield* Effect.forkScoped(Effect.forever(turn))
})

/** Starts runs by triggers as long as the layer's scope is open, if the store has triggers. */
export const layer: Layer.Layer<
  never,
  never,
  TriggerStore | StoreManifest | Triggers | RunEndTriggers | RunNotifier | Runs | RunStore | Runner
> = Layer.effectDiscard(run)
