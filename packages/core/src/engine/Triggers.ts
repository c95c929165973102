/**
 * Makes and changes schedules; finds and removes the triggers of workflows.
 *
 * Guarantees: a schedule that is on has a next time, and a start with its values would be accepted
 * now. A change of when it is due begins now: nothing that passed before is caught up. Leaves out:
 * starting runs, which {@link Schedules} does; and triggers of other types, which have services.
 */
import { Clock, Context, Effect, Layer, Option, Queue, Schema } from "effect"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import { TriggerId } from "../domain/Id.ts"
import { timesShown, timesShownMillis, triggerWriteAttempts } from "../domain/Limits.ts"
import { plain, quoted } from "../domain/Quote.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { Schedule, Timing, Trigger } from "../domain/Trigger.ts"
import type { InboundWebhook } from "../domain/InboundWebhook.ts"
import type { RunEndTrigger } from "../domain/RunEndTrigger.ts"
import { dueAtOf } from "../domain/Trigger.ts"
import { neverStarted } from "../domain/TriggerFacts.ts"
import type { ScheduleWebhookConfig } from "../domain/Webhook.ts"
import type { Calendar } from "../ports/Calendar.ts"
import { CurrentCalendar } from "../ports/Calendar.ts"
import { StorageError } from "../ports/StorageError.ts"
import type { TooManyTriggers, TriggerKey } from "../ports/TriggerStore.ts"
import { TriggerStore } from "../ports/TriggerStore.ts"
import type { Vault } from "../ports/Vault.ts"
import type { WebhookTargets } from "../ports/WebhookTargets.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { Ids } from "./Ids.ts"
import type { Timed } from "./internal/ScheduleTimes.ts"
import { nextOf, nextTime } from "./internal/ScheduleTimes.ts"
import {
  InvalidGraph,
  type InvalidWebhook,
  type VersionNotFound,
  WorkflowNotFound,
} from "./Refusals.ts"
import { Runs } from "./Runs.ts"
import { makeAdmit, webhookWith } from "./Webhooks.ts"

/** What of a trigger its owner sets. */
type Settings = Timing &
  Pick<Schedule, "values" | "version" | "enabled" | "catchUp" | "overlap" | "jitterSeconds">

/** The fields to set of a schedule. A cron text takes the place of an interval, and vice versa. */
export type ScheduleChange = { readonly [K in keyof Settings]?: Settings[K] | undefined } & {
  readonly webhook?: ScheduleWebhookConfig | null | undefined
}

/** A schedule with its next times. */
export interface ShownSchedule extends Schedule {
  /** At most ten. */
  readonly nextTimes: ReadonlyArray<Timestamp>
}

/** A part of the trigger cannot be accepted. The message names every problem. */
export class InvalidTrigger extends Schema.TaggedError<InvalidTrigger>()("InvalidTrigger", {
  message: Schema.String,
}) {}

/** The workflow has no such trigger. */
export class TriggerNotFound extends Schema.TaggedError<TriggerNotFound>()("TriggerNotFound", {
  triggerId: Schema.String,
}) {
  override get message(): string {
    return `Trigger ${plain(this.triggerId)} does not exist`
  }
}

/** Why a trigger is not accepted. */
type Unacceptable =
  | InvalidTrigger
  | InvalidWebhook
  | InvalidGraph
  | WorkflowNotFound
  | VersionNotFound
  | StorageError

export class Triggers extends Context.Service<
  Triggers,
  {
    /** Stores a new schedule. One that is on begins now. */
    readonly create: (
      account: AccountId,
      workflowId: WorkflowId,
      settings: ScheduleChange,
    ) => Effect.Effect<ShownSchedule, Unacceptable | TooManyTriggers>
    /** Sets the given fields. */
    readonly update: (
      key: TriggerKey,
      change: ScheduleChange,
    ) => Effect.Effect<ShownSchedule, Unacceptable | TriggerNotFound>
    readonly remove: (key: TriggerKey) => Effect.Effect<void, TriggerNotFound | StorageError>
    readonly get: (
      key: TriggerKey,
    ) => Effect.Effect<
      ShownSchedule | InboundWebhook | RunEndTrigger,
      TriggerNotFound | StorageError
    >
    /** The triggers of a workflow, the oldest first. */
    readonly list: (
      account: AccountId,
      workflowId: WorkflowId,
    ) => Effect.Effect<ReadonlyArray<Trigger>, WorkflowNotFound | StorageError>
    /**
     * Pauses all triggers of an account: schedules, webhooks and those that follow runs, also those
     * made later. What is due meanwhile starts nothing, now or later, and counts as no miss. Says
     * since when they are paused.
     */
    readonly pause: (account: AccountId) => Effect.Effect<Timestamp, StorageError>
    /** Resumes them: what is due from now on starts runs. */
    readonly resume: (account: AccountId) => Effect.Effect<void, StorageError>
    /** Since when they are paused; `null` if they are not. */
    readonly pausedAt: (account: AccountId) => Effect.Effect<Timestamp | null, StorageError>
    /** Has something whenever this process has made or changed a trigger. */
    readonly changes: Queue.Dequeue<void>
  }
