#!/usr/bin/env node
/**
 * The process `millrace`: runs the command line, stops on Ctrl-C and SIGTERM, and says by its exit
 * code how it ended: 0 done or stopped, 1 failed, 2 a mistake on the command line.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"
import { run } from "./CommandLine.ts"

/** What nobody foresaw is shown whole; refusals were printed already. */
const report = (cause: Cause.Cause<unknown>) =>
  Cause.hasDies(cause) ? Console.error(Cause.pretty(cause)) : Effect.void

NodeRuntime.runMain(run.pipe(Effect.tapCause(report), Effect.provide(NodeServices.layer)), {
  disableErrorReporting: true,
  teardown: (exit, onExit) =>
    Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)
      ? onExit(0)
      : Runtime.defaultTeardown(exit, onExit),
})
