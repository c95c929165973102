/**
 * `millrace credits` on the command line.
 */
import * as Config from "effect/Config"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { commandsOf } from "./AdminCommand.ts"
import { commandGroup } from "./Description.ts"
import * as Flags from "./Flags.ts"
import { readCount } from "../config/Readers.ts"

const command = commandsOf(() => import("../admin/CreditTasks.ts"))

/** A number. The ledger checks its range. */
const number = (name: string, metavar: string, description: string) =>
  Flags.text(name, metavar, description).pipe(
    Flag.filterMap(
      (typed) =>
        /^[+-]?[0-9]+(\.[0-9]+)?$/.test(typed) ? Option.some(Number(typed)) : Option.none(),
      () => "Expected a number",
    ),
  )

const account = Flags.text("account", "name", "The account, by name or id").pipe(
  Flag.withDefault("default"),
)

const operation = {
  account,
  reason: Flags.text("reason", "text", "Why you do this; the ledger keeps it"),
  actor: Flags.optional(
    Flags.text("actor", "name", "Who does this; by default the user of this computer"),
  ),
  id: Flags.optional(
    Flags.text("id", "name", "An id of your choice; the same id again changes nothing"),
  ),
}

/** What was typed. Without an actor, the user of this computer is the actor. */
const withActor = <T extends { readonly actor: string | undefined }>(typed: T) =>
  Effect.map(Effect.orDie(Config.option(Config.String("USER"))), (user) =>
    Flags.given({ ...typed, actor: typed.actor ?? Option.getOrElse(user, () => "command line") }),
  )

const show = command(
  "show",
  {
    short: "Show the balance and the grants of an account",
    examples: { "millrace credits show --account acme": "In the database" },
  },
  { account },
  (tasks, session, typed) => tasks.show(session, typed.account),
)

const grant = command(
  "grant",
  {
    short: "Give credits to an account",
    long: "Give credits to an account. Prints the id of the grant.",
    examples: {
      'millrace credits grant --account acme --amount 500 --reason "October"': "Without an end",
      ["millrace credits grant --account acme --amount 50 --reason trial --id trial " +
      "--expires-at 2030-01-31"]: "Until a day, and only once if it is typed twice",
    },
  },
  {
    ...operation,
    amount: number("amount", "credits", "How many, with at most six decimals"),
    priority: Flags.optional(number("priority", "number", "The lowest is used first; default 0")),
    expiresAt: Flags.optional(
      Flags.text("expires-at", "time", "When unused credits expire, such as 2030-01-31"),
    ),
  },
  (tasks, session, { account: reference, ...typed }) =>
    Effect.flatMap(withActor(typed), (wanted) => tasks.grant(session, reference, wanted)),
)

const adjust = command(
  "adjust",
  {
    short: "Correct a balance, up or down",
    examples: {
      'millrace credits adjust --account acme --amount=-2.5 --reason "Booked twice"': "Down",
    },
  },
  { ...operation, amount: number("amount", "credits", "How many to add, or take: --amount=-5") },
  (tasks, session, { account: reference, ...typed }) =>
    Effect.flatMap(withActor(typed), (wanted) => tasks.adjust(session, reference, wanted)),
)

const meter = command(
  "meter",
  {
    short: "Turn metering of an account on or off",
    long:
      "Turn metering of an account on: a start is refused if the account's credits do not cover " +
      "it. New accounts are not metered.",
    examples: {
      "millrace credits meter --account acme --reason contract": "On",
      "millrace credits meter --account acme --reason ended --off": "Off",
    },
  },
  { ...operation, off: Flags.isTyped("off", "Turn metering off") },
  (tasks, session, { account: reference, off, ...typed }) =>
    Effect.flatMap(withActor(typed), (wanted) =>
      tasks.meter(session, reference, { ...wanted, metered: !off }),
    ),
)

const statement = command(
  "statement",
  {
    short: "Show the ledger of an account",
    examples: {
      "millrace credits statement --account acme": "The newest entries",
      "millrace credits statement --account acme --csv": "All of them",
    },
  },
  {
    account,
    limit: Flags.text("limit", "number", "How many entries, the newest first (50)").pipe(
      Flag.filterMap(
        (typed) => Option.fromUndefinedOr(readCount(typed)),
        () => "Expected a number",
      ),
      Flag.withDefault(50),
    ),
    csv: Flags.isTyped("csv", "Print all entries, as CSV"),
  },
  (tasks, session, { account: reference, ...form }) => tasks.statement(session, reference, form),
)

/** The command with its subcommands. */
export const credits = commandGroup("credits", "Grant, show and correct the credits of accounts", [
  show,
  grant,
  adjust,
  meter,
  statement,
])