>()("@millrace/core/engine/Triggers") {
  /** Needs the stores of workflows and triggers, and what checks starts and webhooks. */
  static readonly layer: Layer.Layer<
    Triggers,
    never,
    TriggerStore | WorkflowStore | Runs | Ids | WebhookTargets | Vault
  > = Layer.effect(
    Triggers,
    Effect.suspend(() => make),
  )
}

const usual: Settings = {
  cron: null,
  everySeconds: null,
  timezone: "UTC",
  startAt: null,
  endAt: null,
  values: {},
  version: null,
  enabled: true,
  catchUp: "none",
  overlap: "allow",
  jitterSeconds: 0,
}

const given = <T extends object>(change: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  ) as Partial<T>

/** The settings with a change. */
const changed = (settings: Settings, { webhook: _, ...change }: ScheduleChange): Settings => {
  const set = given(change) as Partial<Settings>
  const other = {
    ...(set.cron === undefined || set.cron === null ? {} : { everySeconds: null }),
    ...(set.everySeconds === undefined || set.everySeconds === null ? {} : { cron: null }),
  }
  return { ...settings, ...other, ...set }
}

/** Why a schedule cannot have these times, as clauses. */
const problemsOf = (calendar: Calendar, timed: Timed, now: Timestamp): ReadonlyArray<string> => {
  const { cron, endAt, everySeconds, startAt, timezone } = timed
  if (cron !== null && everySeconds !== null) {
    return ["cron: expected either cron or everySeconds, and got both"]
  }
  if (cron === null && everySeconds === null) return ["cron: expected cron or everySeconds"]
  const text = cron === null ? undefined : calendar.problemOf({ cron, timezone })
  if (text !== undefined) return [text]
  if (startAt !== null && endAt !== null && endAt <= startAt) {
    return ["endAt: expected a time after startAt"]
  }
  return nextOf(calendar, timed, now) === null
    ? [`cron: there is no time at which ${quoted(cron ?? "")} is due`]
    : []
}

const timingOf = ({ cron, enabled, endAt, everySeconds, startAt, timezone }: Settings) =>
  JSON.stringify([cron, everySeconds, timezone, startAt, endAt, enabled])

const servicesOf = Effect.all({
  store: TriggerStore,
  workflows: WorkflowStore,
  runs: Runs,
  ids: Ids,
  clock: Clock.Clock,
  calendar: CurrentCalendar,
  admit: makeAdmit,
  changes: Queue.sliding<void>(1),
})
type Services = Effect.Success<typeof servicesOf>

/** A trigger with its next times; those that are years away are left out, but for the first. */
const shown = ({ calendar, clock }: Services, trigger: Schedule): ShownSchedule => {
  const { nextAt } = trigger
  const until = clock.currentTimeMillisUnsafe() + timesShownMillis
  const times: Array<Timestamp> = []
  let next = nextAt
  while (next !== null && times.length < timesShown && (next === nextAt || next <= until)) {
    times.push(next)
    next = next > until || times.length === timesShown ? null : nextTime(calendar, trigger, next)
  }
  return { ...trigger, nextTimes: times }
}

