/**
 * How a runner keeps and looks for work.
 */
import { Context } from "effect"

/** How a runner keeps and looks for work. */
export interface RunnerOptions {
  /** How long a runner's ownership outlives its last sign of life. */
  readonly leaseMillis: number
  /** How often it looks for runs that nobody executes. */
  readonly pollMillis: number
  /** How many runs one look takes at most. */
  readonly claimLimit: number
  /** How long nodes in progress may go on after the runner was told to stop. */
  readonly graceMillis: number
  /** A process whose timers fire later than this has too much to do to take more. */
  readonly lagMillis: number
}

/** The options in force; override with `Layer.succeed` or `Effect.provideService`. */
export const CurrentRunnerOptions = Context.Reference<RunnerOptions>(
  "@millrace/core/engine/RunnerOptions",
  {
    defaultValue: () => ({
      leaseMillis: 30_000,
      pollMillis: 500,
      claimLimit: 100,
      graceMillis: 10_000,
      lagMillis: 250,
    }),
  },
)
