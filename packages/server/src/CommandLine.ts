/**
 * The command `millrace`: what can be typed, and what is said about it. Loads little, so that help
 * and mistakes are answered at once; what a command does is loaded when it runs.
 *
 * Leaves out: what flags mean together with the environment; that is the configuration's.
 */
import * as CliConfig from "effect/cli/CliConfig"
import type * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { DevFlags } from "./Config.ts"
import { defaults, readPort, resolveDev } from "./Config.ts"
import { StartRefused } from "./StartRefused.ts"
import { version } from "./Version.ts"

const portOf = (text: string) => Option.fromUndefinedOr(readPort(text))

const port = Flag.String("port").pipe(
  Flag.filterMap(portOf, () => "Expected a port from 0 to 65535"),
  Flag.withMetavar("port"),
  Flag.optional,
  Flag.withDescription(
    `Port to listen on; 0 takes any free one (MILLRACE_PORT, default ${defaults.port})`,
  ),
)

const host = Flag.String("host").pipe(
  Flag.withMetavar("address"),
  Flag.optional,
  Flag.withDescription(`Address to listen on (MILLRACE_HOST, default ${defaults.host})`),
)

const data = Flag.String("data").pipe(
  Flag.optional,
  Flag.withMetavar("folder"),
  Flag.withDescription(
    `Folder of the embedded store, made when missing (MILLRACE_DATA, default ${defaults.data})`,
  ),
)

const memory = Flag.Boolean("memory").pipe(
  Flag.withoutNegation,
  Flag.optional,
  Flag.withDescription("Keep everything in memory only (MILLRACE_MEMORY=true)"),
)

const noSeed = Flag.Boolean("no-seed").pipe(
  Flag.withoutNegation,
  Flag.optional,
  Flag.withDescription("Make no example workflows and run no demonstration (MILLRACE_SEED=false)"),
)

const devFlags = { port, host, data, memory, noSeed }

interface Typed {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly data: Option.Option<string>
  readonly memory: Option.Option<boolean>
  readonly noSeed: Option.Option<boolean>
}

/** What was typed; a flag that wants memory rules out one that names a folder. */
const flagsOf = (typed: Typed): Effect.Effect<DevFlags, StartRefused> => {
  const inMemory = Option.contains(typed.memory, true)
  if (inMemory && Option.isSome(typed.data)) {
    const message = "--memory keeps nothing, so it cannot be used together with --data"
    return Effect.fail(new StartRefused({ message, reason: "usage" }))
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

const dev = Command.make(
  "dev",
  devFlags,
  Effect.fnUntraced(function* (typed) {
    const settings = yield* Effect.flatMap(flagsOf(typed), resolveDev)
    const logLevel = Option.getOrElse(yield* GlobalFlag.LogLevel, () => "Warn" as const)
    const { dev: run } = yield* Effect.promise(() => import("./Dev.ts"))
    yield* run(settings, logLevel)
  }),
).pipe(
  Command.withShortDescription("Run a server for development, with everything in one process"),
  Command.withDescription(
    "Run a server for development: store, engine and HTTP interface in one process, with an API " +
      "key and example workflows on the first start. Not for the internet.",
  ),
  Command.withExamples([
    { command: "millrace dev", description: `Keep everything in ${defaults.data}` },
    { command: "millrace dev --port 8080 --data /tmp/flows", description: "Elsewhere" },
    { command: "millrace dev --memory --no-seed", description: "Empty, and forgotten at the end" },
  ]),
)

/** The whole command, with its subcommands. */
const millrace = Command.make("millrace").pipe(
  Command.withDescription("An engine for workflows that people draw"),
  Command.withSubcommands([dev]),
)

/** The first line of a message, and what it suggests. */
const lineOf = (error: CliError.CliError): string => {
  const [first = ""] = error.message.split("\n")
  const nearest = "suggestions" in error ? error.suggestions.join(" or ") : ""
  return nearest === "" ? first : `${first}; did you mean ${nearest}?`
}

/** Help on standard output; mistakes as one line each and a hint on standard error. */
const presenter = CliOutput.layerPresenter({
  present: (event) => {
    if (event._tag === "Version") return Console.log(event.version)
    if (event._tag !== "InvalidInvocation") return CliOutput.defaultPresenter.present(event)
    const hint = `Run ${event.commandPath.join(" ")} --help to see what there is`
    return Effect.forEach([...event.errors.map(lineOf), hint], (line) => Console.error(line), {
      discard: true,
    })
  },
})

const builtIns = CliConfig.layer({
  builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions, GlobalFlag.LogLevel],
})

/** A mistake on the command line was explained already; only the exit code is left to say. */
const refuseUsage = (error: CliError.ShowHelp) =>
  error.errors.length === 0
    ? Effect.void
    : Effect.fail(new StartRefused({ message: "", reason: "usage" }))

/** Runs the command with the arguments of this process. Refusals are printed as one line. */
export const run = Command.run(millrace, { version }).pipe(
  Effect.catchTag("ShowHelp", refuseUsage),
  Effect.tapErrorTag("StartRefused", ({ message }) =>
    message === "" ? Effect.void : Console.error(message),
  ),
  Effect.provide(Layer.merge(presenter, builtIns)),
)
