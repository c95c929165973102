/**
 * `millrace accounts` on the command line.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import { commandsOf } from "./AdminCommand.ts"
import { describe, everywhere } from "./Description.ts"
import * as Flags from "./Flags.ts"

const command = commandsOf(() => import("../admin/AccountTasks.ts"))

const create = command(
  "create",
  {
    short: "Make an account and print its id",
    long: "Make an account, to whom workflows, runs and keys belong. Prints its id.",
    examples: {
      "millrace accounts create --name acme": "In the database",
      "millrace accounts create --name acme --url https://flows.example.com":
        "On a running server, with MILLRACE_ADMIN_TOKEN set",
    },
  },
  { name: Flags.text("name", "text", "What people call the account, 1 to 120 characters") },
  (tasks, session, { name }) => tasks.create(session, name.trim()),
)

/** A whole number, or none; which numbers are possible is for the server to say. */
const readCap = (text: string): Option.Option<number | null> => {
  if (text === "none") return Option.some(null)
  return /^\d+$/.test(text) ? Option.some(Number(text)) : Option.none()
}

const update = command(
  "update",
  {
    short: "Set how many runs of an account may be in progress",
    long:
      "Set an account's own cap of runs in progress, over all servers; more of them stay queued. " +
      "Servers obey it within seconds.",
    examples: {
      "millrace accounts update --account acme --runs-at-once 50": "A cap",
      "millrace accounts update --account acme --runs-at-once none": "What the servers' limits say",
    },
  },
  {
    account: Flags.text("account", "name", "The account, by name or id"),
    runsAtOnce: Flags.text(
      "runs-at-once",
      "number",
      "Runs in progress over all servers, 1 to 1000000; none for no own cap",
    ).pipe(Flag.filterMap(readCap, () => "Expected a number or none")),
  },
  (tasks, session, { account, runsAtOnce }) =>
    tasks.update(session, account.trim(), { runsAtOnce }),
)

const list = command(
  "list",
  {
    short: "Show all accounts",
    long: "Show all accounts, oldest first.",
    examples: {
      "millrace accounts list": "For people",
      "millrace accounts list --json": "For a program",
    },
  },
  {},
  (tasks, session) => tasks.list(session),
)

/** The command, with what can be done to accounts. */
export const accounts = Command.make("accounts").pipe(
  describe({
    short: "Make, change and show accounts",
    long: everywhere("Make, change and show accounts"),
  }),
  Command.withSubcommands([create, update, list]),
)
