/**
 * Why a call ended without an answer.
 *
 * Guarantees: a message is one sentence and shows no address, so a stranger learns nothing about
 * our network. Leaves out: retrying.
 */
import { Data } from "effect"

/** Why a permitted call failed. */
export type FailureReason =
  | "timeout"
  | "refused"
  | "unresolvable"
  | "tls"
  | "reset"
  | "too-large"
  | "protocol"
  | "crowded"

/** Why a call is not permitted. */
export interface CallRefusal {
  /** One sentence, which shows no address. */
  readonly message: string
  /** True if an exception of the policy for the network of its address would permit it. */
  readonly isAllowable: boolean
}

/** The call is not permitted. Nothing was sent. */
export class EgressRefused extends Data.TaggedError("EgressRefused")<{
  readonly reason: "blocked"
  readonly message: string
  /** True if an exception of the policy for the network of its address would permit it. */
  readonly isAllowable: boolean
}> {
  static of(message: string): EgressRefused {
    return EgressRefused.by({ message, isAllowable: false })
  }

  /** The same for a refusal by the rules of a policy. */
  static by(refusal: CallRefusal): EgressRefused {
    return new EgressRefused({ reason: "blocked", ...refusal })
  }
}

/** The bounds that messages show. */
export interface Bounds {
  readonly timeoutMillis: number
  readonly maxBodyBytes: number
}

/** Why a call failed that had begun. */
export type ExchangeReason = Exclude<FailureReason, "crowded" | "unresolvable">

/** Characters of the longest host name that DNS knows. */
const hostCharacters = 253

const sentences: { readonly [R in ExchangeReason]: (bounds: Bounds) => string } = {
  timeout: ({ timeoutMillis }) => `No complete answer came within ${timeoutMillis / 1_000} s`,
  refused: () => "The server could not be reached",
  tls: () => "No secure connection could be made",
  reset: () => "The connection was closed before the answer was complete",
  "too-large": ({ maxBodyBytes }) => `The answer is larger than ${maxBodyBytes} bytes`,
  protocol: () => "The answer is not valid HTTP",
}

/** The call was permitted, but there was no answer. Something may have been sent. */
export class EgressFailed extends Data.TaggedError("EgressFailed")<{
  readonly reason: FailureReason
  readonly message: string
}> {
  static of(reason: ExchangeReason, bounds: Bounds): EgressFailed {
    return new EgressFailed({ reason, message: sentences[reason](bounds) })
  }

  /** A host name without an address. */
  static unresolved(host: string): EgressFailed {
    const shown = JSON.stringify(host.slice(0, hostCharacters))
    return new EgressFailed({
      reason: "unresolvable",
      message: `The host name ${shown} could not be resolved`,
    })
  }

  /** The same for a connection over which no HTTP is spoken. */
  static ofSocket(reason: ExchangeReason, bounds: Bounds): EgressFailed {
    if (reason !== "protocol") return EgressFailed.of(reason, bounds)
    return new EgressFailed({ reason, message: "What the server answers cannot be understood" })
  }
}

const byCode: { readonly [code: string]: ExchangeReason } = {
  EADDRNOTAVAIL: "refused",
  EACCES: "refused",
  ECONNREFUSED: "refused",
  EHOSTDOWN: "refused",
  EHOSTUNREACH: "refused",
  ENETDOWN: "refused",
  ENETUNREACH: "refused",
  EPERM: "refused",
  ETIMEDOUT: "timeout",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  ECONNABORTED: "reset",
  ECONNRESET: "reset",
  EPIPE: "reset",
  UND_ERR_SOCKET: "reset",
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : ""

/**
 * The reason for an error of a connection. With `securing`, the connection was being made with TLS.
 * Then an unknown error is one of the certificate or of the handshake.
 */
export const reasonOf = (error: unknown, securing: boolean): ExchangeReason => {
  const code = codeOf(error)
  const known = Object.hasOwn(byCode, code) ? byCode[code] : undefined
  return known ?? (securing ? "tls" : "protocol")
}
