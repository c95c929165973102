/**
 * `millrace webhooks` on the command line.
 */
import { DeliveryState } from "@millrace/core/domain/Delivery"
import * as Argument from "effect/cli/Argument"
import * as Flag from "effect/cli/Flag"
import { CommandFailed } from "../../CommandFailed.ts"
import { commandsOf } from "./AdminCommand.ts"
import { commandGroup } from "./Description.ts"
import * as Flags from "./Flags.ts"
import { readBetween, readCount, readDuration } from "../config/Readers.ts"

const command = commandsOf(() => import("../admin/WebhookTasks.ts"))

const account = (description: string) => Flags.text("account", "name", description)

const ofAccount = Flags.optional(account("The deliveries' account, by name or id; all by default"))

const delivery = Argument.String("delivery").pipe(Argument.withDescription("The delivery's id"))

const list = command(
  "list",
  {
    short: "Show deliveries, newest first",
    long: "Show the newest deliveries, with their addresses, states and attempts.",
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
    short: "Show the body and the attempts of a delivery",
    long:
      "Show the body of a delivery, and every attempt with the beginning of the receiver's " +
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
      "Send a delivery again, or all that failed since a time. Id and body stay the same. The " +
      "signature is new, and the delivery has as many attempts as a new one.",
    examples: {
      "millrace webhooks resend msg_0198...": "One",
      "millrace webhooks resend --failed-since 2030-01-31T12:00:00Z":
        "All, after a receiver was down",
    },
  },
  {
    delivery: Flags.optionalArgument(delivery),
    failedSince: Flags.time("failed-since", "All that failed since, such as 2030-01-31"),
    account: ofAccount,
  },
  (tasks, session, { account: reference, delivery: one, failedSince }) => {
    if (one !== undefined && failedSince === undefined) return tasks.resend(session, one)
    if (one === undefined && failedSince !== undefined) {
      return tasks.resendFailed(session, reference, failedSince)
    }
    const message = "Nothing to send again is named: type a delivery's id, or --failed-since"
    return CommandFailed.usage(message)
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
    address: Argument.String("address").pipe(Argument.withDescription("The receiver's address")),
    account: account("The account whose secret signs it, by name or id").pipe(
      Flag.withDefault("default"),
    ),
  },
  (tasks, session, { account: reference, address }) => tasks.test(session, reference, address),
)

const secret = command(
  "secret",
  {
    short: "Show or rotate the signing secrets of an account",
    long:
      "Show the secrets that sign an account's deliveries, oldest first. Receivers verify with " +
      "them. --rotate makes a new secret; the old one signs beside it for a day.",
    examples: {
      "millrace webhooks secret": "Of the account default",
      "millrace webhooks secret --account acme --rotate": "A new one",
    },
  },
  {
    account: account("The secrets' account, by name or id").pipe(Flag.withDefault("default")),
    rotate: Flags.isTyped(
      "rotate",
      "Make a new secret first; the old ones go on signing for the overlap",
    ),
    overlap: Flags.read(
      "overlap",
      "duration",
      "How long the old secrets go on signing, such as 1h (24h)",
      readDuration,
    ),
  },
  (tasks, session, { account: reference, overlap, rotate }) => {
    const seconds = overlap === undefined ? {} : { overlapSeconds: Math.ceil(overlap / 1_000) }
    return tasks.secret(session, reference, rotate ? seconds : undefined)
  },
)

/** The command with its subcommands. */
export const webhooks = commandGroup(
  "webhooks",
  "Show, resend and test deliveries; show and rotate secrets",
  [list, show, resend, test, secret],
  "Show, resend and test deliveries, and show and rotate the secrets that sign them",
)
