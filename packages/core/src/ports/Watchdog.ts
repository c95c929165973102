/**
 * Telling somebody outside of the event loop which handlers are in progress, so that a block of the
 * loop can be told, with the names of those in progress, while nothing here can say anything.
 *
 * Guarantees: every method is one synchronous step that never fails. Leaves out: what is done about
 * a block; that is for whoever provides the watchdog.
 */
import { Context } from "effect"
import type { CalledNode } from "../domain/CalledNode.ts"

/** Hears of handlers. */
export interface Watchdog {
  /** A handler has begun. Answers a number to tell the rest with. */
  readonly began: (node: CalledNode) => number
  /** The handler has control: until it gives it back nothing else happens in the process. */
  readonly entered: (handler: number) => void
  /** The handler has given control back. */
  readonly left: (handler: number) => void
  /** The handler is over. */
  readonly ended: (handler: number) => void
}

/** The watchdog in force; without one a block is told when it is over, and not before. */
export const CurrentWatchdog = Context.Reference<Watchdog | undefined>(
  "@millrace/core/ports/Watchdog",
  { defaultValue: () => undefined },
)
