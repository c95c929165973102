/**
 * Webhooks: the address that gets the events of a run (specification 2.9) or of a schedule, and the
 * bounds of a webhook.
 *
 * Leaves out: judging addresses, and encrypting headers.
 */
import { Schema } from "effect"
import { missedEvent, RunEventType, ScheduleEventType } from "./EventType.ts"
import type { Json } from "./Json.ts"
import { JsonObject } from "./Json.ts"
import { webhookMetadataBytes, webhookUrlLength } from "./Limits.ts"
import { isAtMost } from "./TextLength.ts"

const bytesOf = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).length

const isSmall = Schema.makeFilter((value: JsonObject) => bytesOf(value) <= webhookMetadataBytes, {
  expected: `at most ${webhookMetadataBytes} bytes of JSON`,
})

const configOf = <E extends string>(events: Schema.Codec<E>) =>
  Schema.Struct({
    url: Schema.String.annotate({
      description: "An https address that receives POST requests.",
      format: "uri",
    }).check(isAtMost(webhookUrlLength)),
    events: Schema.optionalKey(
      Schema.Array(events)
        .annotate({ description: "Which events to send; all where nothing is said." })
        .check(Schema.isMinLength(1, { expected: "at least one type of event" })),
    ),
    scope: Schema.optionalKey(
      Schema.Literals(["run", "tree"]).annotate({
        description:
          "`run`, the default: the events of the run. `tree`: also those of the runs that it " +
          "starts, and of theirs.",
      }),
    ),
    metadata: Schema.optionalKey(
      Schema.NullOr(
        Schema.Record(Schema.String, Schema.Any)
          .annotate({ description: "Comes back in every payload; null for none." })
          .check(isSmall),
      ),
    ),
    headers: Schema.optionalKey(
      Schema.Record(Schema.String, Schema.String).annotate({
        description: "Sent along with every request; kept encrypted.",
      }),
    ),
  })

/** What a client says of a webhook that gets events of these types. */
export interface ConfigOf<E extends string> {
  readonly url: string
  readonly events?: ReadonlyArray<E>
  readonly scope?: "run" | "tree"
  readonly metadata?: JsonObject | null
  readonly headers?: Readonly<Record<string, string>>
}

/** The webhook of a start (specification 2.9). */
export const WebhookConfig = configOf(RunEventType).annotate({ identifier: "Webhook" })
export interface WebhookConfig extends ConfigOf<RunEventType> {}

/** The webhook of a schedule: its runs have it, and it is told of the times that are missed. */
export const ScheduleWebhookConfig = configOf(ScheduleEventType).annotate({
  identifier: "ScheduleWebhook",
})
export interface ScheduleWebhookConfig extends ConfigOf<ScheduleEventType> {}

/** A webhook as it is kept: checked, and its headers sealed. */
const keptOf = <E extends string>(events: Schema.Codec<E>) =>
  Schema.Struct({
    /** The normalized address, which was checked. */
    url: Schema.String,
    /** Scheme, host and port. */
    origin: Schema.String,
    /** The events to send; `null` for all. */
    events: Schema.NullOr(Schema.Array(events)),
    /** Absent: the events of the run only. */
    scope: Schema.optionalKey(Schema.Literal("tree")),
    metadata: Schema.NullOr(JsonObject),
    /** `null`: none. */
    headers: Schema.NullOr(Schema.String),
  })

/** A webhook that gets events of these types, as it is kept. */
export type KeptWebhook<E extends string> = ReturnType<typeof keptOf<E>>["Type"]

/** The webhook of a run. */
export const Webhook = keptOf(RunEventType)
export type Webhook = typeof Webhook.Type

/** The webhook of a schedule. */
export const ScheduleWebhook = keptOf(ScheduleEventType)
export type ScheduleWebhook = typeof ScheduleWebhook.Type

/** The webhook of the runs of a schedule with this one. */
export const webhookOfRuns = (webhook: ScheduleWebhook | null): Webhook | null => {
  if (webhook === null) return null
  const { events, ...rest } = webhook
  const ofRuns = events?.filter((type) => type !== missedEvent) ?? null
  return ofRuns?.length === 0 ? null : { ...rest, events: ofRuns }
}

/** The webhook of the runs that a run with this one starts. */
export const webhookOfChildren = (webhook: Webhook | null): Webhook | null =>
  webhook?.scope === "tree" ? webhook : null
