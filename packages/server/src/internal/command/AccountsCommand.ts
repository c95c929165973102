/**
 * `millrace accounts` on the command line.
 */
import * as Flag from "effect/cli/Flag"
import * as Option from "effect/Option"
import { commandsOf } from "./AdminCommand.ts"
import { commandGroup } from "./Description.ts"
import * as Flags from "./Flags.ts"

const command = commandsOf(() => import("../admin/AccountTasks.ts"))

const create = command(
  "create",
  {
    short: "Make an account and print its id",
    long: "Make an account. Workflows, runs and keys belong to one. Prints the account's id.",
    examples: {
      "millrace accounts create --name acme": "In the database",
      "millrace accounts create --name acme --url https://flows.example.com":
        "On a running server, with MILLRACE_ADMIN_TOKEN set",
    },
  },
  { name: Flags.text("name", "text", "What people call the account, 1 to 120 characters") },
  (tasks, session, { name }) => tasks.create(session, name.trim()),
)

/** Reads a whole number, or `none`. The server checks the number's range. */
const readCap = (text: string): Option.Option<number | null> => {
  if (text === "none") return Option.some(null)
  return /^\d+$/.test(text) ? Option.some(Number(text)) : Option.none()
}

const update = command(
  "update",
  {
    short: "Set how many runs of an account may be in progress",
    long:
      "Set how many runs of an account may be in progress at the same time, on all servers " +
      "together. Further runs stay queued. The cap holds within seconds.",
    examples: {
      "millrace accounts update --account acme --runs-at-once 50": "A cap",
      "millrace accounts update --account acme --runs-at-once none": "Only the servers' limits",
    },
  },
  {
    account: Flags.text("account", "name", "The account, by name or id"),
    runsAtOnce: Flags.text(
      "runs-at-once",
      "number",
      "Runs in progress on all servers, 1 to 1000000; none removes the cap",
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

/** The command with its subcommands. */
export const accounts = commandGroup("accounts", "Make, change and show accounts", [
  create,
  update,
  list,
])
