/**
 * `millrace workflows` on the command line: what a key of an account may do with its workflows. The
 * work is loaded when a command runs.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { resolveAll } from "../../Config.ts"
import { accountVariables } from "../config/Variables.ts"
import { describe } from "./Description.ts"
import * as Flags from "./Flags.ts"

const tasks = Effect.promise(() => import("../account/WorkflowTasks.ts"))

const signal = Command.make(
  "signal",
  {
    workflow: Argument.String("workflow").pipe(Argument.withDescription("The workflow's id")),
    name: Argument.String("name").pipe(
      Argument.withDescription("The name that a node wait_signal of a run waits for"),
    ),
    correlation: Flags.text("correlation", "text", "What the node waits with, such as an order"),
    data: Flags.optional(
      Flags.text("data", "json", "What it brings: JSON, or @ and a file with JSON; null if absent"),
    ),
    idempotencyKey: Flags.optional(
      Flags.text("idempotency-key", "key", "The same key again changes nothing"),
    ),
    ...Flags.ofVariables(accountVariables),
    json: Flags.isTyped("json", "Print JSON, in the form of the HTTP interface"),
  },
  Effect.fnUntraced(function* ({ apiKey, json, url, ...request }) {
    const settings = yield* resolveAll({ url, apiKey }, accountVariables, {})
    yield* (yield* tasks).signal({ ...settings, json }, request)
  }),
).pipe(
  describe({
    short: "Send a signal to the run that waits for it",
    long:
      "Send a signal to the run of a workflow that has waited longest for this name and " +
      "correlation, or to the first that begins to. Prints the run's id; nothing where the " +
      "signal is kept.",
    examples: {
      "millrace workflows signal wf_0198... paid --correlation order-17 --data @payment.json":
        "With what a file holds",
    },
  }),
)

/** The command with its subcommands. */
export const workflows = Command.make("workflows").pipe(
  describe({
    short: "Send signals to workflows",
    long:
      "Send signals to workflows of an account, for the runs that wait for them: on a running " +
      "server, with a key of that account.",
  }),
  Command.withSubcommands([signal]),
)
