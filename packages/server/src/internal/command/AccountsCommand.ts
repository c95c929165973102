/**
 * `millrace accounts` on the command line. What it does is loaded when it runs.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"

const load = Effect.promise(() => import("../admin/AccountTasks.ts"))

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

/** A whole number, or none; which numbers are possible is for the account to say. */
const readCap = (text: string): Option.Option<number | null> => {
  if (text === "none") return Option.some(null)
  return /^\d+$/.test(text) ? Option.some(Number(text)) : Option.none()
}

const update = Command.make(
  "update",
  {
    account: Flag.String("account").pipe(
      Flag.withMetavar("name"),
      Flag.withDescription("The account, by name or id"),
    ),
    runsAtOnce: Flag.String("runs-at-once").pipe(
      Flag.filterMap(readCap, () => "Expected a number or none"),
      Flag.withMetavar("number"),
      Flag.withDescription("Runs in progress over all servers, 1 to 1000000; none for no own cap"),
    ),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    const change = { runsAtOnce: typed.runsAtOnce }
    yield* tasks.update(target, typed.account.trim(), change, typed.json)
  }),
).pipe(
  Command.withShortDescription("Set how many runs of an account may be in progress"),
  Command.withDescription(
    "Set an account's own cap of runs in progress, over all servers; more of them stay queued. " +
      "Servers obey it within seconds.",
  ),
  Command.withExamples([
    { command: "millrace accounts update --account acme --runs-at-once 50", description: "A cap" },
    {
      command: "millrace accounts update --account acme --runs-at-once none",
      description: "What the servers' limits say",
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
  Command.withShortDescription("Make, change and show accounts"),
  Command.withDescription(
    "Make, change and show accounts: in a database, in a folder of millrace dev, or on a running " +
      "server.",
  ),
  Command.withSubcommands([create, update, list]),
)
