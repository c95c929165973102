/**
 * Why a command did not start, as one line for the person who typed it.
 *
 * Leaves out: what went wrong inside; a start that is refused has done nothing yet.
 */
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"

/** What a process tells its caller when it did not end well. */
export const exitCodes = { failed: 1, usage: 2 } as const

/** The command cannot start. `message` says what, why and what to do, in one line. */
export class CommandFailed extends Schema.TaggedError<CommandFailed>()("StartRefused", {
  message: Schema.String,
  reason: Schema.Literals(["failed", "usage"]),
}) {
  override readonly [Runtime.errorExitCode]: number = exitCodes[this.reason]
}
