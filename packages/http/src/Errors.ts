/**
 * The one table of refusals: each with its status, sentence, machine code and headers.
 *
 * Guarantees: every refusal has exactly one form on the wire. The cause of a fault goes to the log
 * and never to a client. The answer `NotFound` does not repeat the identifier, so it is the same
 * for every identifier. Leaves out: the sentences of the engine's refusals; the engine has those.
 */
import type { ErrorCode } from "@millrace/api/MillraceError"
import { MillraceError } from "@millrace/api/MillraceError"
import * as Wire from "@millrace/api/WireError"
import { plain } from "@millrace/core/domain/Quote"
import type * as Refusals from "@millrace/core/engine/Refusals"
import type { InvalidKey, KeyNotFound } from "@millrace/core/engine/Keys"
import type { InvalidSecret, SecretNotFound } from "@millrace/core/engine/Secrets"
import type { InvalidSession, SessionNotFound, TicketRefused } from "@millrace/core/engine/Sessions"
import type { InvalidTrigger, TriggerNotFound } from "@millrace/core/engine/Triggers"
import type { VaultClosed } from "@millrace/core/ports/Vault"
import type { AccountNotFound, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { SearchTooBroad } from "@millrace/core/ports/RunStore"
import type { TooManySecrets } from "@millrace/core/ports/SecretStore"
import type { TooManySessions } from "@millrace/core/ports/SessionStore"
import type { TooManyTriggers } from "@millrace/core/ports/TriggerStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { TransactionRefused } from "@millrace/core/ports/Transactions"
import { Unsupported } from "@millrace/core/ports/OptionalPort"
import { Data, Effect } from "effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { CurrentRequest } from "./internal/RequestId.ts"

interface Retry {
  readonly retryAfterSeconds: number
}

/** The request has the wrong form; the sentence names the place. */
export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  readonly message: string
}> {}

/** The request has no valid API key. The error says no more, so a stranger learns nothing. */
export class KeyRefused extends Data.TaggedError("KeyRefused") {}

/** The application that mounts the interface does not grant the request. */
export class SignInRefused extends Data.TaggedError("SignInRefused") {}

/** The address is not below the path at which the interface is mounted. */
export class OutsideBasePath extends Data.TaggedError("OutsideBasePath")<{
  readonly basePath: string
}> {}

/** The request does not carry the admin token. */
export class TokenRefused extends Data.TaggedError("TokenRefused") {}

/** The request has no live session. The error says no more, so a stranger learns nothing. */
export class SessionRefused extends Data.TaggedError("SessionRefused") {}

/** The session may not do this. The message says what it lacks. */
export class NotPermitted extends Data.TaggedError("NotPermitted")<{ readonly message: string }> {}

/** A browser sent the request from a page of another site. */
export class CrossSite extends Data.TaggedError("CrossSite") {}

/** The request names another host than this machine. */
export class WrongHost extends Data.TaggedError("WrongHost") {}

/** The session has used up its requests of this minute. */
export class SessionLimited extends Data.TaggedError("SessionLimited")<Retry> {}

/** The key has used up a rate limit. */
export class LimitExceeded extends Data.TaggedError("LimitExceeded")<Retry> {}

/** Too many bad API keys or tokens came from the request's address. */
export class TooManyBadTokens extends Data.TaggedError("TooManyBadTokens")<Retry> {}

/** The key, or all keys together, have as many open streams as allowed. */
export class TooManyStreams extends Data.TaggedError("TooManyStreams")<{
  readonly of: "key" | "server"
}> {}

/** The body has more bytes than allowed. */
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{ readonly limit: number }> {}

/** The `Content-Type` is not JSON. */
export class NotJson extends Data.TaggedError("NotJson") {}

/** A request to an inbound webhook does not show that it comes from its sender. */
export class SenderRefused extends Data.TaggedError("SenderRefused") {}

/** A request to an inbound webhook comes from an address that it does not list. */
export class NetworkRefused extends Data.TaggedError("NetworkRefused") {}

/** An inbound webhook gets too many requests. */
export class WebhookLimited extends Data.TaggedError("WebhookLimited")<Retry> {}

/** The token of a link is none, or its approval is gone. The error says no more. */
export class LinkRefused extends Data.TaggedError("LinkRefused") {}

/** A link of an approval is used too often. */
export class ApprovalLimited extends Data.TaggedError("ApprovalLimited")<Retry> {}

/** The `Content-Type` is none that an inbound webhook reads. */
export class UnknownMediaType extends Data.TaggedError("UnknownMediaType") {}

/** The body is compressed. */
export class Compressed extends Data.TaggedError("Compressed") {}

