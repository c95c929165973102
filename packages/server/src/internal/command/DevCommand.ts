/**
 * `millrace dev` on the command line. What it does is loaded when it runs.
 */
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { DevFlags } from "../../Config.ts"
import { defaults, devVariables, resolveDev } from "../../Config.ts"
import * as Flags from "./Flags.ts"
import { CommandFailed } from "../../CommandFailed.ts"

const devFlags = {
  ...Flags.listening,
  data: Flags.ofVariable(
    {
      name: "data",
      metavar: "folder",
      description: "Folder of the embedded store, made when missing",
      fallback: defaults.data,
    },
    devVariables.data,
  ),
  memory: Flags.ofBoolean("memory", "Keep everything in memory only (MILLRACE_MEMORY=true)"),
  noSeed: Flags.ofBoolean(
    "no-seed",
    "Make no example workflows and run no demonstration (MILLRACE_SEED=false)",
  ),
}

interface Typed {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly data: Option.Option<string>
  readonly memory: Option.Option<boolean>
  readonly noSeed: Option.Option<boolean>
}

/** What was typed; a flag that wants memory rules out one that names a folder. */
const flagsOf = (typed: Typed): Effect.Effect<DevFlags, CommandFailed> => {
  const inMemory = Option.contains(typed.memory, true)
  if (inMemory && Option.isSome(typed.data)) {
    const message = "--memory keeps nothing, so it cannot be used together with --data"
    return Effect.fail(new CommandFailed({ message, reason: "usage" }))
  }
  return Effect.succeed({
    port: Option.getOrUndefined(typed.port),
    host: Option.getOrUndefined(typed.host),
    data: Option.getOrUndefined(typed.data),
    // A folder that was typed is wanted more than a variable that says memory.
    memory: inMemory ? true : Option.isSome(typed.data) ? false : undefined,
    seed: Option.contains(typed.noSeed, true) ? false : undefined,
  })
}

/** The command. */
export const dev = Command.make(
  "dev",
  devFlags,
  Effect.fnUntraced(function* (typed) {
    const settings = yield* Effect.flatMap(flagsOf(typed), resolveDev)
    const logLevel = Option.getOrElse(yield* GlobalFlag.LogLevel, () => "Warn" as const)
    const { dev: run } = yield* Effect.promise(() => import("../../Dev.ts"))
    yield* run(settings, logLevel)
  }),
).pipe(
  Command.withShortDescription("Run a server for development, with everything in one process"),
  Command.withDescription(
    "Run a server for development: store, engine and HTTP interface in one process, with an API " +
      "key and example workflows on the first start. Not for the internet. Bounds are set by the " +
      "same variables as those of millrace serve, which lists them in its help.",
  ),
  Command.withExamples([
    { command: "millrace dev", description: `Keep everything in ${defaults.data}` },
    { command: "millrace dev --port 8080 --data /tmp/flows", description: "Elsewhere" },
    { command: "millrace dev --memory --no-seed", description: "Empty, and forgotten at the end" },
  ]),
)
