/**
 * Sessions of the console, which `engine.fetch` serves under `/api/console/v1`: for the users of
 * the application.
 *
 * Guarantees: a token or a ticket is in the answer that makes it and nowhere else.
 */
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import type * as Wire from "@millrace/api/SessionWire"
import { Identifier } from "@millrace/api/Text"
import type { AccountId } from "@millrace/core/domain/Id"
import { AccountId as AnyAccount, SessionId } from "@millrace/core/domain/Id"
import { AccountRole, Session as Stored, SessionWorkflows } from "@millrace/core/domain/Session"
import { Sessions as Core } from "@millrace/core/engine/Sessions"
import { signInAddress } from "@millrace/http/ConsoleSettings"
import { Effect, Redacted, Schema, Struct } from "effect"
import { reader, writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"

const SessionView = Stored.mapFields(Struct.omit(["idleMillis"]))

/** A session without its token. Times are ISO 8601 in UTC. */
export type Session = typeof SessionView.Encoded

/** What a new session may do, and for how long. */
export interface NewSession {
  /** The id of the account; the engine's own by default. */
  readonly account?: string
  /** A viewer reads, an editor also draws and runs, an owner also has keys, secrets, sessions. */
  readonly role: (typeof Wire.CreateSession.Encoded)["role"]
  /** The ids of the workflows that it sees, at most 100, with their runs; all by default. */
  readonly workflows?: ReadonlyArray<string>
  /** 1 second to 7 days. An hour by default; 7 days after a link. */
  readonly expiresIn?: Duration
}

/** A new session with its token, for `createConsoleClient`. */
export interface SessionToken {
  /** What was made: its id, account, role and end. */
  readonly session: Session
  /** For `Authorization: Bearer`. */
  readonly token: string
}

/** A link that signs in once, within ten minutes. */
export interface SessionLink {
  /** What the link begins: its id, account, role and end. */
  readonly session: Session
  /** The secret part of the link. The first browser that brings it gets the session. */
  readonly ticket: string
  /** The address below the origin of the application: `/dashboard/login#t=...`. */
  readonly path: string
}

/** Sessions of the console. All calls are for the owner of the engine: they need no session. */
export interface Sessions {
  /** Makes a session. Rejects with `ACCOUNT_NOT_FOUND` or `INVALID_SESSION`. */
  create(session: NewSession): Promise<SessionToken>
  /** Makes a link to the dashboard. Rejects as `create` does. */
  link(session: NewSession): Promise<SessionLink>
  /** Those that are not over, newest first. */
  list(of?: { readonly account?: string }): Promise<ReadonlyArray<Session>>
  /** Ends a session from the next request on. Rejects with `SESSION_NOT_FOUND`. */
  revoke(id: string, of?: { readonly account?: string }): Promise<void>
  /** Ends all sessions of an account, for example when a user leaves; says how many. */
  revokeAll(of?: { readonly account?: string }): Promise<number>
}

const account = Schema.optionalKey(Identifier)

const readNew = reader(
  Schema.Struct({
    account,
    role: AccountRole,
    workflows: Schema.optionalKey(SessionWorkflows),
    expiresIn: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.String])),
  }),
  "session",
)
const readOf = reader(Schema.Struct({ account }), "of")
const readId = reader(Identifier, "id")
const writeSession = writer(SessionView)

/** The sessions of the accounts of an engine. */
export const make = ({ call }: Runtime<Core>, own: AccountId, basePath: string): Sessions => {
  const read = Effect.fnUntraced(function* (given: NewSession) {
    const { account: named, expiresIn, role, workflows } = yield* readNew(given)
    const millis =
      expiresIn === undefined ? undefined : millisOf(expiresIn as Duration, "expiresIn")
    const wanted = { role, workflows, expiresInMillis: millis }
    return [named === undefined ? own : AnyAccount.make(named), wanted] as const
  })
  const ownerOf = (of: { readonly account?: string } | undefined) =>
    Effect.map(readOf(of ?? {}), (found) =>
      found.account === undefined ? own : AnyAccount.make(found.account),
    )
  return {
    create: Effect.fnUntraced(function* (given: NewSession) {
      const { session, token } = yield* (yield* Core).create(...(yield* read(given)))
      return { session: writeSession(session), token: Redacted.value(token) }
    }, call),
    link: Effect.fnUntraced(function* (given: NewSession) {
      const { session, ticket: made } = yield* (yield* Core).link(...(yield* read(given)))
      const ticket = Redacted.value(made)
      return { session: writeSession(session), ticket, path: basePath + signInAddress(ticket) }
    }, call),
    list: Effect.fnUntraced(function* (of?: { readonly account?: string }) {
      return (yield* (yield* Core).list(yield* ownerOf(of))).map(writeSession)
    }, call),
    revoke: Effect.fnUntraced(function* (given: string, of?: { readonly account?: string }) {
      const id = SessionId.make(yield* readId(given))
      yield* (yield* Core).revoke(yield* ownerOf(of), id)
    }, call),
    revokeAll: Effect.fnUntraced(function* (of?: { readonly account?: string }) {
      return yield* (yield* Core).revokeAll(yield* ownerOf(of))
    }, call),
  }
}