/** The credits do not cover the start of whoever may not know what the account has. */
export class CreditsRefused extends Data.TaggedError("CreditsRefused")<{
  readonly message: string
}> {}

/** Says of a refused start no more of the account than that its credits do not cover it. */
export const withoutBalance = (refusal: InsufficientCredits): CreditsRefused =>
  new CreditsRefused({ message: refusal.withoutBalance })

/** There is nothing at this address. */
export class UnknownRoute extends Data.TaggedError("UnknownRoute") {}

/** The address exists, but not with this method. */
export class WrongMethod extends Data.TaggedError("WrongMethod")<{
  readonly method: string
  readonly allowed: ReadonlyArray<string>
}> {}

/** The request was interrupted because the server is shutting down. */
export class ShuttingDown extends Data.TaggedError("ShuttingDown") {}

/** A defect: the log has its cause. */
export class Fault extends Data.TaggedError("Fault") {}

/** Every error that a request can get. */
export type Refusal =
  | Refusals.WorkflowNotFound
  | Refusals.VersionNotFound
  | Refusals.RunNotFound
  | Refusals.NodeNotFound
  | Refusals.ValueNotFound
  | Refusals.NotInQuarantine
  | Refusals.DeliveryNotFound
  | Refusals.InvalidGraph
  | Refusals.InvalidWebhook
  | Refusals.RevisionMismatch
  | Refusals.TooManyChanges
  | Refusals.RunEnded
  | Refusals.InboxFull
  | Refusals.SignalsFull
  | Refusals.InvalidMessage
  | Refusals.RunOpen
  | Refusals.ApprovalNotFound
  | Refusals.ApprovalOver
  | Refusals.InvalidDecision
  | Refusals.NotApprover
  | InsufficientCredits
  | CreditsRefused
  | Refusals.BeyondMaxCredits
  | Refusals.RunsFull
  | Refusals.QueueFull
  | Refusals.IdempotencyKeyTaken
  | SearchTooBroad
  | StorageError
  | TransactionRefused
  | VaultClosed
  | InvalidRequest
  | KeyRefused
  | SignInRefused
  | OutsideBasePath
  | TokenRefused
  | SessionRefused
  | TicketRefused
  | NotPermitted
  | CrossSite
  | WrongHost
  | SessionLimited
  | InvalidSession
  | SessionNotFound
  | TooManySessions
  | InvalidTrigger
  | TriggerNotFound
  | TooManyTriggers
  | AccountNotFound
  | KeyNotFound
  | InvalidKey
  | LabelTaken
  | TooManyKeys
  | InvalidSecret
  | SecretNotFound
  | TooManySecrets
  | LimitExceeded
  | TooManyBadTokens
  | TooManyStreams
  | BodyTooLarge
  | NotJson
  | UnknownMediaType
  | SenderRefused
  | NetworkRefused
  | WebhookLimited
  | LinkRefused
  | ApprovalLimited
  | Compressed
  | UnknownRoute
  | WrongMethod
  | ShuttingDown
  | Fault

type Tag = Refusal["_tag"]
type Of<T extends Tag> = Extract<Refusal, { readonly _tag: T }>
type Headers = Readonly<Record<string, string>>

/** The form of one refusal on the wire. */
export interface Form<R, E extends Wire.WireError> {
  readonly code: Lowercase<ErrorCode>
  readonly error: (refusal: R) => E
  readonly headers?: (refusal: R) => Headers
}

/** The class of an error of the interface. */
type WireClass<E extends Wire.WireError> = new (body: { readonly error: string }) => E
type Code = Form<never, never>["code"]

/** A refusal whose own message is the sentence. */
const told = <E extends Wire.WireError>(code: Code, Class: WireClass<E>) => ({
  code,
  error: ({ message }: { readonly message: string }) => new Class({ error: message }),
})

/** A refusal that has one sentence, and perhaps headers. */
const says = <E extends Wire.WireError>(
  code: Code,
  Class: WireClass<E>,
  error: string,
  headers: Headers = {},
) => ({ code, error: () => new Class({ error }), headers: () => headers })

const later = ({ retryAfterSeconds }: Retry) => ({ "retry-after": String(retryAfterSeconds) })

/** A refusal that says when to try again. */
const retried = (code: Code, sentence: string) => ({
  code,
  error: ({ retryAfterSeconds }: Retry) =>
    new Wire.TooManyRequests({ error: `${sentence}; retry in ${retryAfterSeconds} s` }),
  headers: later,
})

const bearer = { "www-authenticate": "Bearer" }

