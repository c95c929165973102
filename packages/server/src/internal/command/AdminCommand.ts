/**
 * A command that works on accounts: on a server, in a database or in a folder.
 *
 * Leaves out: the work, which is in the folder `admin` and is loaded when the command runs.
 */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Failure, Session } from "../admin/AdminSession.ts"
import { resolveTarget } from "../config/ConfigTarget.ts"
import type { Words } from "./Description.ts"
import { describe } from "./Description.ts"
import * as Flags from "./Flags.ts"

/** The work of a command, or the reason why it was not done. */
type Work = Effect.Effect<unknown, Failure, Scope.Scope | Command.Environment>

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
        const target = yield* resolveTarget(place)
        const [{ run }, tasks] = yield* Effect.promise(() =>
          Promise.all([import("../admin/AdminSession.ts"), load()]),
        )
        const own = typed as Command.Command.Config.Infer<Own>
        yield* run(target, place.json, (session) => work(tasks, session, own))
      }),
    ).pipe(describe(words))
