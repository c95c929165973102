/**
 * Triggers on the wire: what starts runs of a workflow by itself.
 *
 * Leaves out: when a cron text is due; the engine says that.
 */
import { JsonObject } from "@millrace/core/domain/Json"
import { timesShown } from "@millrace/core/domain/Limits"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { InboundWebhook as StoredWebhook } from "@millrace/core/domain/InboundWebhook"
import { RunEndTrigger as StoredRunEnd } from "@millrace/core/domain/RunEndTrigger"
import { Schedule as StoredSchedule } from "@millrace/core/domain/Trigger"
import { ReceivedRequest } from "@millrace/core/domain/WebhookTest"
import {
  ScheduleWebhook as StoredScheduleWebhook,
  ScheduleWebhookConfig,
  WebhookConfig,
} from "@millrace/core/domain/Webhook"
import { Schema } from "effect"
import { body, object, optional } from "./Words.ts"
import { Identifier, isStorable } from "../Text.ts"

const stored = StoredSchedule.fields
const storedWebhook = StoredWebhook.fields
const storedRunEnd = StoredRunEnd.fields

const words = {
  cron: "A cron text of 5 fields, of 6 with seconds first, or of 7 with years last.",
  everySeconds: "In the place of `cron`: seconds from one time to the next, from `startAt` on.",
  timezone: "The time zone of `cron`, such as `Europe/Berlin`; `UTC` by default.",
  startAt: "No run is started before.",
  endAt: "No run is started then or later.",
  values: "The values of its runs.",
  version:
    "What its runs take: `draft`, or the version of a number. `null`, which is the default: the " +
    "published version, or the draft where none is published.",
  enabled: "Whether it starts runs; `true` by default.",
  catchUp:
    "What becomes of times that are more than a minute late, because no server was there: `none` " +
    "is started, which is the default; the `last` one, if none after it is in time; `all`.",
  overlap:
    "What becomes of a time while the last run of this trigger goes on: `allow`, which is the " +
    "default, starts one all the same; `skip` starts none; `queue` has the time wait for the end " +
    "of that run, one time at most, and starts none for those after it; `cancelOther` cancels " +
    "that run first.",
  webhook: "Gets the events of its runs; null, which is the default, for none.",
  webhookOfSchedule:
    "Gets the events of its runs, and `schedule.missed` when times have started no run; null, " +
    "which is the default, for none.",
  jitterSeconds:
    "Runs start later than their times by a part of these seconds, always the same for this " +
    "trigger, so that not all triggers of one time start at once; 0 by default.",
}

const webhookWords = {
  methods: "The methods that it answers; `POST` by default.",
  verify:
    "How a request shows that it comes from its sender. `none`, which is the default: who knows " +
    "the address may send. `bearer`: `Authorization: Bearer` with the value of the secret. " +
    "`hmac`: a header has an HMAC of what is `signed`, a text with `{body}` and, if there is a " +
    "`timestampHeader`, `{timestamp}`. `standard`: the headers of Standard Webhooks. The secret " +
    "is named, and is one of the account.",
  networks: "The networks, such as `192.0.2.0/24`, from which requests may come; all by default.",
  respond:
    "`at_once`, which is the default: 202 with the run's id. `output`: 200 with the run's output " +
    "if it ends within 30 seconds, and else 202.",
  into:
    "Where the value of each field of the Request node stands in a request: `body`, " +
    "`body.order.id`, `query.page`, `headers.x-github-event`, `method`. By default each field " +
    "gets the field of the body that has its name. Of a trigger that follows runs: `runId`, " +
    "`workflowId`, `workflowName`, `status`, `errorMessage`, `finishedAt`, `output` or " +
    "`output.order.id` of the run that has ended; by default each field gets what has its name.",
  dedupeHeader:
    "The header by which a sender names a message: requests with the same value start one run " +
    "within 24 hours. `webhook-id` by default where `verify` is `standard`, and else none.",
  dedupeBy:
    "The same by a text with places of the request, such as `{{ body.order.id }}`, in the place " +
    "of a header; none by default. A request without one of the values starts a run of its own.",
}

const runEndWords = {
  watch: "The workflow whose runs it follows: another one, of the same account.",
  on:
    "The ends that start a run: `COMPLETED`, which is the default, `FAILED`, `CANCELED`. Runs of " +
    "single nodes and child runs are not followed.",
}

