/**
 * `millrace keys` on the command line.
 */
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import { CommandFailed } from "../../CommandFailed.ts"
import { commandsOf } from "./AdminCommand.ts"
import { commandGroup } from "./Description.ts"
import * as Flags from "./Flags.ts"

const command = commandsOf(() => import("../admin/KeyTasks.ts"))

const limits = {
  perMinute: Flags.count("per-minute", "Requests a minute, 1 to 10000 (60 for a new key)"),
  perDay: Flags.count("per-day", "Requests a day, 1 to 100000 (1000 for a new key)"),
}

const label = Flags.text(
  "label",
  "text",
  "The key's name; no two live keys of an account share one",
)

const ofAccount = Flags.optional(
  Flags.text("account", "name", "The key's account, by name or id; all by default"),
)

const create = command(
  "create",
  {
    short: "Make an API key and print its secret, only once",
    long:
      "Make an API key. If there is no account of that name, make the account first. Standard " +
      "output has only the secret. The secret cannot be shown again.",
    examples: {
      "millrace keys create --label ci": "For the account default",
      "millrace keys create --label app --account acme --per-minute 600":
        "For account acme, with its own limit",
    },
  },
  {
    label,
    account: Flags.text("account", "name", "The key's account, made if missing").pipe(
      Flag.withDefault("default"),
    ),
    ...limits,
    expiresAt: Flags.time("expires-at", "When the key expires, such as 2030-01-31"),
  },
  (tasks, session, { account, label: called, ...rest }) =>
    tasks.create(session, account.trim(), { label: called, ...Flags.given(rest) }),
)

const list = command(
  "list",
  {
    short: "Show keys, their limits and when they were last used",
    long: "Show keys, their limits and when they were last used. Secrets cannot be shown.",
    examples: {
      "millrace keys list": "Of all accounts",
      "millrace keys list --account acme --json": "For a program",
    },
  },
  { account: ofAccount },
  (tasks, session, { account }) => tasks.list(session, account),
)

const meant = {
  key: Argument.String("key").pipe(
    Argument.withDescription("The key, by its id or by the label of a live key"),
  ),
  account: ofAccount,
}

const update = command(
  "update",
  {
    short: "Change a key's label or limits, at once",
    long:
      "Change a key's label or limits, from the next request on. Requests made before still " +
      "count.",
    examples: {
      "millrace keys update ci --per-minute 600": "By its label",
      "millrace keys update key_0198... --label deploy": "By its id",
    },
  },
  { ...meant, label: Flags.optional(label), ...limits },
  (tasks, session, { account, key, ...rest }) => {
    const change = Flags.given(rest)
    if (Object.keys(change).length > 0) return tasks.update(session, { key, account }, change)
    const message = "There is nothing to change: name --label, --per-minute or --per-day"
    return CommandFailed.usage(message)
  },
)

const revoke = command(
  "revoke",
  {
    short: "End a key, at once and for good",
    long: "End a key for good. Every server refuses it from the next request on.",
    examples: {
      "millrace keys revoke ci --account acme": "By its label",
      "millrace keys revoke key_0198...": "By its id",
    },
  },
  meant,
  (tasks, session, reference) => tasks.revoke(session, reference),
)

/** The command with its subcommands. */
export const keys = commandGroup("keys", "Make, show, change and revoke API keys", [
  create,
  list,
  update,
  revoke,
])
