/**
 * What became of the starts of a trigger.
 */
import { Schema } from "effect"
import { RunId } from "./Id.ts"
import { Timestamp } from "./Timestamp.ts"

/** What a trigger has started last, and what it has not started. */
export const TriggerFacts = Schema.Struct({
  /** What started a run last: a time of a schedule, or when the run that it follows ended. */
  lastAt: Schema.NullOr(Timestamp),
  lastRunId: Schema.NullOr(RunId),
  /** How many of them have started no run. */
  missed: Schema.Int,
  /** The last of them, and why. */
  lastMissedAt: Schema.NullOr(Timestamp),
  lastError: Schema.NullOr(Schema.String),
})
export type TriggerFacts = typeof TriggerFacts.Type

/** The facts of a trigger that has started nothing. */
export const neverStarted = {
  lastAt: null,
  lastRunId: null,
  missed: 0,
  lastMissedAt: null,
  lastError: null,
  fence: 0,
} satisfies TriggerFacts & { readonly fence: number }

/** The facts of a trigger alone. */
export const factsOf = ({
  lastAt,
  lastError,
  lastMissedAt,
  lastRunId,
  missed,
}: TriggerFacts): TriggerFacts => ({ lastAt, lastError, lastMissedAt, lastRunId, missed })