/** The next time of settings that can be accepted; `null` where it is switched off. */
const checked = Effect.fnUntraced(function* (
  { calendar, runs }: Services,
  trigger: Settings & Pick<Schedule, "accountId" | "workflowId" | "createdAt">,
  now: Timestamp,
) {
  const { accountId, enabled, values, workflowId } = trigger
  const version = trigger.version ?? undefined
  const problems = problemsOf(calendar, trigger, now)
  if (problems.length > 0) return yield* new InvalidTrigger({ message: problems.join("; ") })
  if (!enabled) return null
  const nextAt = nextTime(calendar, trigger, now)
  if (nextAt === null) {
    return yield* new InvalidTrigger({ message: "endAt: there is no time left before it" })
  }
  const found = yield* runs.validate(accountId, { workflowId, version, values })
  if (found.problems.length === 0) return nextAt
  return yield* new InvalidGraph({ problems: found.problems.map(({ message }) => message) })
})

const find = Effect.fnUntraced(function* ({ store }: Services, key: TriggerKey) {
  const found = yield* store.find(key)
  if (Option.isNone(found)) return yield* new TriggerNotFound({ triggerId: key.id })
  return found.value
})

const create = (services: Services): Triggers["Service"]["create"] =>
  Effect.fn("Triggers.create")(function* (accountId, workflowId, settings) {
    const { changes, clock, ids, store } = services
    const now = clock.currentTimeMillisUnsafe()
    const id = TriggerId.make(yield* ids.make("trigger"))
    const whole = { ...changed(usual, settings), accountId, workflowId, createdAt: now }
    const nextAt = yield* checked(services, whole, now)
    const webhook = yield* webhookWith(services.admit, accountId, null, settings.webhook)
    const dueAt = dueAtOf({ ...whole, id }, nextAt)
    const times = { updatedAt: now, nextAt, waitingAt: null, dueAt }
    const beside = { id, type: "schedule" as const, ...times }
    const trigger: Schedule = { ...neverStarted, ...whole, ...beside, webhook }
    if (!(yield* store.insert(trigger))) return yield* new WorkflowNotFound({ workflowId })
    Queue.offerUnsafe(changes, undefined)
    return shown(services, trigger)
  })

const update = (services: Services): Triggers["Service"]["update"] =>
  Effect.fn("Triggers.update")(function* (key, change) {
    const { admit, changes, clock, store } = services
    for (let attempt = 0; attempt < triggerWriteAttempts; attempt++) {
      const stored = yield* find(services, key)
      if (stored.type !== "schedule") return yield* new TriggerNotFound({ triggerId: key.id })
      const now = clock.currentTimeMillisUnsafe()
      const whole = { ...stored, ...changed(stored, change) }
      const next = yield* checked(services, whole, now)
      const webhook = yield* webhookWith(admit, key.accountId, stored.webhook, change.webhook)
      const isSame = timingOf(whole) === timingOf(stored)
      const nextAt = isSame ? stored.nextAt : next
      const waitingAt = isSame ? stored.waitingAt : null
      const dueAt = waitingAt === null ? dueAtOf(whole, nextAt) : now
      const times = { nextAt, waitingAt, dueAt, updatedAt: now }
      const trigger: Schedule = { ...whole, ...times, webhook }
      if (!(yield* store.replace(trigger))) continue
      Queue.offerUnsafe(changes, undefined)
      return shown(services, trigger)
    }
    const cause = new Error(`trigger ${key.id} is started too often to be changed`)
    return yield* new StorageError({ operation: "TriggerStore.replace", cause })
  })

const list = ({ store, workflows }: Services): Triggers["Service"]["list"] =>
  Effect.fn("Triggers.list")(function* (account, workflowId) {
    const found = yield* store.list(account, workflowId)
    if (found.length === 0 && Option.isNone(yield* workflows.find(account, workflowId))) {
      return yield* new WorkflowNotFound({ workflowId })
    }
    return found
  })

const make = Effect.map(servicesOf, (services) =>
  Triggers.of({
    create: create(services),
    update: update(services),
    changes: services.changes,
    get: (key) =>
      Effect.map(find(services, key), (trigger) =>
        trigger.type === "schedule" ? shown(services, trigger) : trigger,
      ),
    remove: Effect.fn("Triggers.remove")(function* (key) {
      if (!(yield* services.store.remove(key))) {
        return yield* new TriggerNotFound({ triggerId: key.id })
      }
    }),
    list: list(services),
    pause: Effect.fn("Triggers.pause")((account) =>
      services.store.pause(account, services.clock.currentTimeMillisUnsafe()),
    ),
    resume: Effect.fn("Triggers.resume")((account) =>
      services.store.resume(account, services.clock.currentTimeMillisUnsafe()),
    ),
    pausedAt: services.store.pausedAt,
  }),
)
