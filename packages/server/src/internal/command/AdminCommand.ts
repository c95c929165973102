/**
 * A command that works on accounts, wherever they are. What it does is loaded when it runs.
 *
 * Leaves out: what it does; that is in the folder `admin`.
 */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Failure, Session } from "../admin/Session.ts"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"

/** What is said of a command. */
interface Words {
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

/** What a command does, or why it does nothing. */
type Work = Effect.Effect<unknown, Failure, Scope.Scope>

/** Makes commands whose work is in one module. */
export const commandsOf =
  <Tasks>(load: () => Promise<Tasks>) =>
  <const Name extends string, const Own extends Command.Command.Config>(
    name: Name,
    words: Words,
    flags: Own,
    work: (tasks: Tasks, session: Session, typed: Command.Command.Config.Infer<Own>) => Work,
  ) =>
    Command.make(name, { typed: flags, place: Flags.target }, ({ place, typed }) =>
      Effect.gen(function* () {
        const target = yield* resolveTarget(Flags.targetFlagsOf(place))
        const [{ run }, tasks] = yield* Effect.promise(() =>
          Promise.all([import("../admin/Session.ts"), load()]),
        )
        const own = typed as Command.Command.Config.Infer<Own>
        yield* run(target, place.json, (session) => work(tasks, session, own))
      }),
    ).pipe(describe(words))

/** Where all of these commands work. */
export const everywhere = (what: string): string =>
  `${what}: in a database, in a folder of millrace dev, or on a running server.`
