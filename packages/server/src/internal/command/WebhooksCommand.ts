/**
 * `millrace webhooks` on the command line.
 */
import { DeliveryState } from "@millrace/core/domain/Delivery"
import * as Argument from "effect/cli/Argument"
import * as Command from "effect/cli/Command"
import * as Flag from "effect/cli/Flag"
import { CommandFailed } from "../../CommandFailed.ts"
import { commandsOf } from "./AdminCommand.ts"
import { describe, everywhere } from "./Description.ts"
import * as Flags from "./Flags.ts"
import { readBetween, readCount, readDuration } from "../config/Readers.ts"

const command = commandsOf(() => import("../admin/WebhookTasks.ts"))

const account = (description: string) => Flags.text("account", "name", description)

const ofAccount = Flags.optional(account("Whose deliveries, by name or id; all by default"))

const delivery = Argument.String("delivery").pipe(Argument.withDescription("The delivery's id"))

const list = command(
  "list",
  {
    short: "Show deliveries, newest first",
    long: "Show the newest deliveries: what was sent where, and how far it is.",
    examples: {
      "millrace webhooks list --state FAILED": "What did not arrive",
      "millrace webhooks list --run run_0198... --json": "Of one run",
    },
  },
  {
    account: ofAccount,
    run: Flags.optional(Flags.text("run", "id", "Of this run only")),
    state: Flags.optional(
      Flag.Literals("state", DeliveryState.literals).pipe(
        Flag.withDescription("In this state only"),
      ),
    ),
    limit: Flags.read(
      "limit",
      "number",
      "How many at most, 1 to 50 (20)",
      readBetween(readCount, 1, 50),
    ),
  },
  (tasks, session, { account: reference, limit = 20, run, state }) =>
    tasks.list(session, reference, { ...Flags.given({ runId: run, state }), limit }),
)

const show = command(
  "show",
  {
    short: "Show what is sent, and every attempt",
    long:
      "Show a delivery: the body that is sent, and every attempt with the beginning of its " +
      "answer.",
    examples: { "millrace webhooks show msg_0198...": "By its id" },
  },
  { delivery },
  (tasks, session, typed) => tasks.show(session, typed.delivery),
)

const resend = command(
  "resend",
  {
    short: "Send a delivery again, or all that failed",
    long:
      "Send a delivery again, or all that failed since a time: the same id and body, freshly " +
      "signed, with as many attempts as a new one has.",
    examples: {
      "millrace webhooks resend msg_0198...": "One",
      "millrace webhooks resend --failed-since 2030-01-31T12:00:00Z":
        "All, after a receiver was down",
    },
  },
  {
    delivery: Flags.optionalArgument(delivery),
    failedSince: Flags.time("failed-since", "All that failed since then: 2030-01-31"),
    account: ofAccount,
  },
  (tasks, session, { account: reference, delivery: one, failedSince }) => {
    if (one !== undefined && failedSince === undefined) return tasks.resend(session, one)
    if (one === undefined && failedSince !== undefined) {
      return tasks.resendFailed(session, reference, failedSince)
    }
    const message = "What is to be sent again? Name a delivery, or --failed-since a time"
    return new CommandFailed({ message, reason: "usage" })
  },
)

const test = command(
  "test",
  {
    short: "Send a test event to an address",
    long: "Send an event of type webhook.test, signed as any other. Prints the delivery's id.",
    examples: { "millrace webhooks test https://example.com/hooks": "Try a receiver" },
  },
  {
    address: Argument.String("address").pipe(
      Argument.withDescription("Where to send it, as a start would name it"),
    ),
    account: account("Whose secret signs it, by name or id").pipe(Flag.withDefault("default")),
  },
  (tasks, session, { account: reference, address }) => tasks.test(session, reference, address),
)

const secret = command(
  "secret",
  {
    short: "Show the secrets that sign, or rotate them",
    long:
      "Show the secrets that an account's deliveries are signed with, oldest first: what a " +
      "receiver verifies with. With --rotate a new one is made, and the old one signs beside it " +
      "for a day.",
    examples: {
      "millrace webhooks secret": "Of the account default",
      "millrace webhooks secret --account acme --rotate": "A new one",
    },
  },
  {
    account: account("Whose secret, by name or id").pipe(Flag.withDefault("default")),
    rotate: Flags.isTyped(
      "rotate",
      "Make a new one first; the others go on signing for the overlap",
    ),
    overlap: Flags.read(
      "overlap",
      "duration",
      "How long two secrets sign, such as 1h (24h)",
      readDuration,
    ),
  },
  (tasks, session, { account: reference, overlap, rotate }) => {
    const seconds = overlap === undefined ? {} : { overlapSeconds: Math.ceil(overlap / 1_000) }
    return tasks.secret(session, reference, rotate ? seconds : undefined)
  },
)

/** The command, with what can be done about webhooks. */
export const webhooks = Command.make("webhooks").pipe(
  describe({
    short: "Show, resend and test deliveries; show and rotate secrets",
    long: everywhere(
      "Show, resend and test deliveries, and show and rotate the secrets they are signed with",
    ),
  }),
  Command.withSubcommands([list, show, resend, test, secret]),
)
