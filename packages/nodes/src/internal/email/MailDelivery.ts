/**
 * Hands a message to an SMTP server, over a socket of the guard.
 *
 * Guarantees: signs in only over TLS, or where the guard allowed to go without. Names this machine
 * to nobody. Leaves out: retries.
 */
import { NodeError } from "@millrace/core/engine/CurrentNode"
import type { EgressFailed, OpenSocket } from "@millrace/egress/Egress"
import { Effect } from "effect"
import { shown } from "../Shown.ts"
import type { EmailAddress } from "./EmailAddress.ts"
import { domainOf } from "./EmailAddress.ts"

/** A server, and who signs in there. */
export interface MailServer {
  readonly host: string
  readonly tls: "starttls" | "implicit" | "off"
  /** Who vouches for the server, as PEM text. */
  readonly ca: string | undefined
  readonly auth: { readonly user: string; readonly pass: string } | undefined
}

/** A message. */
export interface Message {
  readonly from: EmailAddress
  readonly to: ReadonlyArray<EmailAddress>
  readonly cc: ReadonlyArray<EmailAddress>
  readonly bcc: ReadonlyArray<EmailAddress>
  readonly replyTo: ReadonlyArray<EmailAddress>
  readonly subject: string
  readonly text: string | undefined
  readonly html: string | undefined
  readonly messageId: string
  readonly date: Date
}

/** What the server accepted. */
export interface Delivered {
  readonly accepted: ReadonlyArray<string>
  readonly rejected: ReadonlyArray<string>
  readonly messageId: string
}

/** What is used of the library, which wants a socket where a stream is enough. */
interface Library {
  readonly createTransport: (options: object) => {
    readonly sendMail: (mail: object) => Promise<Delivered>
  }
}

/** The version that this package was tested with, as its package.json says. */
const nodemailerVersion = "10.6.0"

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND"

const missing =
  "the node type email needs the package nodemailer: install it with " +
  `npm install nodemailer@${nodemailerVersion}`

/** Imported when the first message is sent. Who sends none need not install it. */
export const imported = Effect.tryPromise({
  try: async () => (await import("nodemailer")) as unknown as Library,
  catch: (cause) => cause,
}).pipe(
  Effect.catchIf(isMissing, () =>
    Effect.fail(new NodeError({ message: missing, retryable: false })),
  ),
  Effect.catchIf((error) => !(error instanceof NodeError), Effect.die),
)

/** What the library says of a failure. */
interface Failure extends Error {
  readonly code?: string
  readonly command?: string
  readonly response?: string
  readonly responseCode?: number
}

/** What a failure means, by the library's code. */
const meanings: { readonly [code: string]: string } = {
  EAUTH: "The server refused the sign-in",
  EENVELOPE: "The server accepted no recipient",
  EMESSAGE: "The server refused the message",
}

const brokenOff = "The connection was closed before the answer was complete"

const failureOf = (error: unknown): NodeError => {
  const { code = "", command = "", response = "", responseCode } = error as Failure
  // Errors of OpenSSL have a field `library`.
  const isOfTls = code === "ETLS" || "library" in (error as Failure)
  if (isOfTls) return new NodeError({ message: "No secure connection could be made" })
  if (response === "" && !Object.hasOwn(meanings, code)) {
    const isUnclear = code === "EPROTOCOL"
    return new NodeError({
      message: isUnclear ? "What the server answers cannot be understood" : brokenOff,
    })
  }
  const meaning =
    command === "MAIL FROM"
      ? "The server refused the sender"
      : (meanings[code] ?? "The server refused")
  const message = `${meaning}: ${shown(response === "" ? (error as Failure).message : response)}`
  const isPassing = responseCode !== undefined && responseCode >= 400 && responseCode < 500
  return new NodeError(isPassing ? { message } : { message, retryable: false })
}

const transportOf = (
  { createTransport }: Library,
  { stream }: OpenSocket,
  { auth, ca, host, tls }: MailServer,
  name: string,
) =>
  createTransport({
    connection: stream,
    host,
    name,
    secure: tls === "implicit",
    secured: tls === "implicit",
    ...(tls === "starttls" ? { requireTLS: true } : { ignoreTLS: true }),
    tls: { rejectUnauthorized: true, ...(ca === undefined ? {} : { ca }) },
    ...(auth === undefined ? {} : { auth, forceAuth: true }),
    disableFileAccess: true,
    disableUrlAccess: true,
  })

/** Sends a message. The caller closes the socket. */
export const deliver = Effect.fnUntraced(function* (
  nodemailer: Effect.Success<typeof imported>,
  socket: OpenSocket,
  server: MailServer,
  { bcc, cc, from, html, replyTo, text, to, ...others }: Message,
): Effect.fn.Return<Delivered, NodeError | EgressFailed> {
  if (server.tls === "implicit") yield* socket.secure(server.ca)
  const transport = transportOf(nodemailer, socket, server, domainOf(from))
  const recipients = [...to, ...cc, ...bcc].map(({ address }) => address)
  const mail = {
    ...others,
    from,
    to,
    cc,
    replyTo,
    envelope: { from: from.address, to: recipients },
    xMailer: false,
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
  }
  const { accepted, messageId, rejected } = yield* Effect.tryPromise({
    try: () => transport.sendMail(mail),
    catch: failureOf,
  })
  return { accepted, rejected, messageId }
})
