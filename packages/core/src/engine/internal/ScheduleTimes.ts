/**
 * The times of schedules: which one is next, and what is to be done at a moment. Pure.
 */
import { lateMillis, startsPerClaim, timesCaughtUp, timesCounted } from "../../domain/Limits.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Schedule, Timing } from "../../domain/Trigger.ts"
import { jitterOf } from "../../domain/Trigger.ts"
import type { Calendar } from "../../ports/Calendar.ts"
import type { TriggerPause } from "../../ports/TriggerStore.ts"

/** What the times of a schedule follow from. */
export type Timed = Timing & Pick<Schedule, "createdAt">

/** A schedule of an interval, by its first time. */
const intervalOf = ({ createdAt, everySeconds, startAt }: Timed) =>
  everySeconds === null
    ? undefined
    : { period: everySeconds * 1_000, anchor: startAt ?? createdAt + everySeconds * 1_000 }

/** The first time of a schedule after this one, wherever the schedule ends. */
export const nextOf = (calendar: Calendar, timed: Timed, after: Timestamp): Timestamp | null => {
  const from = timed.startAt === null ? after : Math.max(after, timed.startAt - 1)
  const interval = intervalOf(timed)
  if (interval === undefined) return calendar.next(textOf(timed), from)
  const { anchor, period } = interval
  return anchor + Math.max(0, Math.floor((from - anchor) / period) + 1) * period
}

const textOf = ({ cron, timezone }: Timing) => ({ cron: cron ?? "", timezone })

/** The first time of a schedule after this one; `null` if there is none. */
export const nextTime = (calendar: Calendar, timed: Timed, after: Timestamp): Timestamp | null => {
  const next = nextOf(calendar, timed, after)
  return next === null || (timed.endAt !== null && next >= timed.endAt) ? null : next
}

/** The last times from `from` on and before `before`, at most so many, the earliest first. */
const lastTimes = (
  calendar: Calendar,
  timed: Timed,
  {
    before,
    count,
    from,
  }: { readonly before: number; readonly count: number; readonly from: number },
): ReadonlyArray<Timestamp> => {
  const end = timed.endAt === null ? before : Math.min(before, timed.endAt)
  const interval = intervalOf(timed)
  if (interval === undefined) {
    return calendar.previous(textOf(timed), end, count).filter((time) => time >= from)
  }
  const { anchor, period } = interval
  const last = anchor + (Math.ceil((end - anchor) / period) - 1) * period
  const all = Array.from({ length: count }, (_, index) => last - (count - 1 - index) * period)
  return all.filter((time) => time >= from)
}

/** What to do for a trigger at a moment. */
export interface DueTimes {
  /** The time that goes on waiting for the end of a run. */
  readonly waitingAt: Timestamp | null
  /** The times to start runs for, in order. */
  readonly starts: ReadonlyArray<Timestamp>
  /** The times that are too late, or were due before a pause and are not started any more. */
  readonly missed: ReadonlyArray<Timestamp>
  /** The times of a pause of all triggers, which are not missed. */
  readonly paused: ReadonlyArray<Timestamp>
  /** The next time; it may be due already. */
  readonly next: Timestamp | null
}

/** The times that are due, in order, and the one behind. After a long pause the latest ones. */
const passedTimes = (calendar: Calendar, trigger: Schedule, until: Timestamp) => {
  const most = trigger.catchUp === "all" ? timesCaughtUp : timesCounted
  const times: Array<Timestamp> = []
  let next = trigger.nextAt
  while (next !== null && next <= until) {
    if (times.length === most) {
      const from = trigger.nextAt ?? next
      const latest = lastTimes(calendar, trigger, { before: until + 1, count: most, from })
      return { times: latest, next: nextTime(calendar, trigger, until) }
    }
    times.push(next)
    next = nextTime(calendar, trigger, next)
  }
  return { times, next }
}

/** Decides what to do for a trigger that is due, by its `catchUp`. */
export const dueTimesOf = (
  calendar: Calendar,
  trigger: Schedule,
  now: Timestamp,
  pause?: TriggerPause,
): DueTimes => {
  const jitter = jitterOf(trigger)
  const { next, times } = passedTimes(calendar, trigger, now - jitter)
  const pauseBegin = (pause?.since ?? now) - jitter
  const pauseEnd = pause === undefined ? Number.NEGATIVE_INFINITY : (pause.until ?? now) - jitter
  const { waitingAt } = trigger
  const isGivenUp = waitingAt !== null && waitingAt <= pauseEnd
  const before = times.filter((time) => time <= pauseEnd && time < pauseBegin)
  const paused = times.slice(before.length).filter((time) => time <= pauseEnd)
  const rest = times.slice(before.length + paused.length)
  const isLate = (time: Timestamp) => time < now - jitter - lateMillis
  const late = rest.filter(isLate)
  const inTime = rest.slice(late.length)
  const last = inTime.length === 0 ? late.slice(-1) : []
  const caughtUp = { none: [], last, all: late }[trigger.catchUp]
  const wanted = [...caughtUp, ...inTime]
  const tooLate = late.slice(0, late.length - caughtUp.length)
  return {
    waitingAt: isGivenUp ? null : waitingAt,
    starts: wanted.slice(0, startsPerClaim),
    missed: [...(isGivenUp ? [waitingAt] : []), ...before, ...tooLate],
    paused,
    next: wanted[startsPerClaim] ?? next,
  }
}
