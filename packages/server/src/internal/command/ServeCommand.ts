/**
 * `millrace serve` on the command line. The server is loaded when the command runs.
 */
import * as Command from "effect/cli/Command"
import * as GlobalFlag from "effect/cli/GlobalFlag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { resolveServe, serveDefaults } from "../../Config.ts"
import { limitHelp } from "../config/LimitVariables.ts"
import { serveVariables } from "../config/Variables.ts"
import { describe } from "./Description.ts"
import * as Flags from "./Flags.ts"

/** The command. */
export const serve = Command.make(
  "serve",
  Flags.ofVariables(serveVariables, serveDefaults),
  Effect.fnUntraced(function* (typed) {
    const settings = yield* resolveServe(typed)
    const logLevel = Option.getOrElse(yield* GlobalFlag.LogLevel, () => "Info" as const)
    const { serve: run } = yield* Effect.promise(() => import("../../Serve.ts"))
    yield* run(settings, { logLevel })
  }),
).pipe(
  describe({
    short: "Run a server on Postgres, alone or beside others",
    long:
      "Run a server on Postgres, alone or beside others on the same database. It makes no " +
      "account and no key; use millrace keys create.\n\n" +
      `  These variables set the limits; each takes a whole number:\n${limitHelp}`,
    examples: {
      "DATABASE_URL=postgres://... millrace serve": "On port 7411",
      "millrace serve --host 0.0.0.0 --lease 10s": "In a container",
    },
  }),
)
