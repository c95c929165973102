/**
 * The email node: hands one message to an SMTP server.
 *
 * Guarantees: the connection goes through the egress guard, over TLS whose certificate is verified.
 * No text becomes a header, a command or a further recipient. All attempts of a node send the same
 * Message-ID. Leaves out: attachments, and whether a message arrives.
 */
import { createHash } from "node:crypto"
import {
  emailLength,
  emailAddressLength,
  recipientsPerEmail,
  secretBytes,
  subjectLength,
} from "@millrace/core/domain/Limits"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Egress } from "@millrace/egress/Egress"
import { Clock, Effect, Schema } from "effect"
import { ofEgress } from "./EgressError.ts"
import type { Message } from "./email/MailDelivery.ts"
import { deliver, imported } from "./email/MailDelivery.ts"
import { domainOf, isAddress, addressOf } from "./email/EmailAddress.ts"
import { CertificatesInput, HostInput, PortInput, TimeoutInput } from "./Endpoint.ts"

/** One line: no line breaks and no other control characters. */
const line = (most: number, description: string) =>
  Schema.String.annotate({ description }).check(
    Schema.isMaxLength(most),
    Schema.makeFilter(
      (text: string) => !/\p{Cc}/u.test(text) || "expected no line breaks or control characters",
    ),
  )

const addressForm = "expected an address such as ann@example.com or Ann <ann@example.com>"

const Address = line(emailAddressLength, "An address.").check(
  Schema.makeFilter((text: string) => isAddress(text) || addressForm),
)

const Addresses = (description: string) =>
  Schema.Union([
    Address,
    Schema.Array(Address).check(Schema.isMaxLength(recipientsPerEmail)),
  ]).annotate({ description })

const inputs = {
  host: HostInput,
  port: Schema.optionalKey(
    PortInput.annotate({ description: "Its port: 587, 465, 25 or 2525.", default: 587 }),
  ),
  tls: Schema.optionalKey(
    Schema.Literals(["starttls", "implicit", "off"]).annotate({
      description:
        "starttls: TLS begins after a greeting; the default, but for port 465. implicit: at " +
        "once. off: without TLS, only in networks that the operator allows.",
    }),
  ),
  certificates: Schema.optionalKey(CertificatesInput),
  user: Schema.optionalKey(line(secretBytes, "Who signs in. Absent: nobody does.")),
  password: Schema.optionalKey(line(secretBytes, "The password; it may name a secret.")),
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
  timeoutSeconds: Schema.optionalKey(TimeoutInput),
}

type Inputs = Schema.Struct<typeof inputs>["Type"]

const listOf = (given: string | ReadonlyArray<string> = []): ReadonlyArray<string> =>
  typeof given === "string" ? [given] : given

const noContent = "expected a text or html"
const halfSignIn = "expected a user and a password"

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

/** The same for all attempts of a node, so that a receiver can know a message again. */
const messageIdOf = (key: string, domain: string): string =>
  `<${createHash("sha256").update(key).digest("hex").slice(0, 32)}@${domain}>`

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

/** Everything of the inputs that a server hears. */
const leavingOf = (given: Inputs): ReadonlyArray<string> => {
  const {
    bcc,
    cc,
    from,
    html = "",
    password = "",
    replyTo,
    subject,
    text = "",
    to,
    user = "",
  } = given
  const addresses = [from, ...[to, cc, bcc, replyTo].flatMap(listOf)]
  return [...addresses, subject, text, html, user, password]
}

const send = Effect.fnUntraced(function* (given: Inputs) {
  const problem = problemOf(given)
  if (problem !== undefined) return yield* new NodeError({ message: problem, retryable: false })
  const { certificates: ca, host, password = "", port = 587, timeoutSeconds = 30, user } = given
  const { tls = port === 465 ? "implicit" : "starttls" } = given
  const library = yield* imported
  const { accountId: account, idempotencyKey } = yield* CurrentNode
  const egress = yield* Egress
  const message = messageOf(given, idempotencyKey, yield* Clock.currentTimeMillis)
  const server = { host, tls, ca, auth: user === undefined ? undefined : { user, pass: password } }
  const call = {
    protocol: "smtp:",
    host,
    port,
    isSecure: tls !== "off",
    account,
    timeoutMillis: timeoutSeconds * 1_000,
    leaving: leavingOf(given),
  } as const
  return yield* egress
    .socket(call, (socket) => deliver(library, socket, server, message))
    .pipe(
      Effect.catchTag(["EgressRefused", "EgressFailed"], (error) => Effect.fail(ofEgress(error))),
    )
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
