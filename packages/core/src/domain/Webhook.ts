/**
 * Webhooks: the address that gets the events of a run (specification 2.9), and the bounds of a
 * webhook.
 *
 * Leaves out: judging addresses, and encrypting headers.
 */
import { Schema } from "effect"
import { RunEventType } from "./EventType.ts"
import type { Json } from "./Json.ts"
import { JsonObject } from "./Json.ts"
import { webhookMetadataBytes, webhookUrlLength } from "./Limits.ts"
import { isAtMost } from "./TextLength.ts"

const bytesOf = (value: Json): number => new TextEncoder().encode(JSON.stringify(value)).length

const isSmall = Schema.makeFilter((value: JsonObject) => bytesOf(value) <= webhookMetadataBytes, {
  expected: `at most ${webhookMetadataBytes} bytes of JSON`,
})

/** The webhook of a start (specification 2.9). */
export const WebhookConfig = Schema.Struct({
  url: Schema.String.annotate({
    description: "An https address that receives POST requests.",
    format: "uri",
  }).check(isAtMost(webhookUrlLength)),
  events: Schema.optionalKey(
    Schema.Array(RunEventType)
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
}).annotate({ identifier: "Webhook" })
export interface WebhookConfig {
  readonly url: string
  readonly events?: ReadonlyArray<RunEventType>
  readonly scope?: "run" | "tree"
  readonly metadata?: JsonObject | null
  readonly headers?: Readonly<Record<string, string>>
}

/** A webhook as a run keeps it: checked, and its headers sealed. */
export const Webhook = Schema.Struct({
  /** The normalized address, which was checked. */
  url: Schema.String,
  /** Scheme, host and port. */
  origin: Schema.String,
  /** The events to send; `null` for all. */
  events: Schema.NullOr(Schema.Array(RunEventType)),
  /** Absent: the events of the run only. */
  scope: Schema.optionalKey(Schema.Literal("tree")),
  metadata: Schema.NullOr(JsonObject),
  /** `null`: none. */
  headers: Schema.NullOr(Schema.String),
})
export type Webhook = typeof Webhook.Type

/** The webhook of the runs that a run with this one starts. */
export const webhookOfChildren = (webhook: Webhook | null): Webhook | null =>
  webhook?.scope === "tree" ? webhook : null
