/**
 * Idempotency keys of starts: a client repeats a start with the same key, and one run is started.
 *
 * Leaves out: storing the key; a store does that in the step that stores the run.
 */
import type { RunId } from "./Id.ts"

/** How long an idempotency key holds. */
export const idempotencyKeyMillis = 86_400_000

/**
 * The idempotency key of a start, which the client chose. Two accounts may use the same key for
 * different starts.
 */
export interface IdempotencyKey {
  readonly key: string
  /** Tells two different requests apart that have the same key by mistake. */
  readonly bodyHash: string
}

/** An earlier start with an idempotency key. */
export interface KnownStart {
  readonly runId: RunId
  readonly bodyHash: string
}
