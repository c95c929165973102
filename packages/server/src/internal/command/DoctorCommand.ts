/**
 * `millrace doctor` on the command line. What it does is loaded when it runs.
 */
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"

/** The command. */
export const doctor = Command.make(
  "doctor",
  Flags.target,
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* Effect.promise(() => import("../admin/CreditTasks.ts"))
    yield* tasks.doctor(target, typed.json)
  }),
).pipe(
  Command.withShortDescription("Check credits, the clock, and runs in quarantine"),
  Command.withDescription(
    "Read every entry of every account's ledger and print what does not add up, a line each; " +
      "then the exit code is 1. A clock that is off by more than 2 s is told, too, and runs that " +
      "are in quarantine. Changes nothing, and may run beside any traffic.",
  ),
  Command.withExamples([
    { command: "millrace doctor", description: "In the database" },
    { command: "millrace doctor --url https://flows.example.com", description: "On a server" },
  ]),
)
