/**
 * Starting a run at most once: a client names its attempt, and repeats it under the same name.
 *
 * Leaves out: who remembers the name; a store does, in the step that stores the run.
 */
import type { RunId } from "./Id.ts"

/** How long the name of a start holds. */
export const idempotencyKeyMillis = 86_400_000

/**
 * The name of a start, as a client chose it. Names of two accounts have nothing to do with each
 * other.
 */
export interface IdempotencyKey {
  readonly key: string
  /** Tells two requests apart that are given the same name by mistake. */
  readonly bodyHash: string
}

/** A start that was made under a name. */
export interface KnownStart {
  readonly runId: RunId
  readonly bodyHash: string
}
