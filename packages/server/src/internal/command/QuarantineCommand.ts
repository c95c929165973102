/**
 * `millrace quarantine` on the command line.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import { commandsOf } from "./AdminCommand.ts"
import { describe, everywhere } from "./Description.ts"

const command = commandsOf(() => import("../admin/QuarantineTasks.ts"))

const run = Argument.String("run").pipe(Argument.withDescription("The run's id"))

const list = command(
  "list",
  {
    short: "Show runs in quarantine, oldest first",
    long:
      "Show the open runs whose processes have died while they were at work: whose they are, who " +
      "executes them now, how many owners they have lost, and which nodes were in progress.",
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
    short: "Forget what a run has lost",
    long:
      "Forget which owners a run has lost, where you know that it was not to blame: it is " +
      "executed like any other from then on.",
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
      "End a run at once, before it takes another process down: it is FAILED, and its error says " +
      "what had happened to it.",
    examples: { "millrace quarantine end run_0198...": "By its id" },
  },
  { run },
  (tasks, session, typed) => tasks.end(session, typed.run),
)

/** The command, with what can be done about runs in quarantine. */
export const quarantine = Command.make("quarantine").pipe(
  describe({
    short: "Show, release and end runs that take their processes down",
    long: everywhere("Show, release and end runs that have lost the processes that executed them"),
  }),
  Command.withSubcommands([list, release, end]),
)
