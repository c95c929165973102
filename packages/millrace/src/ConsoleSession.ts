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
import { Keys } from "@millrace/core/engine/Keys"
import { Sessions as Core } from "@millrace/core/engine/Sessions"
import { AccountNotFound } from "@millrace/core/ports/KeyStore"
import { signInAddress } from "@millrace/http/ConsoleSettings"
import { InvalidRequest } from "@millrace/http/Errors"
import { Effect, Option, Redacted, Schema, Struct } from "effect"
import { reader, writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"

const SessionView = Stored.mapFields(Struct.omit(["idleMillis"]))

/** A session without its token. Times are ISO 8601 in UTC. */
export type Session = typeof SessionView.Encoded

/** Whose sessions: the engine's own account by default. */
export interface SessionOwner {
  /** The name of an account, as in the option `account` of an engine. */
  readonly account?: string
  /** The id of an account, as `engine.accounts.create` gives it. Not beside a name. */
  readonly accountId?: string
}

/** What a new session may do, and for how long. */
export interface NewSession extends SessionOwner {
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
  list(of?: SessionOwner): Promise<ReadonlyArray<Session>>
  /** Ends a session from the next request on. Rejects with `SESSION_NOT_FOUND`. */
  revoke(id: string, of?: SessionOwner): Promise<void>
  /** Ends all sessions of an account, for example when a user leaves; says how many. */
  revokeAll(of?: SessionOwner): Promise<number>
}

const owner = {
  account: Schema.optionalKey(Identifier),
  accountId: Schema.optionalKey(Identifier),
}

const readNew = reader(
  Schema.Struct({
    ...owner,
    role: AccountRole,
    workflows: Schema.optionalKey(SessionWorkflows),
    expiresIn: Schema.optionalKey(Schema.Union([Schema.Finite, Schema.String])),
  }),
  "session",
)
const readOf = reader(Schema.Struct(owner), "of")
const readId = reader(Identifier, "id")
const writeSession = writer(SessionView)

/** The id of the account that is named; of the engine's own, if none is. */
const idOf = Effect.fnUntraced(function* ({ account, accountId }: SessionOwner, own: AccountId) {
  if (account !== undefined && accountId !== undefined) {
    const message = "account and accountId: expected the name of an account or its id, and not both"
    return yield* new InvalidRequest({ message })
  }
  if (accountId !== undefined) return AnyAccount.make(accountId)
  if (account === undefined) return own
  const found = yield* Keys.use(({ findAccountNamed }) => findAccountNamed(account))
  if (Option.isSome(found)) return found.value.id
  return yield* new AccountNotFound({ accountId: account })
})

/** The sessions of the accounts of an engine. */
export const make = (
  { call }: Runtime<Core | Keys>,
  own: AccountId,
  basePath: string,
): Sessions => {
  const read = Effect.fnUntraced(function* (given: NewSession) {
    const { expiresIn, role, workflows, ...of } = yield* readNew(given)
    const millis =
      expiresIn === undefined ? undefined : millisOf(expiresIn as Duration, "expiresIn")
    const wanted = { role, workflows, expiresInMillis: millis }
    return [yield* idOf(of, own), wanted] as const
  })
  const ownerOf = (of: SessionOwner = {}) => Effect.flatMap(readOf(of), (found) => idOf(found, own))
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
    list: Effect.fnUntraced(function* (of?: SessionOwner) {
      return (yield* (yield* Core).list(yield* ownerOf(of))).map(writeSession)
    }, call),
    revoke: Effect.fnUntraced(function* (given: string, of?: SessionOwner) {
      const id = SessionId.make(yield* readId(given))
      yield* (yield* Core).revoke(yield* ownerOf(of), id)
    }, call),
    revokeAll: Effect.fnUntraced(function* (of?: SessionOwner) {
      return yield* (yield* Core).revokeAll(yield* ownerOf(of))
    }, call),
  }
}
