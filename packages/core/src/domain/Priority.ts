/**
 * The order among the waiting runs of one account.
 *
 * Guarantees: no run waits for ever because of others. A run has its place from the moment it is
 * queued, so what is queued more than twenty minutes later is never claimed before it. Leaves out:
 * turns between accounts, which know no priority.
 */
import { Schema } from "effect"
import { highestPriority, priorityMillis } from "./Limits.ts"
import type { Timestamp } from "./Timestamp.ts"

/** The priority of a run: a higher one is claimed earlier; 0 is the usual one. */
export const Priority = Schema.Int.check(
  Schema.isBetween({ minimum: -highestPriority, maximum: highestPriority }),
)

/** The place in the queue of a run that may be claimed from some time on: the lowest is first. */
export const placeOf = (readyAt: Timestamp, priority: number): number =>
  readyAt - priority * priorityMillis
