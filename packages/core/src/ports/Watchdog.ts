/**
 * Telling somebody outside of the event loop which handlers are in progress, so that a block of the
 * loop can be told, with the names of those in progress, while nothing here can say anything.
 *
 * Guarantees: every method is one synchronous step that never fails. Leaves out: what is done about
 * a block; that is for whoever provides the watchdog.
 */
import { Context } from "effect"

/** Hears of handlers. */
export interface Watchdog {
  /** A handler is called now. Answers a number to tell the rest with. */
  readonly called: (description: string) => number
  /** Its handler has given control back for the first time. */
  readonly returned: (handler: number) => void
  /** Its handler is over. */
  readonly ended: (handler: number) => void
}

/** The watchdog in force; without one a block is told when it is over, and not before. */
export const CurrentWatchdog = Context.Reference<Watchdog | undefined>(
  "@millrace/core/ports/Watchdog",
  { defaultValue: () => undefined },
)
