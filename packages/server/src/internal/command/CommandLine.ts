/**
 * The command `millrace`: its subcommands, flags and help. This module loads little, so help and
 * mistakes are answered at once. The work of a subcommand is loaded when the subcommand runs.
 *
 * Leaves out: how flags and variables combine; `Config` decides that.
 */
import * as CliConfig from "effect/cli/CliConfig"
import type * as CliError from "effect/cli/CliError"
import * as CliOutput from "effect/cli/CliOutput"
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { accounts } from "./AccountsCommand.ts"
import { credits } from "./CreditsCommand.ts"
import { dev } from "./DevCommand.ts"
import { doctor } from "./DoctorCommand.ts"
import { keys } from "./KeysCommand.ts"
import { nodes } from "./NodesCommand.ts"
import { open } from "./OpenCommand.ts"
import { quarantine } from "./QuarantineCommand.ts"
import { runs } from "./RunsCommand.ts"
import { secrets } from "./SecretsCommand.ts"
import { serve } from "./ServeCommand.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import { version } from "../Version.ts"
import { webhooks } from "./WebhooksCommand.ts"
import { workflows } from "./WorkflowsCommand.ts"

/** The whole command, with its subcommands. */
export const command = Command.make("millrace").pipe(
  Command.withDescription("An engine for workflows that people draw"),
  Command.withSubcommands([
    dev,
    serve,
    open,
    nodes,
    runs,
    workflows,
    keys,
    accounts,
    credits,
    secrets,
    webhooks,
    quarantine,
    doctor,
  ]),
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
    const hint = `Run ${event.commandPath.join(" ")} --help for its commands and flags`
    return Effect.forEach([...event.errors.map(lineOf), hint], (line) => Console.error(line), {
      discard: true,
    })
  },
})

const builtIns = CliConfig.layer({
  builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions, GlobalFlag.LogLevel],
})

/** The presenter has explained the mistake already, so this error has only an exit code. */
const refuseUsage = (error: CliError.ShowHelp) =>
  error.errors.length === 0 ? Effect.void : Effect.fail(CommandFailed.usage(""))

/** Runs the command with the arguments of this process. A failure is printed as one line. */
export const run = Command.run(command, { version }).pipe(
  Effect.catchTag("ShowHelp", refuseUsage),
  Effect.tapErrorTag("CommandFailed", ({ message }) =>
    message === "" ? Effect.void : Console.error(message),
  ),
  Effect.provide(Layer.merge(presenter, builtIns)),
)
