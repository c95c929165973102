/**
 * `millrace keys` on the command line. What it does is loaded when it runs.
 */
import { Timestamp } from "@millrace/core/domain/Timestamp"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"
import { CommandFailed } from "../../CommandFailed.ts"

/** Text that is read as something, or refused. */
const read = <A>(
  name: string,
  metavar: string,
  description: string,
  as: (text: string) => Option.Option<A>,
) =>
  Flag.String(name).pipe(
    Flag.filterMap(as, () => `Expected a ${metavar}`),
    Flag.withMetavar(metavar),
    Flag.optional,
    Flag.withDescription(description),
  )

/** A whole number of any size; which are possible is for the key to say. */
const count = (name: string, description: string) =>
  read(name, "number", description, (text) =>
    /^\d+$/.test(text) ? Option.some(Number(text)) : Option.none(),
  )

const readTime = Schema.decodeUnknownOption(Timestamp)

const text = (name: string, metavar: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar(metavar), Flag.withDescription(description))

const limits = {
  perMinute: count("per-minute", "Requests a minute, 1 to 10000 (60 for a new key)"),
  perDay: count("per-day", "Requests a day, 1 to 100000 (1000 for a new key)"),
}

const label = text("label", "text", "What the key is called; unique among an account's live keys")

const ofAccount = text("account", "name", "Whose key it is, by name or id; anybody's by default")

const load = Effect.promise(() => import("../admin/KeyTasks.ts"))

const limitsOf = (typed: {
  readonly perMinute: Option.Option<number>
  readonly perDay: Option.Option<number>
}) => ({
  ...(Option.isSome(typed.perMinute) ? { perMinute: typed.perMinute.value } : {}),
  ...(Option.isSome(typed.perDay) ? { perDay: typed.perDay.value } : {}),
})

const create = Command.make(
  "create",
  {
    label,
    account: text("account", "name", "Whose key it is, made when missing").pipe(
      Flag.withDefault("default"),
    ),
    ...limits,
    expiresAt: read("expires-at", "time", "From when on it is refused: 2030-01-31", readTime),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const expiresAt = Option.getOrUndefined(typed.expiresAt)
    const wanted = { label: typed.label, expiresAt, ...limitsOf(typed) }
    const tasks = yield* load
    yield* tasks.create(target, typed.account.trim(), wanted, typed.json)
  }),
).pipe(
  Command.withShortDescription("Make an API key and print it, this once"),
  Command.withDescription(
    "Make an API key, and the account where there is none of that name. The secret is all that " +
      "is printed on standard output, and it is printed only this once.",
  ),
  Command.withExamples([
    { command: "millrace keys create --label ci", description: "For the account default" },
    {
      command: "millrace keys create --label app --account acme --per-minute 600",
      description: "For another one, with a limit of its own",
    },
  ]),
)

const list = Command.make(
  "list",
  { account: Flag.optional(ofAccount), ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    yield* tasks.list(target, Option.getOrUndefined(typed.account), typed.json)
  }),
).pipe(
  Command.withShortDescription("Show keys, their limits and when they were last used"),
  Command.withDescription(
    "Show keys, their limits and when they were last used. Secrets are not kept.",
  ),
  Command.withExamples([
    { command: "millrace keys list", description: "Of all accounts" },
    { command: "millrace keys list --account acme --json", description: "For a program" },
  ]),
)

const meant = {
  key: Argument.String("key").pipe(
    Argument.withDescription("The key, by its id or by the label of a live key"),
  ),
  account: Flag.optional(ofAccount),
}

const update = Command.make(
  "update",
  { ...meant, label: Flag.optional(label), ...limits, ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const change = {
      ...(Option.isSome(typed.label) ? { label: typed.label.value } : {}),
      ...limitsOf(typed),
    }
    if (Object.keys(change).length === 0) {
      const message = "There is nothing to change: name --label, --per-minute or --per-day"
      return yield* new CommandFailed({ message, reason: "usage" })
    }
    const tasks = yield* load
    const reference = { key: typed.key, account: Option.getOrUndefined(typed.account) }
    yield* tasks.update(target, reference, change, typed.json)
  }),
).pipe(
  Command.withShortDescription("Change a key's label or limits, at once"),
  Command.withDescription(
    "Change a key's label or limits. They hold from the next request on; what was used stays used.",
  ),
  Command.withExamples([
    { command: "millrace keys update ci --per-minute 600", description: "By its label" },
    { command: "millrace keys update key_0198... --label deploy", description: "By its id" },
  ]),
)

const revoke = Command.make(
  "revoke",
  { ...meant, ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const tasks = yield* load
    const reference = { key: typed.key, account: Option.getOrUndefined(typed.account) }
    yield* tasks.revoke(target, reference, typed.json)
  }),
).pipe(
  Command.withShortDescription("End a key, at once and for good"),
  Command.withDescription("End a key: every server refuses it from the next request on, for good."),
  Command.withExamples([
    { command: "millrace keys revoke ci --account acme", description: "By its label" },
    { command: "millrace keys revoke key_0198...", description: "By its id" },
  ]),
)

/** The command, with what can be done to keys. */
export const keys = Command.make("keys").pipe(
  Command.withShortDescription("Make, show, change and revoke API keys"),
  Command.withDescription(
    "Make, show, change and revoke API keys: in a database, in a folder of millrace dev, or on a " +
      "running server.",
  ),
  Command.withSubcommands([create, list, update, revoke]),
)
