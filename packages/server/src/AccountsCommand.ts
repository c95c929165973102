/**
 * `millrace accounts` on the command line. What it does is loaded when it runs.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import { resolveTarget } from "./ConfigTarget.ts"
import * as Flags from "./Flags.ts"

const load = Effect.promise(() => import("./AccountTasks.ts"))

const create = Command.make(
  "create",
  {
    name: Flag.String("name").pipe(
      Flag.withMetavar("text"),
      Flag.withDescription("What people call the account, 1 to 120 characters"),
    ),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    yield* tasks.create(target, typed.name.trim(), typed.json)
  }),
).pipe(
  Command.withShortDescription("Make an account and print its id"),
  Command.withDescription(
    "Make an account, to whom workflows, runs and keys belong. Prints its id.",
  ),
  Command.withExamples([
    { command: "millrace accounts create --name acme", description: "In the database" },
    {
      command: "millrace accounts create --name acme --url https://flows.example.com",
      description: "On a running server, with MILLRACE_ADMIN_TOKEN set",
    },
  ]),
)

const list = Command.make(
  "list",
  Flags.target,
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    yield* tasks.list(target, typed.json)
  }),
).pipe(
  Command.withShortDescription("Show all accounts"),
  Command.withDescription("Show all accounts, oldest first."),
  Command.withExamples([
    { command: "millrace accounts list", description: "For people" },
    { command: "millrace accounts list --json", description: "For a program" },
  ]),
)

/** The command, with what can be done to accounts. */
export const accounts = Command.make("accounts").pipe(
  Command.withShortDescription("Make and show accounts"),
  Command.withDescription(
    "Make and show accounts: in a database, in a folder of millrace dev, or on a running server.",
  ),
  Command.withSubcommands([create, list]),
)