/** The fields that a client sets. */
const settings = {
  cron: Schema.NullOr(stored.cron.members[0].check(isStorable)),
  everySeconds: stored.everySeconds,
  timezone: stored.timezone.check(isStorable),
  startAt: stored.startAt,
  endAt: stored.endAt,
  values: JsonObject,
  version: stored.version,
  enabled: stored.enabled,
  catchUp: stored.catchUp,
  overlap: stored.overlap,
  jitterSeconds: stored.jitterSeconds,
}

/** The fields of a webhook that a client sets. */
const webhookSettings = {
  methods: storedWebhook.methods,
  verify: storedWebhook.verify,
  networks: storedWebhook.networks,
  respond: storedWebhook.respond,
  into: storedWebhook.into,
  dedupeHeader: storedWebhook.dedupeHeader,
  dedupeBy: storedWebhook.dedupeBy,
}

const keptWebhook = StoredScheduleWebhook.fields

/** The webhook of a trigger, as it is shown. */
export const ShownWebhook = object("ShownWebhook", {
  url: keptWebhook.url,
  events: keptWebhook.events.annotate({ description: "Which events are sent; null for all." }),
  scope: keptWebhook.scope,
  metadata: keptWebhook.metadata,
})

const shownWebhook = Schema.NullOr(ShownWebhook).annotate({
  description: "Gets the events of its runs. Its headers are not shown.",
})

/** An inbound webhook. */
export const InboundWebhook = object("InboundWebhook", {
  id: stored.id,
  workflowId: stored.workflowId,
  type: storedWebhook.type,
  ...webhookSettings,
  values: JsonObject,
  version: storedWebhook.version,
  webhook: shownWebhook,
  enabled: stored.enabled,
  createdAt: stored.createdAt,
  updatedAt: stored.updatedAt,
  path: optional(
    Schema.String,
    "The path of its address, below the path at which the interface is mounted. Whoever knows it " +
      "may send. Only the answer that makes the address shows it.",
  ),
})
export type InboundWebhook = typeof InboundWebhook.Type

/** A trigger that starts a run when a run of another workflow ends. */
export const RunEndTrigger = object("RunEndTrigger", {
  id: stored.id,
  workflowId: stored.workflowId,
  type: storedRunEnd.type,
  watch: storedRunEnd.watch,
  on: storedRunEnd.on,
  into: storedRunEnd.into,
  values: JsonObject,
  version: storedRunEnd.version,
  webhook: shownWebhook,
  enabled: stored.enabled,
  createdAt: stored.createdAt,
  updatedAt: stored.updatedAt,
  lastAt: stored.lastAt.annotate({
    description: "When the run ended that it has followed last.",
  }),
  lastRunId: stored.lastRunId.annotate({ description: "The run that it has started last." }),
  missed: stored.missed.annotate({ description: "How many ends have started no run." }),
  lastMissedAt: stored.lastMissedAt.annotate({ description: "The last of them." }),
  lastError: stored.lastError.annotate({ description: "Why, in one sentence." }),
})
export type RunEndTrigger = typeof RunEndTrigger.Type

/** A schedule in a listing. */
export const ScheduleItem = object("ScheduleItem", {
  id: stored.id,
  workflowId: stored.workflowId,
  type: stored.type,
  ...settings,
  webhook: Schema.NullOr(ShownWebhook).annotate({
    description: "Gets the events of its runs, and of missed times. Its headers are not shown.",
  }),
  createdAt: stored.createdAt,
  updatedAt: stored.updatedAt,
  nextAt: stored.nextAt.annotate({
    description: "The next time; null if it is switched off, or there is none.",
  }),
  waitingAt: stored.waitingAt.annotate({
    description: "The time that waits for the end of the last run; null if none does.",
  }),
  lastAt: stored.lastAt.annotate({ description: "The time that started a run last." }),
  lastRunId: stored.lastRunId.annotate({ description: "That run." }),
  missed: stored.missed.annotate({ description: "How many times have started no run." }),
  lastMissedAt: stored.lastMissedAt.annotate({ description: "The last of them." }),
  lastError: stored.lastError.annotate({ description: "Why, in one sentence." }),
})

/** A trigger in a listing. */
export const TriggerItem = Schema.Union([ScheduleItem, InboundWebhook, RunEndTrigger])
export type TriggerItem = typeof TriggerItem.Type

/** A schedule with its next times. */
export const Schedule = object("Schedule", {
  ...ScheduleItem.fields,
  nextTimes: Schema.Array(Timestamp).annotate({ description: `The next ${timesShown} times.` }),
})

