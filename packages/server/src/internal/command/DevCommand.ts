/**
 * `millrace dev` on the command line. The server is loaded when the command runs.
 */
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { CommandFailed } from "../../CommandFailed.ts"
import { defaults, resolveDev } from "../../Config.ts"
import { devVariables } from "../config/Variables.ts"
import { describe } from "./Description.ts"
import * as Flags from "./Flags.ts"

/** The command. */
export const dev = Command.make(
  "dev",
  Flags.ofVariables(devVariables, defaults),
  Effect.fnUntraced(function* (typed) {
    if (typed.memory === true && typed.data !== undefined) {
      const message = "--memory keeps nothing, so it cannot be used together with --data"
      return yield* CommandFailed.usage(message)
    }
    // The flag --data wins over the variable MILLRACE_MEMORY.
    const memory = typed.data === undefined ? typed.memory : false
    const settings = yield* resolveDev({ ...typed, memory })
    const logLevel = Option.getOrElse(yield* GlobalFlag.LogLevel, () => "Warn" as const)
    const { dev: run } = yield* Effect.promise(() => import("../../Dev.ts"))
    yield* run(settings, logLevel)
  }),
).pipe(
  describe({
    short: "Run a server for development, with everything in one process",
    long:
      "Run a server for development: store, engine and HTTP interface in one process, with an " +
      "API key and example workflows on the first start. Not for the internet. Variables set the " +
      "limits; millrace serve --help lists them.",
    examples: {
      "millrace dev": `Keep everything in ${defaults.data}`,
      "millrace dev --port 8080 --data /tmp/flows": "Elsewhere",
      "millrace dev --memory --no-seed": "Empty, and forgotten at the end",
    },
  }),
)
