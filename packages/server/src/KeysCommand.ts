/**
 * `millrace keys` on the command line. What it does is loaded when it runs.
 */
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { readCount, resolveDatabase } from "./Config.ts"
import * as Flags from "./Flags.ts"

/** A whole number; which are possible is for the key to say. */
const count = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(
      (text) => Option.fromUndefinedOr(readCount(text)),
      () => "Expected a number",
    ),
    Flag.withMetavar("number"),
    Flag.optional,
    Flag.withDescription(description),
  )

const createFlags = {
  label: Flag.String("label").pipe(
    Flag.withMetavar("text"),
    Flag.withDescription("What the key is called; no two live keys of an account share a label"),
  ),
  account: Flag.String("account").pipe(
    Flag.withMetavar("name"),
    Flag.withDefault("default"),
    Flag.withDescription('Whose key it is, made when missing (default "default")'),
  ),
  perMinute: count("per-minute", "Requests a minute, 1 to 10000 (default 60)"),
  perDay: count("per-day", "Requests a day, 1 to 100000 (default 1000)"),
  ...Flags.database,
}

const create = Command.make(
  "create",
  createFlags,
  Effect.fnUntraced(function* (typed) {
    const { account, label, perDay, perMinute } = typed
    const settings = yield* resolveDatabase(Flags.databaseFlagsOf(typed))
    const { createKey } = yield* Effect.promise(() => import("./CreateKey.ts"))
    const limits = {
      ...(Option.isSome(perMinute) ? { perMinute: perMinute.value } : {}),
      ...(Option.isSome(perDay) ? { perDay: perDay.value } : {}),
    }
    yield* createKey({ account: account.trim(), label, ...limits }, settings)
  }),
).pipe(
  Command.withShortDescription("Make an API key and print it, this once"),
  Command.withDescription(
    "Make an API key in the database itself, and the account where there is none of that name. " +
      "The secret is all that is printed on standard output, and it is printed only this once.",
  ),
  Command.withExamples([
    { command: "millrace keys create --label ci", description: "For the account default" },
    {
      command: "millrace keys create --label app --account acme --per-minute 600",
      description: "For another one, with a limit of its own",
    },
  ]),
)

/** The command, with what can be done to keys. */
export const keys = Command.make("keys").pipe(
  Command.withShortDescription("Make API keys, in the database itself"),
  Command.withSubcommands([create]),
)