/** A trigger; a schedule with its next times. */
export const Trigger = Schema.Union([Schedule, InboundWebhook, RunEndTrigger])
export type Trigger = typeof Trigger.Type

/** The triggers of a workflow. */
export const Triggers = object("Triggers", { items: Schema.Array(TriggerItem) })

/** What arrived at the test address of a webhook. */
export const WebhookTest = object("WebhookTest", {
  expiresAt: Schema.NullOr(Timestamp).annotate({
    description: "When the test address stops answering; null if there is none.",
  }),
  requests: Schema.Array(object("ReceivedRequest", ReceivedRequest.fields)).annotate({
    description: "The last 20 requests, the newest first.",
  }),
  path: optional(
    Schema.String,
    "The path of the test address. Only the answer that makes the address shows it.",
  ),
})
export type WebhookTest = typeof WebhookTest.Type

/** Whether the triggers of an account are paused. */
export const TriggerPause = object("TriggerPause", {
  pausedAt: Schema.NullOr(Timestamp).annotate({
    description: "Since when all triggers are paused; null if they are not.",
  }),
})
export type TriggerPause = typeof TriggerPause.Type

const ofAll = {
  values: optional(settings.values, words.values),
  version: optional(settings.version, words.version),
  enabled: optional(settings.enabled, words.enabled),
}

const ofSchedule = {
  cron: optional(settings.cron, words.cron),
  everySeconds: optional(settings.everySeconds, words.everySeconds),
  timezone: optional(settings.timezone, words.timezone),
  startAt: optional(settings.startAt, words.startAt),
  endAt: optional(settings.endAt, words.endAt),
  catchUp: optional(settings.catchUp, words.catchUp),
  overlap: optional(settings.overlap, words.overlap),
  jitterSeconds: optional(settings.jitterSeconds, words.jitterSeconds),
  webhook: optional(Schema.NullOr(ScheduleWebhookConfig), words.webhookOfSchedule),
}

const ofWebhook = {
  methods: optional(webhookSettings.methods, webhookWords.methods),
  verify: optional(webhookSettings.verify, webhookWords.verify),
  networks: optional(webhookSettings.networks, webhookWords.networks),
  respond: optional(webhookSettings.respond, webhookWords.respond),
  into: optional(webhookSettings.into, webhookWords.into),
  dedupeHeader: optional(webhookSettings.dedupeHeader, webhookWords.dedupeHeader),
  dedupeBy: optional(webhookSettings.dedupeBy, webhookWords.dedupeBy),
}

/** Places of a request or of a run; the trigger's type says of which. */
const places = Schema.NullOr(Schema.Record(Schema.String, Schema.String))

/** Body of a change of a trigger: the fields to set, those of its type. */
export const UpdateTrigger = body("UpdateTrigger", {
  ...ofAll,
  ...ofSchedule,
  ...ofWebhook,
  watch: optional(storedRunEnd.watch.check(isStorable), runEndWords.watch),
  on: optional(storedRunEnd.on, runEndWords.on),
  into: optional(places, webhookWords.into),
})
export type UpdateTrigger = typeof UpdateTrigger.Type

/** Body of making a schedule: `cron` or `everySeconds`, and any other fields. */
export const CreateSchedule = body("CreateSchedule", {
  type: stored.type,
  ...ofAll,
  ...ofSchedule,
})

/** Tells of the runs of a trigger, and of nothing else. */
const webhook = optional(Schema.NullOr(WebhookConfig), words.webhook)

/** Body of making an inbound webhook. */
export const CreateWebhook = body("CreateWebhook", {
  type: storedWebhook.type,
  ...ofAll,
  ...ofWebhook,
  webhook,
})

/** Body of making a trigger that follows the runs of another workflow. */
export const CreateRunEndTrigger = body("CreateRunEndTrigger", {
  type: storedRunEnd.type,
  watch: Identifier.annotate({ description: runEndWords.watch }),
  ...ofAll,
  on: optional(storedRunEnd.on, runEndWords.on),
  into: optional(storedRunEnd.into, webhookWords.into),
  webhook,
})

/** Body of making a trigger. */
export const CreateTrigger = Schema.Union([CreateSchedule, CreateWebhook, CreateRunEndTrigger])
export type CreateTrigger = typeof CreateTrigger.Type

/** Path parameters of a trigger of a workflow. */
export const TriggerParams = Schema.Struct({ id: Identifier, triggerId: Identifier })
