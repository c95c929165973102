/**
 * How browsers reach the console, and where its pages are.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { AccountRole } from "@millrace/core/domain/Session"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { Effect } from "effect"
import { Context } from "effect"
import { isLoopback, problemOfBasePath } from "./Addresses.ts"

/** What the sign-in of an application lets somebody do. */
export interface Granted {
  readonly accountId: AccountId
  readonly role: AccountRole
  /** The workflows that they see; `null`: all of the account. */
  readonly workflows: ReadonlyArray<WorkflowId> | null
  /** A name or an id of the person, as the application has it; `null`: it tells none. */
  readonly user: string | null
  /** What others of the account are told who is there; absent: only the role. */
  readonly name?: string | undefined
}

/** Says what whoever sent a request may do; `null`: nobody has signed in. Gets no body. */
export type AskForGrant = (request: Request) => Effect.Effect<Granted | null, StorageError>

/** How browsers reach the console. */
export interface ConsoleSettings {
  /** True: only requests whose `Host` names this machine are answered. */
  readonly onLoopback: boolean
  /**
   * The sign-in of the application, in the place of tickets and cookies. It is asked with every
   * request that has no session as its bearer token.
   */
  readonly grant?: AskForGrant | undefined
  /** Origins whose pages may frame the dashboard; none by default. See {@link isFrameOrigin}. */
  readonly frameAncestors?: ReadonlyArray<string> | undefined
  /** The origin under which browsers know the console, if a proxy hides it. */
  readonly publicOrigin?: string | undefined
  /** Origins whose pages may call with the token of a session, never with a cookie. */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
}

/** True for an origin as browsers write it: `https://app.example.com`. */
export const isOrigin = (text: unknown): text is string =>
  typeof text === "string" && /^https?:[^*]+$/.test(text) && URL.parse(text)?.origin === text

/** True for an origin, such as `https://app.example.com`, also with `*.` before its host. */
export const isFrameOrigin = (text: unknown): text is string =>
  typeof text === "string" &&
  /^https?:\/\/(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/i.test(text)

/** True for an address that browsers may know: with TLS, except on this machine, and a path. */
export const isPublicUrl = (text: string): boolean => {
  const { host, origin, pathname, protocol } = URL.parse(text) ?? new URL("none:")
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(host))) return false
  const isWhole = text.replace(/\/$/, "") === origin + pathname.replace(/\/$/, "")
  return isWhole && problemOfBasePath(pathname) === undefined
}

/** By default, the console is reached under any name. */
export const CurrentConsole = Context.Reference<ConsoleSettings>("@millrace/http/CurrentConsole", {
  defaultValue: () => ({ onLoopback: false }),
})

/** The address below an origin at which a ticket signs in. No server sees what is behind `#`. */
export const signInAddress = (ticket: string): string => `/dashboard/login#t=${ticket}`
