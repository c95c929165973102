/**
 * Errors as they travel: the body is exactly `{ "error": "<one sentence>" }`, the rest is in the
 * status and the headers (specification, part 7).
 *
 * `_tag` is a field of the class and not of the schema: it tells the errors apart in code, on both
 * sides, and is neither sent nor part of the OpenAPI document. Leaves out: which refusal becomes
 * which error; that is decided where requests are handled.
 */
import { ErrorReporter, Schema } from "effect"

const body = { error: Schema.String }

/** 400: the request is malformed or what it asks for is invalid. The sentence names the place. */
export class BadRequest extends Schema.Error<BadRequest>("BadRequest")(body, {
  httpApiStatus: 400,
  description: "Malformed or invalid; the sentence names the place.",
}) {
  readonly _tag = "BadRequest"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 401: no API key, or one that is unknown, revoked or expired. */
export class Unauthorized extends Schema.Error<Unauthorized>("Unauthorized")(body, {
  httpApiStatus: 401,
  description: "The API key is missing, invalid, revoked or expired.",
}) {
  readonly _tag = "Unauthorized"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 402: what is available does not cover the run. The sentence names both amounts. */
export class PaymentRequired extends Schema.Error<PaymentRequired>("PaymentRequired")(body, {
  httpApiStatus: 402,
  description: "The available credits do not cover the run; the sentence names both amounts.",
}) {
  readonly _tag = "PaymentRequired"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 404: there is no such thing in this account. */
export class NotFound extends Schema.Error<NotFound>("NotFound")(body, {
  httpApiStatus: 404,
  description: "Not known to this account.",
}) {
  readonly _tag = "NotFound"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 405: the address exists, the method does not. Header `Allow` lists those that do. */
export class MethodNotAllowed extends Schema.Error<MethodNotAllowed>("MethodNotAllowed")(body, {
  httpApiStatus: 405,
  description: "The address does not have this method.",
}) {
  readonly _tag = "MethodNotAllowed"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 409: not possible in the state the thing is in. */
export class Conflict extends Schema.Error<Conflict>("Conflict")(body, {
  httpApiStatus: 409,
  description: "Not possible in the present state.",
}) {
  readonly _tag = "Conflict"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 412: the revision in `If-Match` is not the stored one. */
export class PreconditionFailed extends Schema.Error<PreconditionFailed>("PreconditionFailed")(
  body,
  { httpApiStatus: 412, description: "The revision named in If-Match is not the stored one." },
) {
  readonly _tag = "PreconditionFailed"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 413: the body has more bytes than the server takes. */
export class PayloadTooLarge extends Schema.Error<PayloadTooLarge>("PayloadTooLarge")(body, {
  httpApiStatus: 413,
  description: "The body is larger than the server takes.",
}) {
  readonly _tag = "PayloadTooLarge"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 415: the body is not announced as `application/json`. */
export class UnsupportedMediaType extends Schema.Error<UnsupportedMediaType>(
  "UnsupportedMediaType",
)(body, { httpApiStatus: 415, description: "The body is not application/json." }) {
  readonly _tag = "UnsupportedMediaType"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 429: a rate limit of the key is exceeded. Header `Retry-After` says how many seconds to wait. */
export class TooManyRequests extends Schema.Error<TooManyRequests>("TooManyRequests")(body, {
  httpApiStatus: 429,
  description: "A rate limit of the key is exceeded; see the header Retry-After.",
}) {
  readonly _tag = "TooManyRequests"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** 500: a fault of the server; the sentence says no more than that. */
export class InternalError extends Schema.Error<InternalError>("InternalError")(body, {
  httpApiStatus: 500,
  description: "A fault of the server.",
}) {
  readonly _tag = "InternalError"
  override get message(): string {
    return this.error
  }
}

/** 503: the store does not answer, or the server is shutting down. */
export class Unavailable extends Schema.Error<Unavailable>("Unavailable")(body, {
  httpApiStatus: 503,
  description: "Not available for the moment; try again.",
}) {
  readonly _tag = "Unavailable"
  override readonly [ErrorReporter.ignore] = true
  override get message(): string {
    return this.error
  }
}

/** Any error of the interface. */
export type WireError =
  | BadRequest
  | Unauthorized
  | PaymentRequired
  | NotFound
  | MethodNotAllowed
  | Conflict
  | PreconditionFailed
  | PayloadTooLarge
  | UnsupportedMediaType
  | TooManyRequests
  | InternalError
  | Unavailable
