/**
 * `millrace runs` on the command line: what a key of an account may do with its runs. The work is
 * loaded when a command runs.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { resolveAll } from "../../Config.ts"
import { accountVariables } from "../config/Variables.ts"
import { describe } from "./Description.ts"
import * as Flags from "./Flags.ts"

const tasks = Effect.promise(() => import("../account/RunTasks.ts"))

const place = {
  ...Flags.ofVariables(accountVariables),
  json: Flags.isTyped("json", "Print JSON, in the form of the HTTP interface"),
}

const idempotencyKey = Flags.optional(
  Flags.text("idempotency-key", "key", "The same key again changes nothing"),
)

const signal = Command.make(
  "signal",
  {
    run: Argument.String("run").pipe(Argument.withDescription("The run's id")),
    name: Argument.String("name").pipe(
      Argument.withDescription("The name that a node wait_signal of the run waits for"),
    ),
    data: Flags.optional(
      Flags.text("data", "json", "What it brings: JSON, or @ and a file with JSON; null if absent"),
    ),
    idempotencyKey,
    ...place,
  },
  Effect.fnUntraced(function* ({ apiKey, json, url, ...request }) {
    const settings = yield* resolveAll({ url, apiKey }, accountVariables, {})
    yield* (yield* tasks).signal({ ...settings, json }, request)
  }),
).pipe(
  describe({
    short: "Send a signal to a run",
    long:
      "Send a signal to a run, for a node wait_signal of that name: one that waits, or the first " +
      "that begins to. Prints the run's id.",
    examples: {
      [`millrace runs signal run_0198... approved --data '{ "by": "Ada" }'`]: "With its data",
      "millrace runs signal run_0198... paid --data @payment.json --idempotency-key payment-17":
        "From a file, and once even if it is typed twice",
    },
  }),
)

/** The command with its subcommands. */
export const runs = Command.make("runs").pipe(
  describe({
    short: "Send signals to runs",
    long: "Send signals to runs of an account on a running server, with a key of that account.",
  }),
  Command.withSubcommands([signal]),
)
