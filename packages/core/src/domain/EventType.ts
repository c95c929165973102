/**
 * The types of a run's events (specification 6.1).
 *
 * Leaves out: the events; runs name the types that their webhooks want, and events name runs.
 */
import { Schema } from "effect"

/** What a client can be told of. */
export const RunEventType = Schema.Literals([
  "run.started",
  "run.completed",
  "run.failed",
  "run.canceled",
  "node.completed",
  "node.failed",
])
export type RunEventType = typeof RunEventType.Type