const forms = {
  WorkflowNotFound: says("workflow_not_found", Wire.NotFound, "The workflow does not exist"),
  VersionNotFound: says(
    "version_not_found",
    Wire.NotFound,
    "The workflow has no such version, or has forgotten it",
  ),
  RunNotFound: says("run_not_found", Wire.NotFound, "The run does not exist"),
  NodeNotFound: says("node_not_found", Wire.NotFound, "The run has no such node"),
  ValueNotFound: says("value_not_found", Wire.NotFound, "The run has no such value"),
  NotInQuarantine: told("not_in_quarantine", Wire.NotFound),
  InvalidGraph: told("invalid_graph", Wire.BadRequest),
  InvalidWebhook: told("invalid_webhook", Wire.BadRequest),
  DeliveryNotFound: says("delivery_not_found", Wire.NotFound, "The delivery does not exist"),
  RevisionMismatch: told("revision_mismatch", Wire.PreconditionFailed),
  TooManyChanges: told("too_many_changes", Wire.Conflict),
  RunEnded: told("run_ended", Wire.Conflict),
  InboxFull: told("inbox_full", Wire.Conflict),
  SignalsFull: told("signals_full", Wire.Conflict),
  InvalidMessage: told("invalid_request", Wire.BadRequest),
  RunOpen: told("run_open", Wire.Conflict),
  ApprovalNotFound: says("approval_not_found", Wire.NotFound, "The run has no such approval"),
  ApprovalOver: told("approval_over", Wire.Conflict),
  InvalidDecision: told("invalid_request", Wire.BadRequest),
  NotApprover: told("forbidden", Wire.Forbidden),
  InsufficientCredits: told("insufficient_credits", Wire.PaymentRequired),
  CreditsRefused: told("insufficient_credits", Wire.PaymentRequired),
  BeyondMaxCredits: told("beyond_max_credits", Wire.PaymentRequired),
  RunsFull: { ...told("runs_full", Wire.TooManyRequests), headers: later },
  QueueFull: { ...told("queue_full", Wire.TooManyRequests), headers: later },
  IdempotencyKeyTaken: says(
    "idempotency_key_taken",
    Wire.Conflict,
    "Idempotency-Key: was given to another start within 24 hours",
  ),
  SearchTooBroad: told("invalid_request", Wire.BadRequest),
  StorageError: {
    code: "store_unavailable",
    error: ({ cause, message }) =>
      new Wire.Unavailable({
        error: cause instanceof Unsupported ? message : "The store is unavailable; try again",
      }),
  },
  TransactionRefused: told("invalid_request", Wire.BadRequest),
  // Only operators meet this error. Its message names the key and does not show it.
  VaultClosed: told("vault_closed", Wire.Unavailable),
  InvalidRequest: told("invalid_request", Wire.BadRequest),
  KeyRefused: says(
    "key_refused",
    Wire.Unauthorized,
    "API key is missing, invalid or expired",
    bearer,
  ),
  SignInRefused: says("sign_in_refused", Wire.Unauthorized, "The request is not signed in"),
  OutsideBasePath: {
    code: "unknown_route",
    error: ({ basePath }) =>
      new Wire.NotFound({
        error: `The address is not below ${basePath}: set basePath to where the engine is mounted`,
      }),
  },
  TokenRefused: says(
    "token_refused",
    Wire.Unauthorized,
    "The admin token is missing or wrong",
    bearer,
  ),
  SessionRefused: says(
    "session_refused",
    Wire.Unauthorized,
    "There is no session, or it is over: sign in again",
  ),
  TicketRefused: told("ticket_refused", Wire.Unauthorized),
  NotPermitted: told("forbidden", Wire.Forbidden),
  CrossSite: says(
    "cross_site",
    Wire.Forbidden,
    "The request comes from a page of another site, so nothing was done",
  ),
  WrongHost: says(
    "wrong_host",
    Wire.Forbidden,
    "The console answers on this machine only: open it at 127.0.0.1 or localhost",
  ),
  SessionLimited: retried("limit_exceeded", "The session makes too many requests"),
  InvalidSession: told("invalid_session", Wire.BadRequest),
  SessionNotFound: told("session_not_found", Wire.NotFound),
  TooManySessions: told("too_many_sessions", Wire.Conflict),
  InvalidTrigger: told("invalid_trigger", Wire.BadRequest),
  TriggerNotFound: says("trigger_not_found", Wire.NotFound, "The trigger does not exist"),
  TooManyTriggers: told("too_many_triggers", Wire.Conflict),
  AccountNotFound: told("account_not_found", Wire.NotFound),
  KeyNotFound: told("key_not_found", Wire.NotFound),
  InvalidKey: told("invalid_key", Wire.BadRequest),
  LabelTaken: told("label_taken", Wire.Conflict),
  TooManyKeys: told("too_many_keys", Wire.Conflict),
  InvalidSecret: told("invalid_secret", Wire.BadRequest),
  SecretNotFound: told("secret_not_found", Wire.NotFound),
  TooManySecrets: told("too_many_secrets", Wire.Conflict),
  LimitExceeded: retried("limit_exceeded", "The rate limit of the API key is exceeded"),
  TooManyBadTokens: retried("too_many_bad_tokens", "Too many bad API keys came from this address"),
  TooManyStreams: {
    code: "too_many_streams",
    error: ({ of }) =>
      of === "key"
        ? new Wire.TooManyRequests({ error: "The API key holds too many streams open" })
        : new Wire.Unavailable({ error: "The server holds too many streams open; try again" }),
    headers: () => ({ "retry-after": "5" }),
  },
  BodyTooLarge: {
    code: "body_too_large",
    error: ({ limit }) =>
      new Wire.PayloadTooLarge({ error: `The body is larger than ${limit} bytes` }),
    // The rest of the body is not read, so the connection cannot be used again.
    headers: () => ({ connection: "close" }),
  },
  NotJson: says(
    "unsupported_media_type",
    Wire.UnsupportedMediaType,
    "Content-Type must be application/json",
  ),
  UnknownMediaType: says(
    "unsupported_media_type",
    Wire.UnsupportedMediaType,
    "Content-Type must be JSON, application/x-www-form-urlencoded, or text in UTF-8",
  ),
  SenderRefused: says(
    "sender_refused",
    Wire.Unauthorized,
    "The request does not show that it comes from the sender: its signature or token is missing, " +
      "wrong or out of time",
  ),
  NetworkRefused: says(
    "forbidden",
    Wire.Forbidden,
    "The request comes from a network that the webhook does not list",
  ),
  WebhookLimited: retried("limit_exceeded", "The webhook gets too many requests"),
  LinkRefused: says("approval_not_found", Wire.NotFound, "This link is not valid"),
  ApprovalLimited: retried("limit_exceeded", "The link is used too often"),
  Compressed: says(
    "unsupported_content_encoding",
    Wire.UnsupportedMediaType,
    "Content-Encoding is not supported",
    { "accept-encoding": "identity" },
  ),
  UnknownRoute: says("unknown_route", Wire.NotFound, "There is nothing at this address"),
  WrongMethod: {
    code: "method_not_allowed",
    error: ({ allowed, method }) =>
      new Wire.MethodNotAllowed({
        error: `${plain(method)} is not possible here; allowed: ${allowed.join(", ")}`,
      }),
    headers: ({ allowed }) => ({ allow: allowed.join(", ") }),
  },
  ShuttingDown: says("shutting_down", Wire.Unavailable, "The server is shutting down; try again"),
  Fault: says("internal_error", Wire.InternalError, "Internal error"),
} satisfies { readonly [T in Tag]: Form<Of<T>, Wire.WireError> }

