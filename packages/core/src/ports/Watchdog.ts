/**
 * The port that tells a watchdog which handlers are in progress. The watchdog is outside of the
 * event loop, so it can report a blocked loop, and name the handlers, while the loop is blocked.
 *
 * Guarantees: every method is one synchronous step that never fails. Leaves out: what the watchdog
 * does about a block.
 */
import type { CalledNode } from "../domain/CalledNode.ts"

/** Hears of handlers. */
export interface Watchdog {
  /** A handler has begun. Returns the number that the other methods take. */
  readonly began: (node: CalledNode) => number
  /** The handler runs on the event loop. Nothing else runs there until `left`. */
  readonly entered: (handler: number) => void
  /** The handler has returned to the event loop. */
  readonly left: (handler: number) => void
  /** The handler has ended. */
  readonly ended: (handler: number) => void
}
