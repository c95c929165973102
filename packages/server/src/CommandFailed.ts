/**
 * Why a command failed, as one line for the person who typed it.
 */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** The exit codes of a process that failed. */
export const exitCodes = { failed: 1, usage: 2 } as const

/** The command failed. `message` says in one line what failed, why, and what to do. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  reason: Schema.Literals(["failed", "usage"]),
}) {
  override readonly [Runtime.errorExitCode]: number = exitCodes[this.reason]
}
