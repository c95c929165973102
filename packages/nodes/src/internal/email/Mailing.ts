/**
 * The mail server of a node: its inputs, and handing it a message through the egress guard.
 *
 * Guarantees: without a setting, the connection is over TLS. All attempts of a node send the same
 * Message-ID for the same message. Leaves out: what messages say.
 */
import { createHash } from "node:crypto"
import { emailAddressLength, secretBytes } from "@millrace/core/domain/Limits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Schema } from "effect"
import { ofEgress } from "../EgressError.ts"
import { CertificatesInput, HostInput, PortInput, TimeoutInput } from "../Endpoint.ts"
import { isAddress } from "./EmailAddress.ts"
import type { Message } from "./MailDelivery.ts"
import { deliver, imported } from "./MailDelivery.ts"

/** One line: no line breaks and no other control characters. */
export const line = (most: number, description: string) =>
  Schema.String.annotate({ description }).check(
    Schema.isMaxLength(most),
    Schema.makeFilter(
      (text: string) => !/\p{Cc}/u.test(text) || "expected no line breaks or control characters",
    ),
  )

const addressForm = "expected an address such as ann@example.com or Ann <ann@example.com>"

export const Address = line(emailAddressLength, "An address.").check(
  Schema.makeFilter((text: string) => isAddress(text) || addressForm),
)

/** The inputs of a node that say how it comes to its mail server; with `host`, the server. */
export const serverInputs = {
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
  timeoutSeconds: Schema.optionalKey(TimeoutInput),
}

const allInputs = { host: HostInput, ...serverInputs }

/** How a node comes to its mail server. */
export type ServerInputs = Schema.Struct<typeof allInputs>["Type"]

/** The clause where only one half of a sign-in is given. */
export const halfSignIn = "expected a user and a password"

/** The same for all attempts of a message of a node, so that a receiver can know it again. */
export const messageIdOf = (key: string, domain: string): string =>
  `<${createHash("sha256").update(key).digest("hex").slice(0, 32)}@${domain}>`

/** Hands a message to the server. `leaving`: everything of the inputs that the server hears. */
export const mail = Effect.fnUntraced(function* (
  { certificates: ca, host, password = "", user, ...given }: ServerInputs,
  message: Message,
  leaving: ReadonlyArray<string>,
) {
  const { port = 587, timeoutSeconds = 30 } = given
  const { tls = port === 465 ? "implicit" : "starttls" } = given
  const library = yield* imported
  const { accountId: account } = yield* CurrentNode
  const egress = yield* Egress
  const server = { host, tls, ca, auth: user === undefined ? undefined : { user, pass: password } }
  const call = {
    protocol: "smtp:",
    host,
    port,
    isSecure: tls !== "off",
    account,
    timeoutMillis: timeoutSeconds * 1_000,
    leaving: [...leaving, user ?? "", password],
  } as const
  return yield* egress
    .socket(call, (socket) => deliver(library, socket, server, message))
    .pipe(
      Effect.catchTag(["EgressRefused", "EgressFailed"], (error) => Effect.fail(ofEgress(error))),
    )
})
