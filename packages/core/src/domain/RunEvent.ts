/**
 * Events of a run, numbered from 1 without gaps (specification, part 6).
 *
 * Guarantees: written in the same atomic step as the change they tell of, so none is lost and none
 * is invented. Leaves out: sending them anywhere.
 */
import { Schema } from "effect"
import { RunId, WorkflowId } from "./Id.ts"
import { JsonObject } from "./Json.ts"
import { Timestamp } from "./Timestamp.ts"

/** The types of events (specification 6.1). */
export const RunEventType = Schema.Literals([
  "run.started",
  "run.completed",
  "run.failed",
  "run.canceled",
  "node.completed",
  "node.failed",
])
export type RunEventType = typeof RunEventType.Type

/** One event. It tells of a success exactly when `error` is `null`. */
export const RunEvent = Schema.Struct({
  runId: RunId,
  workflowId: WorkflowId,
  sequence: Schema.Int,
  type: RunEventType,
  at: Timestamp,
  error: Schema.NullOr(Schema.String),
  /** `status` always; nodes add `nodeId`, `nodeType`, `attempt`; ends add counts and credits. */
  data: JsonObject,
})
export type RunEvent = typeof RunEvent.Type
