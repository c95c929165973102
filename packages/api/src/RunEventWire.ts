/**
 * The stream of a run's events: a snapshot first, then each event with its number.
 *
 * Leaves out: what a webhook adds to an event, such as the metadata of its start.
 */
import { RunEvent as StoredEvent, RunEventType } from "@millrace/core/domain/RunEvent"
import { Schema, Struct } from "effect"
import { object } from "./internal/Words.ts"
import { pageOf } from "./PageQuery.ts"
import { NodeRun, RunItem, RunRead } from "./RunWire.ts"

const event = StoredEvent.fields

/** An event (specification 2.10). It tells of a success exactly when `error` is `null`. */
export const RunEvent = object("RunEvent", {
  ...Struct.pick(event, ["sequence", "type"]),
  success: Schema.Boolean,
  ...Struct.pick(event, ["runId", "workflowId", "data", "error"]),
  createdAt: event.at,
})
export type RunEvent = typeof RunEvent.Type

/** A run as it is now, and the number of the last event that it includes. */
export const RunSnapshot = object("RunSnapshot", {
  sequence: event.sequence,
  run: RunRead,
})
export type RunSnapshot = typeof RunSnapshot.Type

/**
 * One item of the stream. A snapshot and a node have no `id`, so a client that connects again
 * continues after the last event that it received.
 */
export const StreamedEvent = Schema.Union([
  Schema.Struct({
    event: Schema.Literal("snapshot"),
    data: Schema.fromJsonString(RunSnapshot),
  }),
  Schema.Struct({
    event: Schema.Literal("node"),
    data: Schema.fromJsonString(NodeRun),
  }),
  Schema.Struct({
    id: Schema.String,
    event: RunEventType,
    data: Schema.fromJsonString(RunEvent),
  }),
])
export type StreamedEvent = typeof StreamedEvent.Type

/** One item of a stream of runs: their first page, then each run that has changed. */
export const LiveEvent = Schema.Union([
  Schema.Struct({
    event: Schema.Literal("page"),
    data: Schema.fromJsonString(pageOf(RunItem)),
  }),
  Schema.Struct({
    event: Schema.Literal("run"),
    data: Schema.fromJsonString(RunItem),
  }),
])
export type LiveEvent = typeof LiveEvent.Type

/** True for the event that ends a run: none comes after it. */
export const isEnd = (type: RunEventType): boolean =>
  type === "run.completed" || type === "run.failed" || type === "run.canceled"

/** The number of an event as text: decimal digits, 0 for the beginning. */
export const SequenceText = Schema.String.check(
  Schema.isPattern(/^(0|[1-9][0-9]{0,8})$/, { expected: "the id of an event of this run" }),
).annotate({ description: "The `id` of the last event that was received; 0 for the beginning." })
