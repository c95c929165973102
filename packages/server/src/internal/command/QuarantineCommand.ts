/**
 * `millrace quarantine` on the command line. What it does is loaded when it runs.
 */
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Effect from "effect/Effect"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"

const load = Effect.promise(() => import("../admin/QuarantineTasks.ts"))

const run = Argument.String("run").pipe(Argument.withDescription("The run's id"))

const list = Command.make(
  "list",
  Flags.target,
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    yield* tasks.list(target, typed.json)
  }),
).pipe(
  Command.withShortDescription("Show runs in quarantine, oldest first"),
  Command.withDescription(
    "Show the open runs whose processes have died while they were at work: whose they are, who " +
      "executes them now, how many owners they have lost, and which nodes were in progress.",
  ),
  Command.withExamples([
    { command: "millrace quarantine list", description: "In the database" },
    { command: "millrace quarantine list --json", description: "With every loss" },
  ]),
)

const release = Command.make(
  "release",
  { run, ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    yield* tasks.release(target, typed.run, typed.json)
  }),
).pipe(
  Command.withShortDescription("Forget what a run has lost"),
  Command.withDescription(
    "Forget which owners a run has lost, where you know that it was not to blame: it is executed " +
      "like any other from then on.",
  ),
  Command.withExamples([
    { command: "millrace quarantine release run_0198...", description: "By its id" },
  ]),
)

const end = Command.make(
  "end",
  { run, ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    yield* tasks.end(target, typed.run, typed.json)
  }),
).pipe(
  Command.withShortDescription("End a run that is in quarantine"),
  Command.withDescription(
    "End a run at once, before it takes another process down: it is FAILED, and its error says " +
      "what had happened to it.",
  ),
  Command.withExamples([
    { command: "millrace quarantine end run_0198...", description: "By its id" },
  ]),
)

/** The command, with what can be done about runs in quarantine. */
export const quarantine = Command.make("quarantine").pipe(
  Command.withShortDescription("Show, release and end runs that take their processes down"),
  Command.withDescription(
    "Show, release and end runs that have lost the processes that executed them: in a database, " +
      "in a folder of millrace dev, or on a running server.",
  ),
  Command.withSubcommands([list, release, end]),
)
