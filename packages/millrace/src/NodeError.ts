/**
 * The error that a handler throws to say whether and when to try again.
 */
import type { Time } from "./Declaration.ts"

/**
 * A failure that a handler expects. `code` is kept as data of the last line of the node's log.
 * `retryable: false` says that another attempt would fail, too. `retryAfter` is how long to wait
 * before the next attempt, instead of the wait of the node's policy.
 */
export class NodeError extends Error {
  /** False: no further attempt is made. */
  readonly retryable: boolean | undefined
  /** Your own word for the failure. */
  readonly code: string | undefined
  /** How long to wait before the next attempt. */
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
