/**
 * `millrace runs` on the command line: what a key of an account may do with its runs. The work is
 * loaded when a command runs.
 */
import { format } from "@millrace/core/domain/Timestamp"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
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

const deciding = (name: "approve" | "reject", outcome: "approved" | "rejected") =>
  Command.make(
    name,
    {
      run: Argument.String("run").pipe(Argument.withDescription("The run's id")),
      node: Argument.String("node").pipe(Argument.withDescription("The id of its node that asks")),
      by: Flags.optional(Flags.text("by", "name", "Who decides, for the record")),
      comment: Flags.optional(Flags.text("comment", "text", "Why")),
      fields: Flags.optional(
        Flags.text("fields", "json", "What the form asks for: JSON, or @ and a file with JSON"),
      ),
      ...place,
    },
    Effect.fnUntraced(function* ({ apiKey, json, url, ...request }) {
      const settings = yield* resolveAll({ url, apiKey }, accountVariables, {})
      yield* (yield* tasks).decide({ ...settings, json }, { ...request, outcome })
    }),
  ).pipe(
    describe({
      short: name === "approve" ? "Approve what a run asks" : "Reject what a run asks",
      long:
        `Decide an approval that a run waits for: it is ${outcome}, for whom --by names. The ` +
        "first decision counts. Prints the run's id.",
      examples: {
        [`millrace runs ${name} run_0198... ask --by Ada --comment "as agreed"`]: "With a comment",
      },
    }),
  )

const instant = (name: string, description: string) =>
  Flag.map(Flags.time(name, description), (time) => (time === undefined ? time : format(time)))

const rerunFailed = Command.make(
  "rerun-failed",
  {
    workflowId: Flags.optional(Flags.text("workflow", "id", "Only runs of this workflow")),
    from: instant("from", "Only runs that were created then or later, such as 2030-01-31"),
    to: instant("to", "Only runs that were created before"),
    error: Flags.optional(Flags.text("error", "text", "Only runs whose error has this part")),
    definition: Flags.optional(
      Flag.Literals("definition", ["same", "current"]).pipe(
        Flag.withDescription("The graph of the failed run (same), or the workflow as it is now"),
      ),
    ),
    limit: Flags.count("limit", "How many failed runs to look at, 1 to 50 (20)"),
    cursor: Flags.optional(Flags.text("cursor", "text", "Goes on behind the runs of an answer")),
    idempotencyKey,
    ...place,
  },
  Effect.fnUntraced(function* ({ apiKey, idempotencyKey: key, json, url, ...request }) {
    const settings = yield* resolveAll({ url, apiKey }, accountVariables, {})
    yield* (yield* tasks).rerunFailed({ ...settings, json }, Flags.given(request), key)
  }),
).pipe(
  describe({
    short: "Take up failed runs again, each once",
    long:
      "Take up failed runs again, newest first, each from its failure on. A run that has a rerun " +
      "is left out. Prints the ids of the new runs.",
    examples: {
      "millrace runs rerun-failed --workflow wf_0198... --from 2030-01-31": "Of one workflow",
      'millrace runs rerun-failed --error "the bank is closed" --limit 50': "By their error",
    },
  }),
)

/** The command with its subcommands. */
export const runs = Command.make("runs").pipe(
  describe({
    short: "Send signals to runs, decide what they ask, and take up failed ones again",
    long:
      "Send signals to runs of an account, decide what they ask, and take up failed ones again: " +
      "on a running server, with a key of that account.",
  }),
  Command.withSubcommands([
    signal,
    deciding("approve", "approved"),
    deciding("reject", "rejected"),
    rerunFailed,
  ]),
)
