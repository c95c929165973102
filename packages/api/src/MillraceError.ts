/**
 * The one error class of engine and client, with a code for programs and a sentence for people. The
 * codes are those of `X-Error-Code`, in capitals.
 *
 * Guarantees: every refusal has its own code. No code depends on the text of a message. Leaves out:
 * a server that does not answer; then `fetch` throws its own error.
 */

/** What went wrong, for programs. `INTERNAL_ERROR` is a fault; all others have a reason outside. */
export type ErrorCode =
  // What is asked for is not there, or not possible now.
  | "ACCOUNT_NOT_FOUND"
  | "DELIVERY_NOT_FOUND"
  | "KEY_NOT_FOUND"
  | "RUN_NOT_FOUND"
  | "NODE_NOT_FOUND"
  | "VALUE_NOT_FOUND"
  | "SECRET_NOT_FOUND"
  | "SESSION_NOT_FOUND"
  | "TRIGGER_NOT_FOUND"
  | "WORKFLOW_NOT_FOUND"
  | "VERSION_NOT_FOUND"
  | "NOT_IN_QUARANTINE"
  | "REVISION_MISMATCH"
  | "TOO_MANY_CHANGES"
  | "RUN_ENDED"
  | "INBOX_FULL"
  | "SIGNALS_FULL"
  | "RUN_OPEN"
  | "APPROVAL_NOT_FOUND"
  | "APPROVAL_OVER"
  | "IDEMPOTENCY_KEY_TAKEN"
  | "LABEL_TAKEN"
  | "TOO_MANY_KEYS"
  | "TOO_MANY_SECRETS"
  | "TOO_MANY_SESSIONS"
  | "TOO_MANY_TRIGGERS"
  | "INSUFFICIENT_CREDITS"
  | "BEYOND_MAX_CREDITS"
  | "RUNS_FULL"
  | "QUEUE_FULL"
  // What is asked for is wrong.
  | "INVALID_GRAPH"
  | "INVALID_KEY"
  | "INVALID_REQUEST"
  | "INVALID_SECRET"
  | "INVALID_SESSION"
  | "INVALID_TRIGGER"
  | "INVALID_WEBHOOK"
  // The store, the process, or the time that a caller had.
  | "STORE_UNAVAILABLE"
  | "VAULT_CLOSED"
  | "DATA_FILE_DAMAGED"
  | "DATA_FILE_FOREIGN"
  | "DATA_FILE_LOCKED"
  | "DATA_FOLDER_DAMAGED"
  | "DATA_FOLDER_FOREIGN"
  | "DATA_FOLDER_LOCKED"
  | "ENGINE_CLOSED"
  | "INTERNAL_ERROR"
  | "TIMEOUT"
  // Over HTTP only.
  | "KEY_REFUSED"
  | "SIGN_IN_REFUSED"
  | "SESSION_REFUSED"
  | "TICKET_REFUSED"
  | "FORBIDDEN"
  | "CROSS_SITE"
  | "WRONG_HOST"
  | "TOKEN_REFUSED"
  | "SENDER_REFUSED"
  | "LIMIT_EXCEEDED"
  | "TOO_MANY_BAD_TOKENS"
  | "TOO_MANY_STREAMS"
  | "BODY_TOO_LARGE"
  | "UNSUPPORTED_MEDIA_TYPE"
  | "UNSUPPORTED_CONTENT_ENCODING"
  | "UNKNOWN_ROUTE"
  | "METHOD_NOT_ALLOWED"
  | "SHUTTING_DOWN"
  | "UNEXPECTED_ANSWER"

/** What is known of an error beside its code and its sentence. */
export interface ErrorDetail {
  readonly status?: number | undefined
  readonly problems?: ReadonlyArray<string>
  readonly requestId?: string | null
  readonly retryAfterSeconds?: number | null
  readonly cause?: unknown
}

/** The error that every call rejects with. `message` is one sentence. */
export class MillraceError extends Error {
  readonly code: ErrorCode
  /** The status of HTTP that goes with the code; `undefined` where no operation was refused. */
  readonly status: number | undefined
  /** Of `INVALID_GRAPH`: every problem as a sentence of its own. Else empty. */
  readonly problems: ReadonlyArray<string>
  /** The identifier of the request in the server's log; `null` without HTTP. */
  readonly requestId: string | null
  /** After how many seconds to send the request again, if the server says so. */
  readonly retryAfterSeconds: number | null

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, "cause" in detail ? { cause: detail.cause } : {})
    this.name = "MillraceError"
    this.code = code
    this.status = detail.status
    this.problems = detail.problems ?? []
    this.requestId = detail.requestId ?? null
    this.retryAfterSeconds = detail.retryAfterSeconds ?? null
  }
}

/** The error for what was given in a wrong form. */
export const invalid = (message: string): MillraceError =>
  new MillraceError("INVALID_REQUEST", message, { status: 400 })
