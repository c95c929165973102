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
      "Read every entry of every account's ledger. Print one line for each thing that does not " +
      "add up; the exit code is then 1. Also print whether the clock is off by more than 2 s, " +
      "and which runs are in quarantine. Changes nothing, and may run beside any traffic.",
    examples: {
      "millrace doctor": "In the database",
      "millrace doctor --url https://flows.example.com": "On a server",
    },
  },
  {},
  (tasks, session) => tasks.check(session),
)
