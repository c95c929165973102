/**
 * `millrace secrets` on the command line.
 *
 * Guarantees: a value is never an argument or a variable, because other users of a machine and the
 * shell's history see those.
 */
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import { commandsOf } from "./AdminCommand.ts"
import { commandGroup } from "./Description.ts"
import * as Flags from "./Flags.ts"

const command = commandsOf(() => import("../admin/SecretTasks.ts"))

const secretName = Argument.String("name").pipe(
  Argument.withDescription("The secret's name, as in {{ secrets.name }}"),
)

const account = Flags.text("account", "name", "The secret's account, by name or id").pipe(
  Flag.withDefault("default"),
)

const set = command(
  "set",
  {
    short: "Set a secret; its value is read from standard input or a prompt",
    long:
      "Set a secret, or replace its value and its hosts. The value is read from standard input; " +
      "on a terminal it is asked for and not shown. One line break at its end is dropped. It is " +
      "sealed with the master key and cannot be shown again.",
    examples: {
      "millrace secrets set shop_token --host api.example.com": "Asks for the value",
      "millrace secrets set shop_token --host api.example.com < token.txt": "From a file",
    },
  },
  {
    name: secretName,
    host: Flags.text("host", "host", "Where nodes may send it; may be repeated").pipe(
      Flag.atLeast(1),
    ),
    account,
  },
  (tasks, session, { account: reference, host, name }) => tasks.set(session, reference, name, host),
)

const list = command(
  "list",
  {
    short: "Show secrets, without their values",
    long: "Show an account's secrets: their hosts, their last use and the workflows that use them.",
    examples: { "millrace secrets list --account acme": "Of one account" },
  },
  { account },
  (tasks, session, { account: reference }) => tasks.list(session, reference),
)

const remove = command(
  "remove",
  {
    short: "Remove a secret",
    long: "Remove a secret, and say which workflows still use it. They cannot be started then.",
    examples: { "millrace secrets remove shop_token": "Of the account default" },
  },
  { name: secretName, account },
  (tasks, session, { account: reference, name }) => tasks.remove(session, reference, name),
)

/** The command with its subcommands. */
export const secrets = commandGroup("secrets", "Set, show and remove the secrets of accounts", [
  set,
  list,
  remove,
])
