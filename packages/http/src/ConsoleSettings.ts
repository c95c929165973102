/**
 * How browsers reach the console, and where its pages are.
 */
import { Context } from "effect"

/** How browsers reach the console. */
export interface ConsoleSettings {
  /** True: only requests whose `Host` names this machine are answered. */
  readonly onLoopback: boolean
}

/** By default, the console is reached under any name. */
export const CurrentConsole = Context.Reference<ConsoleSettings>("@millrace/http/CurrentConsole", {
  defaultValue: () => ({ onLoopback: false }),
})

/** The address below an origin at which a ticket signs in. No server sees what is behind `#`. */
export const signInAddress = (ticket: string): string => `/dashboard/login#t=${ticket}`
