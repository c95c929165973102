/**
 * The email node: hands one message to an SMTP server.
 *
 * Guarantees: the connection goes through the egress guard, over TLS whose certificate is verified.
 * No text becomes a header, a command or a further recipient. All attempts of a node send the same
 * Message-ID. Leaves out: attachments, and whether a message arrives.
 */
import { emailLength, recipientsPerEmail, subjectLength } from "@millrace/core/domain/Limits"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Clock, Effect, Schema } from "effect"
import { addressOf, domainOf } from "./email/EmailAddress.ts"
import type { Message } from "./email/MailDelivery.ts"
import { Address, halfSignIn, line, mail, messageIdOf, serverInputs } from "./email/Mailing.ts"
import { HostInput } from "./Endpoint.ts"

const Addresses = (description: string) =>
  Schema.Union([
    Address,
    Schema.Array(Address).check(Schema.isMaxLength(recipientsPerEmail)),
  ]).annotate({ description })

const { timeoutSeconds: timeoutInput, ...server } = serverInputs

const inputs = {
  host: HostInput,
  ...server,
  from: Address.annotate({ description: "The sender: an address, or Name <address>." }),
  to: Addresses("The recipients: one, or an array."),
  cc: Schema.optionalKey(Addresses("Who gets a copy.")),
  bcc: Schema.optionalKey(Addresses("Who gets a copy that nobody else sees.")),
  replyTo: Schema.optionalKey(Address.annotate({ description: "Where answers go." })),
  subject: line(subjectLength, "The subject."),
  text: Schema.optionalKey(
    Schema.String.annotate({ description: "The message as plain text." }).check(
      Schema.isMaxLength(emailLength),
    ),
  ),
  html: Schema.optionalKey(
    Schema.String.annotate({ description: "The message as HTML." }).check(
      Schema.isMaxLength(emailLength),
    ),
  ),
  timeoutSeconds: timeoutInput,
}

type Inputs = Schema.Struct<typeof inputs>["Type"]

const listOf = (given: string | ReadonlyArray<string> = []): ReadonlyArray<string> =>
  typeof given === "string" ? [given] : given

const noContent = "expected a text or html"

const problemOf = ({ bcc, cc, html, password, text, to, user }: Inputs): string | undefined => {
  const count = [to, cc, bcc].flatMap(listOf).length
  if (count === 0) return "expected a recipient"
  if (count > recipientsPerEmail) return `expected at most ${recipientsPerEmail} recipients`
  if (text === undefined && html === undefined) return noContent
  if ((user === undefined) !== (password === undefined)) return halfSignIn
  return undefined
}

/** What is known to be wrong before the node executes. */
const problemsOfInputs = ({ mayHave }: KnownInputs) => {
  const problems: Array<readonly [port: string, clause: string]> = []
  if (!mayHave("text") && !mayHave("html")) problems.push(["text", noContent])
  if (mayHave("user") !== mayHave("password")) {
    problems.push([mayHave("user") ? "password" : "user", halfSignIn])
  }
  return problems
}

const messageOf = (given: Inputs, key: string, at: number): Message => ({
  from: addressOf(given.from),
  to: listOf(given.to).map(addressOf),
  cc: listOf(given.cc).map(addressOf),
  bcc: listOf(given.bcc).map(addressOf),
  replyTo: listOf(given.replyTo).map(addressOf),
  subject: given.subject,
  text: given.text,
  html: given.html,
  messageId: messageIdOf(key, domainOf(addressOf(given.from))),
  date: new Date(at),
})

/** Everything of the inputs that a server hears, without the sign-in. */
const leavingOf = ({ bcc, cc, from, html = "", replyTo, subject, text = "", to }: Inputs) => [
  from,
  ...[to, cc, bcc, replyTo].flatMap(listOf),
  subject,
  text,
  html,
]

const send = Effect.fnUntraced(function* (given: Inputs) {
  const problem = problemOf(given)
  if (problem !== undefined) return yield* new NodeError({ message: problem, retryable: false })
  const { idempotencyKey } = yield* CurrentNode
  const message = messageOf(given, idempotencyKey, yield* Clock.currentTimeMillis)
  return yield* mail(given, message, leavingOf(given))
})

/** `email`: hands a message to an SMTP server. */
export const email = define({
  key: "email",
  effects: "writes",
  name: "E-mail",
  description:
    "Hands a message to an SMTP server, over TLS. If the server accepts only some recipients, " +
    "the others are in rejected; if it accepts none, the node fails.",
  category: "network",
  icon: "mail",
  inputs,
  secrets: ["user", "password"],
  problemsOfInputs,
  outputs: {
    accepted: Schema.Array(Schema.String).annotate({
      description: "The addresses that the server accepted.",
    }),
    rejected: Schema.Array(Schema.String).annotate({
      description: "The addresses that the server did not accept.",
    }),
    messageId: Schema.String.annotate({ description: "The Message-ID." }),
  },
  example: {
    inputs: {
      host: "smtp.example.com",
      user: "orders",
      password: "{{ secrets.smtp }}",
      from: "Orders <orders@example.com>",
      to: "ann@example.com",
      subject: "Your order",
      text: "Thank you!",
    },
    outputs: {
      accepted: ["ann@example.com"],
      rejected: [],
      messageId: "<0f1e2d3c4b5a69788796a5b4c3d2e1f0@example.com>",
    },
  },
  run: send,
})
