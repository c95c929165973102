/**
 * A command as a process: it stops on Ctrl-C and SIGTERM, and says by its exit code how it ended:
 * 0 done or stopped, 1 failed, 2 a mistake on the command line.
 *
 * Leaves out: what the command does, and printing why it was refused.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"

/** What nobody foresaw is shown whole; refusals were printed already. */
const report = (cause: Cause.Cause<unknown>) =>
  Cause.hasDies(cause) ? Console.error(Cause.pretty(cause)) : Effect.void

/** Runs a command, and ends the process with it. */
export const launch = <E>(command: Effect.Effect<unknown, E, NodeServices.NodeServices>): void =>
  NodeRuntime.runMain(command.pipe(Effect.tapCause(report), Effect.provide(NodeServices.layer)), {
    disableErrorReporting: true,
    teardown: (exit, onExit) =>
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
        ? onExit(0)
        : Runtime.defaultTeardown(exit, onExit),
  })
