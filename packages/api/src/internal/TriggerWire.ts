/**
 * Triggers on the wire: what starts runs of a workflow by itself.
 *
 * Leaves out: when a cron text is due; the engine says that.
 */
import { JsonObject } from "@millrace/core/domain/Json"
import { timesShown } from "@millrace/core/domain/Limits"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Trigger as Stored } from "@millrace/core/domain/Trigger"
import { Schema } from "effect"
import { body, object, optional } from "./Words.ts"
import { Identifier, isStorable } from "../Text.ts"

const stored = Stored.fields

const words = {
  cron: "A cron text of 5 fields, of 6 with seconds first, or of 7 with years last.",
  everySeconds: "In the place of `cron`: seconds from one time to the next, from `startAt` on.",
  timezone: "The time zone of `cron`, such as `Europe/Berlin`; `UTC` by default.",
  startAt: "No run is started before.",
  endAt: "No run is started then or later.",
  values: "The values of its runs.",
  enabled: "Whether it starts runs; `true` by default.",
  catchUp:
    "What becomes of times that are more than a minute late, because no server was there: `none` " +
    "is started, which is the default; the `last` one, if none after it is in time; `all`.",
  overlap:
    "Whether a run is started while the last one of this trigger goes on: `allow`, which is the " +
    "default, or `skip`.",
  jitterSeconds:
    "Runs start later than their times by a part of these seconds, always the same for this " +
    "trigger, so that not all triggers of one time start at once; 0 by default.",
}

/** The fields that a client sets. */
const settings = {
  cron: Schema.NullOr(stored.cron.members[0].check(isStorable)),
  everySeconds: stored.everySeconds,
  timezone: stored.timezone.check(isStorable),
  startAt: stored.startAt,
  endAt: stored.endAt,
  values: JsonObject,
  enabled: stored.enabled,
  catchUp: stored.catchUp,
  overlap: stored.overlap,
  jitterSeconds: stored.jitterSeconds,
}

/** A trigger in a listing. */
export const TriggerItem = object("TriggerItem", {
  id: stored.id,
  workflowId: stored.workflowId,
  type: stored.type,
  ...settings,
  createdAt: stored.createdAt,
  updatedAt: stored.updatedAt,
  nextAt: stored.nextAt.annotate({
    description: "The next time; null if it is switched off, or there is none.",
  }),
  lastAt: stored.lastAt.annotate({ description: "The time that started a run last." }),
  lastRunId: stored.lastRunId.annotate({ description: "That run." }),
  missed: stored.missed.annotate({ description: "How many times have started no run." }),
  lastMissedAt: stored.lastMissedAt.annotate({ description: "The last of them." }),
  lastError: stored.lastError.annotate({ description: "Why, in one sentence." }),
})
export type TriggerItem = typeof TriggerItem.Type

/** A trigger with its next times. */
export const Trigger = object("Trigger", {
  ...TriggerItem.fields,
  nextTimes: Schema.Array(Timestamp).annotate({ description: `The next ${timesShown} times.` }),
})
export type Trigger = typeof Trigger.Type

/** The triggers of a workflow. */
export const Triggers = object("Triggers", { items: Schema.Array(TriggerItem) })

/** Body of a change of a trigger: the fields to set. */
export const UpdateTrigger = body("UpdateTrigger", {
  cron: optional(settings.cron, words.cron),
  everySeconds: optional(settings.everySeconds, words.everySeconds),
  timezone: optional(settings.timezone, words.timezone),
  startAt: optional(settings.startAt, words.startAt),
  endAt: optional(settings.endAt, words.endAt),
  values: optional(settings.values, words.values),
  enabled: optional(settings.enabled, words.enabled),
  catchUp: optional(settings.catchUp, words.catchUp),
  overlap: optional(settings.overlap, words.overlap),
  jitterSeconds: optional(settings.jitterSeconds, words.jitterSeconds),
})
export type UpdateTrigger = typeof UpdateTrigger.Type

/** Body of making a trigger: `cron` or `everySeconds`, and any other fields. */
export const CreateTrigger = body("CreateTrigger", {
  type: stored.type,
  ...UpdateTrigger.fields,
})
export type CreateTrigger = typeof CreateTrigger.Type

/** Path parameters of a trigger of a workflow. */
export const TriggerParams = Schema.Struct({ id: Identifier, triggerId: Identifier })
