/**
 * `millrace webhooks` on the command line. What it does is loaded when it runs.
 */
import { DeliveryState } from "@millrace/core/domain/Delivery"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { readCount, readDuration } from "../../Config.ts"
import { resolveTarget } from "../config/ConfigTarget.ts"
import * as Flags from "./Flags.ts"
import { CommandFailed } from "../../CommandFailed.ts"

const load = Effect.promise(() => import("../admin/WebhookTasks.ts"))

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

const account = (description: string) =>
  Flag.String("account").pipe(Flag.withMetavar("name"), Flag.withDescription(description))

const ofAccount = Flag.optional(account("Whose deliveries, by name or id; all by default"))

const mostShown = 50

const readLimit = (text: string) =>
  Option.filter(
    Option.fromUndefinedOr(readCount(text)),
    (count) => count >= 1 && count <= mostShown,
  )

const delivery = Argument.String("delivery").pipe(Argument.withDescription("The delivery's id"))

const list = Command.make(
  "list",
  {
    account: ofAccount,
    run: Flag.String("run").pipe(
      Flag.withMetavar("id"),
      Flag.optional,
      Flag.withDescription("Of this run only"),
    ),
    state: Flag.Literals("state", DeliveryState.literals).pipe(
      Flag.optional,
      Flag.withDescription("In this state only"),
    ),
    limit: read("limit", "number", "How many at most, 1 to 50 (20)", readLimit),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const { list: run } = yield* load
    const request = {
      account: Option.getOrUndefined(typed.account),
      run: Option.getOrUndefined(typed.run),
      state: Option.getOrUndefined(typed.state),
      limit: Option.getOrElse(typed.limit, () => 20),
    }
    yield* run(target, request, typed.json)
  }),
).pipe(
  Command.withShortDescription("Show deliveries, newest first"),
  Command.withDescription("Show the newest deliveries: what was sent where, and how far it is."),
  Command.withExamples([
    { command: "millrace webhooks list --state FAILED", description: "What did not arrive" },
    { command: "millrace webhooks list --run run_0198... --json", description: "Of one run" },
  ]),
)

const show = Command.make(
  "show",
  { delivery, ...Flags.target },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const { show: run } = yield* load
    yield* run(target, typed.delivery, typed.json)
  }),
).pipe(
  Command.withShortDescription("Show what is sent, and every attempt"),
  Command.withDescription(
    "Show a delivery: the body that is sent, and every attempt with the beginning of its answer.",
  ),
  Command.withExamples([
    { command: "millrace webhooks show msg_0198...", description: "By its id" },
  ]),
)

const readTime = Schema.decodeUnknownOption(Timestamp)

const resend = Command.make(
  "resend",
  {
    delivery: Argument.optional(delivery),
    failedSince: read("failed-since", "time", "All that failed since then: 2030-01-31", readTime),
    account: ofAccount,
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const { resend: one, resendFailed: all } = yield* load
    const of = Option.getOrUndefined(typed.account)
    if (Option.isSome(typed.delivery) && Option.isNone(typed.failedSince)) {
      return yield* one(target, typed.delivery.value, typed.json)
    }
    if (Option.isSome(typed.failedSince) && Option.isNone(typed.delivery)) {
      return yield* all(target, of, typed.failedSince.value, typed.json)
    }
    const message = "What is to be sent again? Name a delivery, or --failed-since a time"
    return yield* new CommandFailed({ message, reason: "usage" })
  }),
).pipe(
  Command.withShortDescription("Send a delivery again, or all that failed"),
  Command.withDescription(
    "Send a delivery again, or all that failed since a time: the same id and body, freshly " +
      "signed, with as many attempts as a new one has.",
  ),
  Command.withExamples([
    { command: "millrace webhooks resend msg_0198...", description: "One" },
    {
      command: "millrace webhooks resend --failed-since 2030-01-31T12:00:00Z",
      description: "All, after a receiver was down",
    },
  ]),
)

const test = Command.make(
  "test",
  {
    address: Argument.String("address").pipe(
      Argument.withDescription("Where to send it, as a start would name it"),
    ),
    account: account("Whose secret signs it, by name or id").pipe(Flag.withDefault("default")),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const { test: run } = yield* load
    yield* run(target, typed.account, typed.address, typed.json)
  }),
).pipe(
  Command.withShortDescription("Send a test event to an address"),
  Command.withDescription(
    "Send an event of type webhook.test, signed as any other. Prints the delivery's id.",
  ),
  Command.withExamples([
    { command: "millrace webhooks test https://example.com/hooks", description: "Try a receiver" },
  ]),
)

const secret = Command.make(
  "secret",
  {
    account: account("Whose secret, by name or id").pipe(Flag.withDefault("default")),
    rotate: Flag.Boolean("rotate").pipe(
      Flag.withoutNegation,
      Flag.withDefault(false),
      Flag.withDescription("Make a new one first; the others go on signing for the overlap"),
    ),
    overlap: read("overlap", "duration", "How long two secrets sign, such as 1h (24h)", (text) =>
      Option.fromUndefinedOr(readDuration(text)),
    ),
    ...Flags.target,
  },
  Effect.fnUntraced(function* (typed) {
    const target = yield* resolveTarget(Flags.targetFlagsOf(typed))
    const { secret: run } = yield* load
    const millis = Option.getOrUndefined(typed.overlap)
    const overlapSeconds = millis === undefined ? undefined : Math.ceil(millis / 1_000)
    yield* run(target, typed.account, typed.rotate ? { overlapSeconds } : undefined, typed.json)
  }),
).pipe(
  Command.withShortDescription("Show the secrets that sign, or rotate them"),
  Command.withDescription(
    "Show the secrets that an account's deliveries are signed with, oldest first: what a " +
      "receiver verifies with. With --rotate a new one is made, and the old one signs beside it " +
      "for a day.",
  ),
  Command.withExamples([
    { command: "millrace webhooks secret", description: "Of the account default" },
    { command: "millrace webhooks secret --account acme --rotate", description: "A new one" },
  ]),
)

/** The command, with what can be done about webhooks. */
export const webhooks = Command.make("webhooks").pipe(
  Command.withShortDescription("Show, resend and test deliveries; show and rotate secrets"),
  Command.withDescription(
    "Show, resend and test deliveries, and show and rotate the secrets they are signed with: in " +
      "a database, in a folder of millrace dev, or on a running server.",
  ),
  Command.withSubcommands([list, show, resend, test, secret]),
)
