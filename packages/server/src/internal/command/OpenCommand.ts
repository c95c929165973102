/**
 * `millrace open` on the command line.
 */
import { commandsOf } from "./AdminCommand.ts"
import * as Flags from "./Flags.ts"

/** The command. */
export const open = commandsOf(() => import("../admin/OpenTasks.ts"))(
  "open",
  {
    short: "Print a link that signs in to the dashboard, once",
    long:
      "Print a link that signs in to the dashboard of a server. It works once, within 10 " +
      "minutes. You are signed in as an operator, who sees all accounts; or, with --account, as " +
      "the owner of that account. Standard output has only the link.",
    examples: {
      "millrace open --url https://flows.example.com": "As an operator",
      "millrace open --account acme": "As the owner of account acme",
    },
  },
  {
    account: Flags.optional(
      Flags.text("account", "name", "Sign in as the owner of this account, by name or id"),
    ),
  },
  (tasks, session, { account }) => tasks.open(session, account),
)
