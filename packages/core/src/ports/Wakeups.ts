/**
 * The port that tells other processes that there may be a run to claim, so they need not wait for
 * their next poll.
 *
 * Guarantees: nothing; a wakeup is a hint. A lost one delays a run until the next poll. A needless
 * one costs a claim. Leaves out: the channel, which the store's package provides.
 */
import type { Effect, Scope } from "effect"

/** A channel between the processes that share a store. */
export interface Wakeups {
  /** Tells the other processes that there may be a run to claim. Never fails, never waits. */
  readonly announce: Effect.Effect<void>
  /** Calls `listener` whenever another process may have announced a run, until the scope closes. */
  readonly listen: (listener: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** True while this process hears others. Otherwise only its polls find what they announce. */
  readonly isHeard: () => boolean
}
