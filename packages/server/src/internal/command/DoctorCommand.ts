/**
 * `millrace doctor` on the command line.
 */
import { commandsOf } from "./AdminCommand.ts"

/** The command. */
export const doctor = commandsOf(() => import("../admin/DoctorTasks.ts"))(
  "doctor",
  {
    short: "Check credits, the clock, and runs in quarantine",
    long:
      "Read every entry of every account's ledger and print what does not add up, a line each; " +
      "then the exit code is 1. A clock that is off by more than 2 s is told, too, and runs that " +
      "are in quarantine. Changes nothing, and may run beside any traffic.",
    examples: {
      "millrace doctor": "In the database",
      "millrace doctor --url https://flows.example.com": "On a server",
    },
  },
  {},
  (tasks, session) => tasks.check(session),
)
