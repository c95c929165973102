/**
 * Triggers: what starts runs of a workflow by itself. There are schedules, inbound webhooks, and
 * those that follow the runs of another workflow.
 *
 * Guarantees: the run of a time has the same id wherever and however often it is started. Leaves
 * out: when a cron text is due; a {@link Calendar} says that.
 */
import { Schema } from "effect"
import { AccountId, RunId, TriggerId, WorkflowId } from "./Id.ts"
import type { InboundWebhook } from "./InboundWebhook.ts"
import { JsonObject } from "./Json.ts"
import {
  cronLength,
  everySeconds as mostEverySeconds,
  jitterSeconds as mostJitterSeconds,
  lastTriggerTime,
  timezoneLength,
} from "./Limits.ts"
import type { RunEndTrigger } from "./RunEndTrigger.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"
import { TriggerFacts } from "./TriggerFacts.ts"
import { ScheduleWebhook } from "./Webhook.ts"
import { TriggerVersion } from "./WorkflowVersion.ts"

const seconds = (minimum: number, maximum: number) =>
  Schema.Int.check(
    Schema.isBetween(
      { minimum, maximum },
      { expected: `a whole number of seconds from ${minimum} to ${maximum}` },
    ),
  )

/** A time that a client sets. The calendar goes no further. */
const Bound = Timestamp.check(
  Schema.isBetween(
    { minimum: 0, maximum: lastTriggerTime },
    { expected: "a time from 1970 to 9999" },
  ),
)

/** When a schedule is due. Exactly one of `cron` and `everySeconds` is not `null`. */
export const Timing = Schema.Struct({
  /** A cron text of 5, 6 (with seconds) or 7 (with years) fields. */
  cron: Schema.NullOr(Schema.String.check(isAtMost(cronLength))),
  /** Seconds from one time to the next, counted from `startAt`, or else from its making. */
  everySeconds: Schema.NullOr(seconds(1, mostEverySeconds)),
  /** The time zone of `cron`, such as `Europe/Berlin`. */
  timezone: Schema.String.check(isAtMost(timezoneLength)),
  /** No time before it. */
  startAt: Schema.NullOr(Bound),
  /** No time at or after it. */
  endAt: Schema.NullOr(Bound),
})
export type Timing = typeof Timing.Type

/**
 * What becomes of times that are more than a minute late: `none` of them is started; the `last`
 * one, if no time after them is due in time; `all`.
 */
export const CatchUp = Schema.Literals(["none", "last", "all"])
export type CatchUp = typeof CatchUp.Type

/**
 * What becomes of a time while the last run of the schedule goes on: it starts a run all the same;
 * it starts none; it waits for the end of that run, one time at most, and those after it start
 * none; that run is canceled.
 */
export const Overlap = Schema.Literals(["allow", "skip", "queue", "cancelOther"])
export type Overlap = typeof Overlap.Type

/** A schedule, with what became of its times. */
export const Schedule = Schema.Struct({
  id: TriggerId,
  accountId: AccountId,
  workflowId: WorkflowId,
  type: Schema.Literal("schedule"),
  ...Timing.fields,
  /** The values of its runs. */
  values: JsonObject,
  version: TriggerVersion,
  enabled: Schema.Boolean,
  catchUp: CatchUp,
  overlap: Overlap,
  /** The webhook of its runs, which is also told of missed times; `null`: none. */
  webhook: Schema.NullOr(ScheduleWebhook),
  /** Its runs start later by a part of these seconds, always the same; see {@link jitterOf}. */
  jitterSeconds: seconds(0, mostJitterSeconds),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  /** The next time; `null` if there is none, or it is switched off. */
  nextAt: Schema.NullOr(Timestamp),
  /** The time before it that waits for the end of a run. */
  waitingAt: Schema.NullOr(Timestamp),
  ...TriggerFacts.fields,
  /** When a process may take it: with the next time, to look after a run, or when a lease ends. */
  dueAt: Schema.NullOr(Timestamp),
  /** Raised by every change and every claim; a write with an older one is refused. */
  fence: Schema.Int,
})
export type Schedule = typeof Schedule.Type

/** What starts runs of a workflow by itself. */
export type Trigger = Schedule | InboundWebhook | RunEndTrigger

/** Characters of an id behind the time that it begins with: the random part of a UUID. */
const randomPart = 22

/**
 * By how much the runs of a schedule start later than its times, in milliseconds. It follows from
 * the id: so schedules of one time are spread, and each keeps its distance.
 */
export const jitterOf = ({ id, jitterSeconds }: Pick<Schedule, "id" | "jitterSeconds">): number => {
  let hash = 0
  for (const character of id.slice(-randomPart)) {
    hash = (Math.imul(hash, 31) + character.charCodeAt(0)) >>> 0
  }
  return jitterSeconds === 0 ? 0 : hash % (jitterSeconds * 1_000)
}

/** When a process may take the trigger for this time. */
export const dueAtOf = (
  trigger: Pick<Schedule, "id" | "jitterSeconds">,
  at: Timestamp | null,
): Timestamp | null => (at === null ? null : at + jitterOf(trigger))

/**
 * The id of the run that a trigger starts for a time. It is always the same, so a store, which has
 * an id once only, cannot be made to start the run twice. It sorts by time as every id does.
 */
export const runIdAt = (id: TriggerId, at: Timestamp): RunId => {
  const time = at.toString(16).padStart(12, "0")
  return RunId.make(`run_${time.slice(0, 8)}-${time.slice(8)}-${id.slice(-randomPart)}`)
}
