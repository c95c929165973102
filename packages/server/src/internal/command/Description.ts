/**
 * The help text of a command.
 */
import * as Command from "effect/cli/Command"

/** The texts of one command. */
export interface Words {
  /** One line, for a list of commands. */
  readonly short: string
  /** For the command's own help; `short` if absent. */
  readonly long?: string
  /** Command lines, each with what it does. */
  readonly examples?: Readonly<Record<string, string>>
}

/** Adds the texts to a command. */
export const describe =
  ({ examples = {}, long, short }: Words) =>
  <N extends string, I, C, E, R>(command: Command.Command<N, I, C, E, R>) =>
    command.pipe(
      Command.withShortDescription(short),
      long === undefined ? (same) => same : Command.withDescription(long),
      Command.withExamples(
        Object.entries(examples).map(([typed, description]) => ({ command: typed, description })),
      ),
    )

/** A command of commands that work in all three places. */
export const commandGroup = <const S extends ReadonlyArray<Command.Command.SubcommandEntry>>(
  name: string,
  short: string,
  commands: S,
  what: string = short,
) =>
  Command.make(name).pipe(
    describe({
      short,
      long: `${what}: in a database, in a folder of millrace dev, or on a running server.`,
    }),
    Command.withSubcommands(commands),
  )
