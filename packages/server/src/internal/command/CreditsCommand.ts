/**
 * `millrace credits` on the command line. What it does is loaded when it runs.
 */
import * as Config from "effect/Config"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readCount } from "../../Config.ts"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))

const number = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(
    // Which numbers are possible is for the ledger to say.
    Flag.filterMap(
      (typed) =>
        /^[+-]?[0-9]+(\.[0-9]+)?$/.test(typed) ? Option.some(Number(typed)) : Option.none(),
      () => "Expected a number",
    ),
    Flag.withMetavar(metavar),
    Flag.withDescription(description),
  )

const account = text("account", "name", "Whose credits, by name or id").pipe(
  Flag.withDefault("default"),
)

const operation = {
  account,
  reason: text("reason", "text", "Why; it stays in the ledger"),
  actor: Flag.optional(text("actor", "name", "Who does it; by default the user of this computer")),
  id: Flag.optional(text("id", "name", "A name for it: again under that name it is done once")),
  ...Flags.target,
}

interface TypedOperation {
  readonly reason: string
  readonly actor: Option.Option<string>
  readonly id: Option.Option<string>
}

/** Who does it, and why. */
const operationOf = Effect.fnUntraced(function* ({ actor, id, reason }: TypedOperation) {
  const user = yield* Effect.orDie(Config.option(Config.String("USER")))
  return {
    actor: Option.getOrElse(actor, () => Option.getOrElse(user, () => "command line")),
    reason,
    ...(Option.isSome(id) ? { id: id.value } : {}),
  }
})

const load = Effect.promise(() => import("../admin/CreditTasks.ts"))

const show = Command.make(
  "show",
  { account, ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    yield* (yield* load).show(target, typed.account, typed.json)
  }),
).pipe(
  Command.withShortDescription("Show what an account has, and of which grants"),
  Command.withExamples([
    { command: "millrace credits show --account acme", description: "In the database" },
  ]),
)

const grant = Command.make(
  "grant",
  {
    ...operation,
    amount: number("amount", "credits", "How much, of at most six decimals"),
    priority: Flag.optional(number("priority", "number", "Lower numbers are used first; 0")),
    expiresAt: Flag.optional(text("expires-at", "time", "When the rest is taken back: 2030-01-31")),
  },
  Effect.fnUntraced(function* (typed) {
    const { amount, expiresAt, priority } = typed
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const wanted = {
      ...(yield* operationOf(typed)),
      amount,
      ...(Option.isSome(priority) ? { priority: priority.value } : {}),
      ...(Option.isSome(expiresAt) ? { expiresAt: expiresAt.value } : {}),
    }
    yield* (yield* load).grant(target, typed.account, wanted, typed.json)
  }),
).pipe(
  Command.withShortDescription("Give credits to an account"),
  Command.withDescription("Give credits to an account. Prints the name of the grant."),
  Command.withExamples([
    {
      command: 'millrace credits grant --account acme --amount 500 --reason "October"',
      description: "For good",
    },
    {
      command:
        "millrace credits grant --account acme --amount 50 --reason trial --id trial " +
        "--expires-at 2030-01-31",
      description: "For a while, and once however often it is typed",
    },
  ]),
)

const adjust = Command.make(
  "adjust",
  { ...operation, amount: number("amount", "credits", "How much more, or less: --amount=-5") },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const wanted = { ...(yield* operationOf(typed)), amount: typed.amount }
    yield* (yield* load).adjust(target, typed.account, wanted, typed.json)
  }),
).pipe(
  Command.withShortDescription("Correct a balance, up or down"),
  Command.withExamples([
    {
      command: 'millrace credits adjust --account acme --amount=-2.5 --reason "Booked twice"',
      description: "Down",
    },
  ]),
)

const meter = Command.make(
  "meter",
  {
    ...operation,
    off: Flag.Boolean("off").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("From now on runs need no cover"),
    ),
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const wanted = { ...(yield* operationOf(typed)), metered: !typed.off }
    yield* (yield* load).meter(target, typed.account, wanted, typed.json)
  }),
).pipe(
  Command.withShortDescription("Say that runs of an account need cover, or need none"),
  Command.withDescription(
    "Say that runs of an account are refused where its credits do not cover them. Accounts are " +
      "not metered until this is said.",
  ),
  Command.withExamples([
    {
      command: "millrace credits meter --account acme --reason contract",
      description: "From now on",
    },
  ]),
)

const statement = Command.make(
  "statement",
  {
    account,
    limit: Flag.String("limit").pipe(
      Flag.filterMap(
        (typed) => Option.fromUndefinedOr(readCount(typed)),
        () => "Expected a number",
      ),
      Flag.withMetavar("number"),
      Flag.withDescription("How many entries, the newest first (50)"),
      Flag.withDefault(50),
    ),
    csv: Flag.Boolean("csv").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Print all entries, as CSV"),
    ),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const { csv, json, limit } = typed
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const form = csv ? "csv" : json ? "json" : "table"
    yield* (yield* load).statement(target, typed.account, limit, form)
  }),
).pipe(
  Command.withShortDescription("Show the ledger of an account"),
  Command.withExamples([
    { command: "millrace credits statement --account acme", description: "The newest entries" },
    { command: "millrace credits statement --account acme --csv", description: "All of them" },
  ]),
)

/** The command, with what can be done to credits. */
export const credits = Command.make("credits").pipe(
  Command.withShortDescription("Grant, show and correct the credits of accounts"),
  Command.withDescription(
    "Grant, show and correct the credits of accounts: in a database, in a folder of millrace " +
      "dev, or on a running server.",
  ),
  Command.withSubcommands([show, grant, adjust, meter, statement]),
)
