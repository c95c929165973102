/**
 * What must hold of schedules, from outside of the engine: which times each of them has, worked out
 * by counting; that each of these has started one run or is recorded as missed, unless it was due
 * in a pause of all triggers, and nothing else has started any; that each missed time is told of.
 */
import type { TriggerId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { lateMillis, triggerLeaseMillis } from "@millrace/core/domain/Limits"
import { jitterOf, type Schedule } from "@millrace/core/domain/Trigger"
import { isDropped, isStopped, mayBeDropped, mayBeGivenUp, type Pause } from "./SchedulePauses.ts"

/** A schedule with the same times since some change, until the next one. */
export interface Era {
  readonly schedule: Schedule
  /** How many of its times had started no run before. */
  readonly missedBefore: number
  /** When it was changed or removed, by the store's clock. */
  endedAt: number
  isRemoved: boolean
}

/** What is to be judged. */
export interface Judged {
  /** Of each schedule, in their order. */
  readonly eras: ReadonlyMap<TriggerId, ReadonlyArray<Era>>
  /** As they are in the end. */
  readonly schedules: ReadonlyMap<TriggerId, Schedule>
  readonly runs: ReadonlyArray<Run>
  /** Of how many missed times of each schedule its webhook is told. */
  readonly told: ReadonlyMap<TriggerId, number>
  readonly pauses: ReadonlyArray<Pause>
  /** True where nothing went wrong. */
  readonly isFaultFree: boolean
  /** When everybody was asleep for a while, by the time before. */
  readonly leaps: ReadonlyArray<number>
  /** By how much servers may be mistaken about the time. */
  readonly slackMillis: number
}

/** The times of an era, by counting: those after its beginning, before its end. */
const timesOf = ({ endedAt, schedule }: Era): ReadonlyArray<number> => {
  const { createdAt, enabled, endAt, everySeconds, startAt, updatedAt } = schedule
  const period = everySeconds! * 1_000
  const times: Array<number> = []
  if (!enabled) return times
  for (let at = startAt ?? createdAt + period; at < endAt! && at <= endedAt; at += period) {
    if (at > updatedAt) times.push(at)
  }
  return times
}

/** The time for which a run was started, as its id says. */
const timeOf = ({ id }: Run): number => {
  const [, high = "", low = ""] = /^run_([0-9a-f]+)-([0-9a-f]{4})-/.exec(id) ?? []
  return Number.parseInt(high + low, 16)
}

const brokenRun = (
  run: Run,
  { schedule }: Era,
  times: ReadonlySet<number>,
  { leaps, pauses, slackMillis }: Judged,
): string | undefined => {
  const at = timeOf(run)
  const what = `${run.id}, of ${at}, made at ${run.createdAt}`
  if (!times.has(at)) return `a run is of a time of its schedule: ${what}`
  const isRight =
    run.source === "schedule" && JSON.stringify(run.values) === JSON.stringify(schedule.values)
  if (!isRight) return `a run says what started it: ${what}`
  const due = at + jitterOf(schedule)
  if (isStopped(pauses, due)) return `no time of a pause starts a run: ${what}`
  const isEarly = run.createdAt < due - slackMillis
  if (isEarly) return `no run is started before its time: ${what}`
  const isLate = run.createdAt > due + lateMillis + triggerLeaseMillis + slackMillis
  // A time that waited for the end of a run starts late, and so does one in the middle of a start.
  const mayBeLate = schedule.catchUp !== "none" || schedule.overlap === "queue"
  const isAsleep = leaps.some((leap) => leap >= due && leap <= run.createdAt)
  return isLate && !mayBeLate && !isAsleep
    ? `no late time is started that is not caught up: ${what}`
    : undefined
}

/** Each time of the last era has come to something. */
const brokenTimes = (
  { isFaultFree, pauses }: Judged,
  { missedBefore, schedule }: Era,
  last: Schedule,
  times: ReadonlyArray<number>,
  started: ReadonlySet<number>,
): string | undefined => {
  const { catchUp, id, overlap } = schedule
  const dueOf = (at: number) => at + jitterOf(schedule)
  const rest = times.filter((at) => !started.has(at))
  const missed = last.missed - missedBefore
  const what = `${id} has missed ${missed}, and started all but ${rest.join(", ")}`
  const least = rest.filter((at) => !mayBeDropped(pauses, dueOf(at))).length
  const most = rest.filter((at) => !isDropped(pauses, dueOf(at))).length
  if (missed < least || missed > most)
    return `a time starts a run or is recorded as missed: ${what}`
  const mayBeSkipped = overlap === "skip" || overlap === "queue"
  const mustBe = mayBeSkipped ? [] : catchUp === "last" ? times.slice(-1) : times
  const isCaughtUp = isFaultFree || catchUp !== "none"
  const isMissing = (at: number) => rest.includes(at) && !mayBeGivenUp(pauses, dueOf(at))
  if (isCaughtUp && mustBe.some(isMissing)) return `what is late is caught up: ${what}`
  const own = times.filter((at) => started.has(at))
  const isNoted = own.length === 0 || last.lastAt === own.at(-1)
  return isNoted ? undefined : `the last time is noted: ${last.lastAt}, not ${own.at(-1)}`
}

/** Where nothing goes wrong, a time of a queue is skipped only while another one waits. */
const brokenQueue = (
  { isFaultFree, pauses, slackMillis }: Judged,
  { schedule }: Era,
  times: ReadonlyArray<number>,
  runs: ReadonlyArray<Run>,
): string | undefined => {
  if (!isFaultFree || schedule.overlap !== "queue") return undefined
  const started = new Set(runs.map(timeOf))
  const early = times.find(
    (at) =>
      !started.has(at) &&
      !mayBeGivenUp(pauses, at + jitterOf(schedule)) &&
      !runs.some((run) => timeOf(run) < at && run.createdAt + slackMillis >= at),
  )
  return early === undefined ? undefined : `a time waits if no other one does: ${early}`
}

/** No run of a schedule begins while the one before it goes on. */
const brokenOverlap = (
  { schedule: { overlap } }: Era,
  runs: ReadonlyArray<Run>,
  slackMillis: number,
): string | undefined => {
  if (overlap === "allow") return undefined
  const inOrder = runs.toSorted((a, b) => a.createdAt - b.createdAt)
  const early = inOrder.find((run, at) => {
    const before = inOrder[at - 1]
    return before !== undefined && before.finishedAt! > run.createdAt + slackMillis
  })
  return early === undefined ? undefined : `runs that may not overlap do not: ${early.id}`
}

const brokenSchedule = (judged: Judged, eras: ReadonlyArray<Era>): string | undefined => {
  const { runs, schedules, slackMillis } = judged
  const era = eras.at(-1)!
  const { id } = era.schedule
  const own = runs.filter(({ triggerId }) => triggerId === id)
  const sorted = own.toSorted((a, b) => timeOf(a) - timeOf(b))
  const twice = sorted.find((run, at) => at > 0 && timeOf(run) === timeOf(sorted[at - 1]!))
  if (twice !== undefined) return `a time starts one run: ${twice.id}`
  const all = new Set(eras.flatMap(timesOf))
  for (const run of sorted) {
    const broken = brokenRun(run, era, all, judged)
    if (broken !== undefined) return broken
  }
  const last = schedules.get(id)
  const told = judged.told.get(id) ?? 0
  if (last !== undefined && told !== last.missed) {
    return `each missed time is told of once: ${told} of ${last.missed}, ${id}`
  }
  if (era.isRemoved !== (last === undefined)) return `what was removed is gone: ${id}`
  if (last === undefined) return undefined
  const times = timesOf(era)
  const started = new Set(sorted.map(timeOf))
  const inEra = sorted.filter((run) => times.includes(timeOf(run)))
  return (
    brokenTimes(judged, era, last, times, started) ??
    brokenQueue(judged, era, times, inEra) ??
    brokenOverlap(era, inEra, slackMillis)
  )
}

/** The first broken rule, with what breaks it. */
export const brokenScheduleOf = (judged: Judged): string | undefined => {
  for (const eras of judged.eras.values()) {
    const broken = brokenSchedule(judged, eras)
    if (broken !== undefined) return broken
  }
  const stray = judged.runs.find(({ triggerId }) => !judged.eras.has(triggerId!))
  return stray === undefined ? undefined : `a run has a schedule: ${stray.id}`
}
