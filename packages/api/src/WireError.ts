/**
 * Errors as they travel: the body is exactly `{ "error": "<one sentence>" }`, the rest is in the
 * status and the headers (specification, part 7).
 *
 * `_tag` is a field of the class and not of the schema: it tells the errors apart in code, on both
 * sides, and is neither sent nor part of the OpenAPI document. Leaves out: which refusal becomes
 * which error; that is decided where requests are handled.
 */
import type { Cause } from "effect"
import { ErrorReporter, Schema } from "effect"

/** Every error: its status, and what the OpenAPI document says about it. */
const errors = {
  BadRequest: [400, "Malformed or invalid; the sentence names the place."],
  Unauthorized: [401, "The API key is missing, invalid, revoked or expired."],
  PaymentRequired: [
    402,
    "The available credits do not cover the run; the sentence names both amounts, except to a " +
      "session that sees only some workflows, and to senders of webhooks.",
  ],
  Forbidden: [403, "The session may not do this; the sentence names what it lacks."],
  NotFound: [404, "Not known to this account."],
  MethodNotAllowed: [405, "The address does not have this method."],
  Conflict: [409, "Not possible in the present state."],
  PreconditionFailed: [412, "The revision named in If-Match is not the stored one."],
  PayloadTooLarge: [413, "The body is larger than the server takes."],
  UnsupportedMediaType: [415, "The body is not application/json."],
  TooManyRequests: [429, "A rate limit of the key is exceeded; see the header Retry-After."],
  InternalError: [500, "A fault of the server."],
  Unavailable: [503, "Not available for the moment; try again."],
} as const

type Tag = keyof typeof errors

/** An error of the interface, in code. */
export interface AnsweredError<T extends string> extends Cause.YieldableError {
  readonly _tag: T
  readonly error: string
}

const Body = Schema.Struct({ error: Schema.String })

type ErrorClass<T extends string> = Schema.Class<AnsweredError<T>, typeof Body, AnsweredError<T>>

/** The class of an error. Only a fault is reported to whoever watches for errors. */
const classOf = <const T extends Tag>(tag: T) => {
  const [httpApiStatus, description] = errors[tag]
  class Answered extends Schema.Error<Answered>(tag)(Body, { httpApiStatus, description }) {
    static override readonly name: string = tag
    readonly _tag = tag
    override readonly [ErrorReporter.ignore]: boolean = httpApiStatus !== 500
    override get message(): string {
      return this.error
    }
  }
  return Answered as ErrorClass<T>
}

/** The request is malformed, or what it asks for is invalid. */
export const BadRequest = classOf("BadRequest")
/** The API key or the admin token is missing or wrong. */
export const Unauthorized = classOf("Unauthorized")
/** The available credits do not cover the run. */
export const PaymentRequired = classOf("PaymentRequired")
/** The session may not do this. */
export const Forbidden = classOf("Forbidden")
/** The account has no such thing. */
export const NotFound = classOf("NotFound")
/** The address exists, the method does not. The header `Allow` lists those that do. */
export const MethodNotAllowed = classOf("MethodNotAllowed")
/** Not possible in the state that the thing is in. */
export const Conflict = classOf("Conflict")
/** The revision in `If-Match` is not the stored one. */
export const PreconditionFailed = classOf("PreconditionFailed")
/** The body has more bytes than the server takes. */
export const PayloadTooLarge = classOf("PayloadTooLarge")
/** The body is not announced as `application/json`. */
export const UnsupportedMediaType = classOf("UnsupportedMediaType")
/** A limit is exceeded. The header `Retry-After` says how many seconds to wait. */
export const TooManyRequests = classOf("TooManyRequests")
/** A fault of the server; the sentence says no more than that. */
export const InternalError = classOf("InternalError")
/** The store does not answer, or the server is shutting down. */
export const Unavailable = classOf("Unavailable")

/** Why every operation with a body may be refused. */
export const bodyErrors = [BadRequest, PayloadTooLarge, UnsupportedMediaType] as const

/** Any error of the interface. */
export type WireError = { [T in Tag]: AnsweredError<T> }[Tag]
