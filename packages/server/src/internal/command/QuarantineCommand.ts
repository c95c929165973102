/**
 * `millrace quarantine` on the command line.
 */
import * as Argument from "effect/cli/Argument"
import { commandsOf } from "./AdminCommand.ts"
import { commandGroup } from "./Description.ts"

const command = commandsOf(() => import("../admin/QuarantineTasks.ts"))

const run = Argument.String("run").pipe(Argument.withDescription("The run's id"))

const list = command(
  "list",
  {
    short: "Show runs in quarantine, oldest first",
    long:
      "Show the open runs that lost a process while a node was in progress. For each run: its " +
      "account, the runner that executes it now, how many owners it has lost, and the nodes that " +
      "were in progress.",
    examples: {
      "millrace quarantine list": "In the database",
      "millrace quarantine list --json": "With every loss",
    },
  },
  {},
  (tasks, session) => tasks.list(session),
)

const release = command(
  "release",
  {
    short: "Take a run out of quarantine",
    long:
      "Take a run out of quarantine, if you know that it was not the cause. Its losses are " +
      "forgotten, and it is executed like any other run.",
    examples: { "millrace quarantine release run_0198...": "By its id" },
  },
  { run },
  (tasks, session, typed) => tasks.release(session, typed.run),
)

const end = command(
  "end",
  {
    short: "End a run that is in quarantine",
    long:
      "End a run at once, before it crashes another process. Its status becomes FAILED, and its " +
      "error says what happened.",
    examples: { "millrace quarantine end run_0198...": "By its id" },
  },
  { run },
  (tasks, session, typed) => tasks.end(session, typed.run),
)

/** The command with its subcommands. */
export const quarantine = commandGroup(
  "quarantine",
  "Show, release and end runs that may crash their processes",
  [list, release, end],
  "Show, release and end runs that lost the processes that executed them",
)
