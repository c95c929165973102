/**
 * Telling other processes that there is a run for whoever has room, so that none of them waits for
 * its next look.
 *
 * Guarantees: a hint and no more. One that is lost delays a run until somebody looks anyway; one
 * that is heard in vain costs a look. Leaves out: how it travels, which the store's side brings.
 */
import { Context, Effect, type Scope } from "effect"

/** A channel between the processes that share a store. */
export interface Wakeups {
  /** Says that there is something to take. Never fails, and waits for nothing. */
  readonly announce: Effect.Effect<void>
  /** Calls back, as long as the scope is open, whenever somebody else may have said so. */
  readonly listen: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
}

/** The channel in force; without one nobody is told, and everybody looks from time to time. */
export const CurrentWakeups = Context.Reference<Wakeups>("@millrace/core/ports/Wakeups", {
  defaultValue: () => ({ announce: Effect.void, listen: () => Effect.void }),
})
