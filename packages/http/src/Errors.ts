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
import type {
  BeyondMaxCredits,
  DeliveryNotFound,
  InvalidGraph,
  InvalidWebhook,
  RevisionMismatch,
  RunEnded,
  NotInQuarantine,
  RunNotFound,
  IdempotencyKeyTaken,
  TooManyChanges,
  WorkflowNotFound,
} from "@millrace/core/engine/Refusals"
import type { InvalidKey, KeyNotFound } from "@millrace/core/engine/Keys"
import type { VaultClosed } from "@millrace/core/ports/Vault"
import type { AccountNotFound, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Unsupported } from "@millrace/core/ports/StoreManifest"
import { Data, Effect } from "effect"
import { HttpEffect, HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http"
import { CurrentRequestId } from "./internal/RequestId.ts"

/** The request has the wrong form; the sentence names the place. */
export class InvalidRequest extends Data.TaggedError("InvalidRequest")<{
  readonly message: string
}> {}

/** The request has no valid API key. The error says no more, so a stranger learns nothing. */
export class KeyRefused extends Data.TaggedError("KeyRefused") {}

/** The request does not carry the admin token. */
export class TokenRefused extends Data.TaggedError("TokenRefused") {}

/** The key has used up a rate limit. */
export class LimitExceeded extends Data.TaggedError("LimitExceeded")<{
  readonly retryAfterSeconds: number
}> {}

/** Too many bad API keys or tokens came from the request's address. */
export class TooManyBadTokens extends Data.TaggedError("TooManyBadTokens")<{
  readonly retryAfterSeconds: number
}> {}

/** The key, or all keys together, have as many open streams as allowed. */
export class TooManyStreams extends Data.TaggedError("TooManyStreams")<{
  readonly of: "key" | "server"
}> {}

/** The body has more bytes than allowed. */
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{ readonly limit: number }> {}

/** The `Content-Type` is not JSON. */
export class NotJson extends Data.TaggedError("NotJson") {}

/** The body is compressed. */
export class Compressed extends Data.TaggedError("Compressed") {}

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
  | WorkflowNotFound
  | RunNotFound
  | NotInQuarantine
  | DeliveryNotFound
  | InvalidGraph
  | InvalidWebhook
  | RevisionMismatch
  | TooManyChanges
  | RunEnded
  | InsufficientCredits
  | BeyondMaxCredits
  | IdempotencyKeyTaken
  | StorageError
  | VaultClosed
  | InvalidRequest
  | KeyRefused
  | TokenRefused
  | AccountNotFound
  | KeyNotFound
  | InvalidKey
  | LabelTaken
  | TooManyKeys
  | LimitExceeded
  | TooManyBadTokens
  | TooManyStreams
  | BodyTooLarge
  | NotJson
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

const form = <T extends Tag, E extends Wire.WireError>(_tag: T, row: Form<Of<T>, E>) => row

const forms = {
  WorkflowNotFound: form("WorkflowNotFound", {
    code: "workflow_not_found",
    error: () => new Wire.NotFound({ error: "The workflow does not exist" }),
  }),
  RunNotFound: form("RunNotFound", {
    code: "run_not_found",
    error: () => new Wire.NotFound({ error: "The run does not exist" }),
  }),
  NotInQuarantine: form("NotInQuarantine", {
    code: "not_in_quarantine",
    error: ({ message }) => new Wire.NotFound({ error: message }),
  }),
  InvalidGraph: form("InvalidGraph", {
    code: "invalid_graph",
    error: ({ message }) => new Wire.BadRequest({ error: message }),
  }),
  InvalidWebhook: form("InvalidWebhook", {
    code: "invalid_webhook",
    error: ({ message }) => new Wire.BadRequest({ error: message }),
  }),
  DeliveryNotFound: form("DeliveryNotFound", {
    code: "delivery_not_found",
    error: () => new Wire.NotFound({ error: "The delivery does not exist" }),
  }),
  RevisionMismatch: form("RevisionMismatch", {
    code: "revision_mismatch",
    error: ({ message }) => new Wire.PreconditionFailed({ error: message }),
  }),
  TooManyChanges: form("TooManyChanges", {
    code: "too_many_changes",
    error: ({ message }) => new Wire.Conflict({ error: message }),
  }),
  RunEnded: form("RunEnded", {
    code: "run_ended",
    error: ({ message }) => new Wire.Conflict({ error: message }),
  }),
  InsufficientCredits: form("InsufficientCredits", {
    code: "insufficient_credits",
    error: ({ message }) => new Wire.PaymentRequired({ error: message }),
  }),
  BeyondMaxCredits: form("BeyondMaxCredits", {
    code: "beyond_max_credits",
    error: ({ message }) => new Wire.PaymentRequired({ error: message }),
  }),
  IdempotencyKeyTaken: form("IdempotencyKeyTaken", {
    code: "idempotency_key_taken",
    error: () =>
      new Wire.Conflict({ error: "Idempotency-Key: was given to another start within 24 hours" }),
  }),
  StorageError: form("StorageError", {
    code: "store_unavailable",
    error: ({ cause, message }) =>
      new Wire.Unavailable({
        error: cause instanceof Unsupported ? message : "The store is unavailable; try again",
      }),
  }),
  // Only operators meet this error. Its message names the key and does not show it.
  VaultClosed: form("VaultClosed", {
    code: "vault_closed",
    error: ({ message }) => new Wire.Unavailable({ error: message }),
  }),
  InvalidRequest: form("InvalidRequest", {
    code: "invalid_request",
    error: ({ message }) => new Wire.BadRequest({ error: message }),
  }),
  KeyRefused: form("KeyRefused", {
    code: "key_refused",
    error: () => new Wire.Unauthorized({ error: "API key is missing, invalid or expired" }),
    headers: () => ({ "www-authenticate": "Bearer" }),
  }),
  TokenRefused: form("TokenRefused", {
    code: "token_refused",
    error: () => new Wire.Unauthorized({ error: "The admin token is missing or wrong" }),
    headers: () => ({ "www-authenticate": "Bearer" }),
  }),
  AccountNotFound: form("AccountNotFound", {
    code: "account_not_found",
    error: ({ message }) => new Wire.NotFound({ error: message }),
  }),
  KeyNotFound: form("KeyNotFound", {
    code: "key_not_found",
    error: ({ message }) => new Wire.NotFound({ error: message }),
  }),
  InvalidKey: form("InvalidKey", {
    code: "invalid_key",
    error: ({ message }) => new Wire.BadRequest({ error: message }),
  }),
  LabelTaken: form("LabelTaken", {
    code: "label_taken",
    error: ({ message }) => new Wire.Conflict({ error: message }),
  }),
  TooManyKeys: form("TooManyKeys", {
    code: "too_many_keys",
    error: ({ message }) => new Wire.Conflict({ error: message }),
  }),
  LimitExceeded: form("LimitExceeded", {
    code: "limit_exceeded",
    error: ({ retryAfterSeconds }) =>
      new Wire.TooManyRequests({
        error: `The rate limit of the API key is exceeded; retry in ${retryAfterSeconds} s`,
      }),
    headers: ({ retryAfterSeconds }) => ({ "retry-after": String(retryAfterSeconds) }),
  }),
  TooManyBadTokens: form("TooManyBadTokens", {
    code: "too_many_bad_tokens",
    error: ({ retryAfterSeconds }) =>
      new Wire.TooManyRequests({
        error: `Too many bad API keys came from this address; retry in ${retryAfterSeconds} s`,
      }),
    headers: ({ retryAfterSeconds }) => ({ "retry-after": String(retryAfterSeconds) }),
  }),
  TooManyStreams: form("TooManyStreams", {
    code: "too_many_streams",
    error: ({ of }) =>
      of === "key"
        ? new Wire.TooManyRequests({ error: "The API key holds too many streams open" })
        : new Wire.Unavailable({ error: "The server holds too many streams open; try again" }),
    headers: () => ({ "retry-after": "5" }),
  }),
  BodyTooLarge: form("BodyTooLarge", {
    code: "body_too_large",
    error: ({ limit }) =>
      new Wire.PayloadTooLarge({ error: `The body is larger than ${limit} bytes` }),
    // The rest of the body is not read, so the connection cannot be used again.
    headers: () => ({ connection: "close" }),
  }),
  NotJson: form("NotJson", {
    code: "unsupported_media_type",
    error: () => new Wire.UnsupportedMediaType({ error: "Content-Type must be application/json" }),
  }),
  Compressed: form("Compressed", {
    code: "unsupported_content_encoding",
    error: () => new Wire.UnsupportedMediaType({ error: "Content-Encoding is not supported" }),
    headers: () => ({ "accept-encoding": "identity" }),
  }),
  UnknownRoute: form("UnknownRoute", {
    code: "unknown_route",
    error: () => new Wire.NotFound({ error: "There is nothing at this address" }),
  }),
  WrongMethod: form("WrongMethod", {
    code: "method_not_allowed",
    error: ({ allowed, method }) =>
      new Wire.MethodNotAllowed({
        error: `${plain(method)} is not possible here; allowed: ${allowed.join(", ")}`,
      }),
    headers: ({ allowed }) => ({ allow: allowed.join(", ") }),
  }),
  ShuttingDown: form("ShuttingDown", {
    code: "shutting_down",
    error: () => new Wire.Unavailable({ error: "The server is shutting down; try again" }),
  }),
  Fault: form("Fault", {
    code: "internal_error",
    error: () => new Wire.InternalError({ error: "Internal error" }),
  }),
} satisfies { readonly [T in Tag]: Form<Of<T>, Wire.WireError> }

/** The error that a refusal becomes. */
export type ErrorOf<R extends Refusal> = ReturnType<(typeof forms)[R["_tag"]]["error"]>

const formOf = <R extends Refusal>(refusal: R): Form<R, ErrorOf<R>> =>
  forms[refusal._tag] as unknown as Form<R, ErrorOf<R>>

const headersOf = (refusal: Refusal): Headers => {
  const { code, headers } = formOf(refusal)
  return { ...headers?.(refusal), "x-error-code": code }
}

/** Adds headers to the answer, whether the request succeeds or fails. */
export const addHeaders = (
  headers: Headers,
): Effect.Effect<void, never, HttpServerRequest.HttpServerRequest> =>
  HttpEffect.appendPreResponseHandler((_, response) =>
    Effect.succeed(HttpServerResponse.setHeaders(response, headers)),
  )

/** Logs why the store failed, with the request's identifier. */
export const logStorage = Effect.fnUntraced(function* (error: StorageError) {
  yield* Effect.logError(`Request ${yield* CurrentRequestId}: ${error.message}`, error.cause)
})

/** Fails with the error that a refusal becomes; a failure of the store goes to the log. */
export const refuse = Effect.fnUntraced(function* <R extends Refusal>(refusal: R) {
  if (refusal._tag === "StorageError") yield* logStorage(refusal)
  yield* addHeaders(headersOf(refusal))
  return yield* Effect.fail(formOf(refusal).error(refusal))
})

/** A whole answer, for a refusal outside of every operation. */
export const answerOf = (refusal: Refusal, status: number): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(
    { error: formOf(refusal).error(refusal).error },
    { status, headers: headersOf(refusal) },
  )

/** The same error where there is no HTTP: code, sentence and status; `cause` is the refusal. */
export const errorOf = (refusal: Refusal): MillraceError => {
  const { code, error } = formOf(refusal)
  const wire = error(refusal)
  return new MillraceError(code.toUpperCase() as ErrorCode, wire.error, {
    status: (wire.constructor as typeof Wire.NotFound).ast.annotations?.["httpApiStatus"] as number,
    problems: refusal._tag === "InvalidGraph" ? refusal.problems : [],
    cause: refusal,
  })
}