/** The error that a refusal becomes. */
export type ErrorOf<R extends Refusal> = ReturnType<(typeof forms)[R["_tag"]]["error"]>

const formOf = <R extends Refusal>(refusal: R): Form<R, ErrorOf<R>> =>
  forms[refusal._tag] as unknown as Form<R, ErrorOf<R>>

/** The status that the class of an error declares. */
const statusOf = (error: Wire.WireError): number =>
  (error.constructor as typeof Wire.NotFound).ast.annotations?.["httpApiStatus"] as number

/** Logs why the store failed, with the request's identifier. */
export const logStorage = Effect.fnUntraced(function* (error: StorageError) {
  const { id } = yield* CurrentRequest
  yield* Effect.logError(`Request ${id}: ${error.message}`, error.cause)
})

/** The whole answer that a refusal becomes. */
export const answerOf = (refusal: Refusal): HttpServerResponse.HttpServerResponse => {
  const { code, error, headers } = formOf(refusal)
  const wire = error(refusal)
  return HttpServerResponse.jsonUnsafe(
    { error: wire.error },
    { status: statusOf(wire), headers: { ...headers?.(refusal), "x-error-code": code } },
  )
}

/** The answer that a refusal becomes; a failure of the store goes to the log. */
export const refuse = (refusal: Refusal): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const answer = answerOf(refusal)
  return refusal._tag === "StorageError"
    ? Effect.as(logStorage(refusal), answer)
    : Effect.succeed(answer)
}

/** The same error where there is no HTTP: code, sentence and status; `cause` is the refusal. */
export const errorOf = (refusal: Refusal): MillraceError => {
  const { code, error } = formOf(refusal)
  const wire = error(refusal)
  return new MillraceError(code.toUpperCase() as ErrorCode, wire.error, {
    status: statusOf(wire),
    problems: refusal._tag === "InvalidGraph" ? refusal.problems : [],
    cause: refusal,
  })
}
