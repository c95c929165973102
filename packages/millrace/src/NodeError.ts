/**
 * The error that a handler throws when it has more to say than a message.
 */
import type { Time } from "./Declaration.ts"

/**
 * A failure that a handler expects, with more to say than its message. `code` is kept as data of
 * the last line of the node's log; `retryable: false` says that another attempt would fail alike,
 * `retryAfter` how long to wait before it, instead of what the node's policy says.
 */
export class NodeError extends Error {
  readonly retryable: boolean | undefined
  readonly code: string | undefined
  readonly retryAfter: Time | undefined

  constructor(
    message: string,
    options: {
      readonly retryable?: boolean
      readonly code?: string
      readonly retryAfter?: Time
      readonly cause?: unknown
    } = {},
  ) {
    super(message, options)
    this.name = "NodeError"
    this.retryable = options.retryable
    this.code = options.code
    this.retryAfter = options.retryAfter
  }
}
