/**
 * Why a command failed, as one line for the person who typed it.
 */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** The exit codes of a process that failed. */
const exitCodes = { failed: 1, usage: 2 } as const

/** The command failed. `message` says in one line what failed, why, and what to do. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("CommandFailed", {
  message: Schema.String,
  reason: Schema.Literals(["failed", "usage"]),
}) {
  override readonly [Runtime.errorExitCode]: number = exitCodes[this.reason]

  /** The command did not do its work. */
  static failed(message: string): CommandFailed {
    return new CommandFailed({ message, reason: "failed" })
  }

  /** What was typed, or set as a variable, cannot be used. */
  static usage(message: string): CommandFailed {
    return new CommandFailed({ message, reason: "usage" })
  }
}
