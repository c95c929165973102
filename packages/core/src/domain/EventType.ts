/**
 * The types of events: those of a run (specification 6.1), and those of a schedule.
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

/** The event of times of a schedule that have started no run. It belongs to no run. */
export const missedEvent = "schedule.missed"

/** What the receiver of a schedule can be told of: the events of its runs, and missed times. */
export const ScheduleEventType = Schema.Literals([...RunEventType.literals, missedEvent])
export type ScheduleEventType = typeof ScheduleEventType.Type
