/**
 * The timing of a runner.
 */
import { Context } from "effect"

/** The timing of a runner. */
export interface RunnerOptions {
  /** How long a runner owns its runs after its last heartbeat. */
  readonly leaseMillis: number
  /** How often it polls for runs that nobody executes. */
  readonly pollMillis: number
  /** How many runs one claim takes at most. */
  readonly claimLimit: number
  /** How long nodes in progress may go on after the runner was told to stop. */
  readonly graceMillis: number
  /**
   * A process whose timers fire later than this is overloaded and claims nothing. `Infinity`: no
   * process is, and none reports that its event loop was blocked.
   */
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
