/**
 * What the help says of a command.
 */
import * as Command from "effect/cli/Command"

/** What is said of a command. */
export interface Words {
  readonly short: string
  /** The short words where there are none. */
  readonly long?: string
  /** What to type, and what that does. */
  readonly examples?: Readonly<Record<string, string>>
}

/** Adds the words to a command. */
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

/** Where all of these commands work. */
export const everywhere = (what: string): string =>
  `${what}: in a database, in a folder of millrace dev, or on a running server.`
