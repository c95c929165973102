/**
 * `millrace serve` on the command line. What it does is loaded when it runs.
 */
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { resolveServe, serveDefaults, serveVariables } from "../../Config.ts"
import * as Flags from "./Flags.ts"
import { limitHelp } from "../config/LimitVariables.ts"

const seconds = (millis: number): string => `${millis / 1_000}s`

const serveFlags = {
  ...Flags.listening,
  ...Flags.database,
  lease: Flags.ofVariable(
    {
      name: "lease",
      metavar: "duration",
      description: "How long runs stay with a server that gives no sign of life",
      fallback: seconds(serveDefaults.leaseMillis),
    },
    serveVariables.leaseMillis,
  ),
  grace: Flags.ofVariable(
    {
      name: "grace",
      metavar: "duration",
      description: "How long nodes in progress may go on once the server is told to stop",
      fallback: seconds(serveDefaults.graceMillis),
    },
    serveVariables.graceMillis,
  ),
  requestTimeout: Flags.ofVariable(
    {
      name: "request-timeout",
      metavar: "duration",
      description: "How long a request may take before it is answered with 503",
      fallback: seconds(serveDefaults.requestMillis),
    },
    serveVariables.requestMillis,
  ),
}

/** The command. */
export const serve = Command.make(
  "serve",
  serveFlags,
  Effect.fnUntraced(function* (typed) {
    const settings = yield* resolveServe({
      ...Flags.databaseFlagsOf(typed),
      port: Option.getOrUndefined(typed.port),
      host: Option.getOrUndefined(typed.host),
      leaseMillis: Option.getOrUndefined(typed.lease),
      graceMillis: Option.getOrUndefined(typed.grace),
      requestMillis: Option.getOrUndefined(typed.requestTimeout),
    })
    const logLevel = Option.getOrElse(yield* GlobalFlag.LogLevel, () => "Info" as const)
    const { serve: run } = yield* Effect.promise(() => import("../../Serve.ts"))
    yield* run(settings, { logLevel })
  }),
).pipe(
  Command.withShortDescription("Run a server on Postgres, alone or beside others"),
  Command.withDescription(
    "Run a server on Postgres, alone or beside others on the same database. It makes no account " +
      "and no key; millrace keys create does.\n\n" +
      `  Bounds are set by variables, each with a whole number:\n${limitHelp}`,
  ),
  Command.withExamples([
    { command: "DATABASE_URL=postgres://... millrace serve", description: "On port 7411" },
    { command: "millrace serve --host 0.0.0.0 --lease 10s", description: "In a container" },
  ]),
)
