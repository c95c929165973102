/**
 * Runs a command as a process. It stops on Ctrl-C and SIGTERM. Its exit code is 0 if it is done or
 * was stopped, 1 if it failed, 2 for a mistake on the command line.
 *
 * Leaves out: the command's work, and printing why it failed.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"

/** Prints a defect with its stack. Expected failures were printed already. */
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
