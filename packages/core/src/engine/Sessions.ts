/**
 * Sessions: makes tokens and one-time tickets, hashes them, and admits requests.
 *
 * Guarantees: only the call that makes a token or a ticket returns it. No session makes one with a
 * higher role, with more workflows, or one that outlives it. What a session may do is read from the
 * store with every request. Leaves out: HTTP, and which role an operation needs.
 */
import { Clock, Context, Effect, Layer, Option, Redacted, Schema } from "effect"
import { Digest } from "effect/crypto"
import { isWellFormed, secretOf } from "../domain/ApiKey.ts"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import { SessionId } from "../domain/Id.ts"
import {
  sessionIdleMillis,
  sessionMillis,
  ticketMillis,
  usualSessionMillis,
  workflowsPerSession,
} from "../domain/Limits.ts"
import type { AccountRole, Role, Session } from "../domain/Session.ts"
import { isAtLeast, ticketPrefix, tokenPrefix } from "../domain/Session.ts"
import { plain } from "../domain/Quote.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { minuteMillis } from "../domain/Timestamp.ts"
import { AccountNotFound, KeyStore } from "../ports/KeyStore.ts"
import type { SessionAdmission, SessionOwner, TooManySessions } from "../ports/SessionStore.ts"
import { SessionStore } from "../ports/SessionStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { Ids } from "./Ids.ts"

/** What a new session may do, and for how long. */
export interface NewSession {
  readonly role: AccountRole
  /** The workflows that it sees; all by default. */
  readonly workflows?: ReadonlyArray<WorkflowId> | null | undefined
  /** From 1 second to 7 days. An hour by default; a session that a ticket begins lives 7 days. */
  readonly expiresInMillis?: number | undefined
}

/** A new session with its token. */
export interface CreatedSession {
  readonly session: Session
  readonly token: Redacted.Redacted
}

/** A session that nobody has begun, with the ticket that begins it. */
export interface SessionTicket {
  readonly session: Session
  readonly ticket: Redacted.Redacted
}

/** A field of the session is outside its bounds. The message names every problem. */
export class InvalidSession extends Schema.TaggedError<InvalidSession>()("InvalidSession", {
  message: Schema.String,
}) {}

/** The account, or the operators, have no such session. */
export class SessionNotFound extends Schema.TaggedError<SessionNotFound>()("SessionNotFound", {
  sessionId: Schema.String,
}) {
  override get message(): string {
    return `Session ${plain(this.sessionId)} does not exist`
  }
}

/** The ticket was redeemed before, is older than ten minutes, or never was one. */
export class TicketRefused extends Schema.TaggedError<TicketRefused>()("TicketRefused", {}) {
  override get message(): string {
    return "The sign-in link was used before, or is older than 10 minutes: ask for a new one"
  }
}

/** Why a session of an account is not made. */
export type SessionProblem = AccountNotFound | InvalidSession | TooManySessions | StorageError

export class Sessions extends Context.Service<
  Sessions,
  {
    /** Makes a session of an account. `by`: the session that asks; absent: the application. */
    readonly create: (
      account: AccountId,
      wanted: NewSession,
      by?: Session,
    ) => Effect.Effect<CreatedSession, SessionProblem>
    /** Makes a ticket for a session of an account, good once and for ten minutes. */
    readonly link: (
      account: AccountId,
      wanted: NewSession,
      by?: Session,
    ) => Effect.Effect<SessionTicket, SessionProblem>
    /** Makes a session of an operator, who was checked before. */
    readonly createOperator: Effect.Effect<CreatedSession, TooManySessions | StorageError>
    /** Makes a ticket for a session of an operator. */
    readonly linkOperator: Effect.Effect<SessionTicket, TooManySessions | StorageError>
    /** Begins the session of a ticket. Of several that redeem it at once, one succeeds. */
    readonly redeem: (
      ticket: Redacted.Redacted,
    ) => Effect.Effect<CreatedSession, TicketRefused | StorageError>
    /** Counts one request of the session with this token, or says why not. */
    readonly admit: (token: Redacted.Redacted) => Effect.Effect<SessionAdmission, StorageError>
    /** The live sessions of an account, or of operators, newest first. */
    readonly list: (owner: SessionOwner) => Effect.Effect<ReadonlyArray<Session>, StorageError>
    /** Ends a session from the next request on. */
    readonly revoke: (
      owner: SessionOwner,
      id: SessionId,
    ) => Effect.Effect<void, SessionNotFound | StorageError>
    /** Ends all sessions of an account, or of operators. Returns how many there were. */
    readonly revokeAll: (owner: SessionOwner) => Effect.Effect<number, StorageError>
  }
>()("@millrace/core/engine/Sessions") {
  static readonly layer: Layer.Layer<
    Sessions,
    never,
    SessionStore | KeyStore | Ids | Digest.Digest
  > = Layer.effect(
    Sessions,
    Effect.suspend(() => make),
  )
}

/** The workflows of a new session, each once; `null`: all. */
const workflowsOf = ({ workflows }: NewSession): ReadonlyArray<WorkflowId> | null =>
  workflows === undefined || workflows === null ? null : [...new Set(workflows)]

const problemsOf = (
  wanted: NewSession,
  expiresAt: Timestamp,
  by: Session | undefined,
): ReadonlyArray<string> => {
  const { expiresInMillis = usualSessionMillis, role } = wanted
  const workflows = workflowsOf(wanted)
  const isLong = by !== undefined && expiresAt > by.expiresAt
  const isHigh = by !== undefined && !isAtLeast(by.role, role)
  const seen = by?.workflows ?? null
  const isWide = seen !== null && (workflows ?? [undefined]).some((id) => !seen.includes(id!))
  const count = workflows?.length ?? 1
  return [
    isHigh ? [`role: expected one that is not above ${by.role}, the role of this session`] : [],
    isWide ? ["workflows: expected some of those that this session sees"] : [],
    count < 1 || count > workflowsPerSession
      ? [`workflows: expected 1 to ${workflowsPerSession}`]
      : [],
    expiresInMillis >= 1_000 && expiresInMillis <= sessionMillis
      ? []
      : ["expiresIn: expected 1 second to 7 days"],
    isLong ? ["expiresIn: expected a time at which this session still lives"] : [],
  ].flat()
}

/** What tickets, and sessions of operators, become. */
const idle = { idleMillis: sessionIdleMillis }

const makeTexts = Effect.gen(function* () {
  const { digest } = yield* Digest.Digest
  const encoder = new TextEncoder()
  const ids = yield* Ids
  return {
    hashOf: (text: string) => digest(Digest.sha256, encoder.encode(text)),
    next: (prefix: string) => Effect.map(ids.bytes(32), (random) => secretOf(random, prefix)),
    id: Effect.map(ids.make("session"), (text) => SessionId.make(text)),
  }
})

const isText = (text: string, prefix: string): boolean =>
  text.startsWith(prefix) && isWellFormed(text)

/** What makes a session, and puts it into the store. */
const makeStored = Effect.gen(function* () {
  const store = yield* SessionStore
  const clock = yield* Clock.Clock
  const { hashOf, next } = yield* makeTexts
  let forgottenAt = 0

  /** Removes what is over, at most once a minute and without keeping anybody. */
  const forget = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    if (now < forgottenAt + minuteMillis) return Effect.void
    forgottenAt = now
    return Effect.ignore(store.forget)
  })

  return {
    create: Effect.fnUntraced(function* (session: Session) {
      yield* forget
      const token = yield* next(tokenPrefix)
      yield* store.insert(session, yield* hashOf(token))
      return { session, token: Redacted.make(token) }
    }),
    link: Effect.fnUntraced(function* (session: Session) {
      yield* forget
      const ticket = yield* next(ticketPrefix)
      const redeemBy = clock.currentTimeMillisUnsafe() + ticketMillis
      yield* store.insertTicket(session, yield* hashOf(ticket), redeemBy)
      return { session, ticket: Redacted.make(ticket) }
    }),
  }
})

/** What puts sessions together. */
const makeNew = Effect.gen(function* () {
  const keys = yield* KeyStore
  const clock = yield* Clock.Clock
  const { id } = yield* makeTexts

  const session = Effect.fnUntraced(function* (
    accountId: AccountId | null,
    role: Role,
    wanted: Pick<NewSession, "workflows"> & Pick<Session, "createdAt" | "expiresAt" | "idleMillis">,
  ) {
    const { workflows = null, ...times } = wanted
    const lastUsedAt = null
    return { id: yield* id, accountId, role, workflows, ...times, lastUsedAt } satisfies Session
  })

  return {
    operators: Effect.suspend(() => {
      const createdAt = clock.currentTimeMillisUnsafe()
      return session(null, "operator", { createdAt, expiresAt: createdAt + sessionMillis, ...idle })
    }),
    ofAccount: Effect.fnUntraced(function* (
      account: AccountId,
      wanted: NewSession,
      usual: { readonly millis: number; readonly idleMillis: number | null },
      by: Session | undefined,
    ) {
      const now = clock.currentTimeMillisUnsafe()
      const longest = by === undefined ? Number.POSITIVE_INFINITY : by.expiresAt
      const asked = wanted.expiresInMillis
      const expiresAt = asked === undefined ? Math.min(now + usual.millis, longest) : now + asked
      const problems = problemsOf(wanted, expiresAt, by)
      if (problems.length > 0) return yield* new InvalidSession({ message: problems.join("; ") })
      if (Option.isNone(yield* keys.findAccount(account))) {
        return yield* new AccountNotFound({ accountId: account })
      }
      const { idleMillis } = usual
      const workflows = workflowsOf(wanted)
      return yield* session(account, wanted.role, {
        createdAt: now,
        expiresAt,
        idleMillis,
        workflows,
      })
    }),
  }
})

const make = Effect.gen(function* () {
  const store = yield* SessionStore
  const { hashOf, next } = yield* makeTexts
  const stored = yield* makeStored
  const fresh = yield* makeNew
  const refused: SessionAdmission = { _tag: "Refused" }
  return Sessions.of({
    create: Effect.fn("Sessions.create")(function* (account, wanted, by) {
      const usual = { millis: usualSessionMillis, idleMillis: null }
      return yield* stored.create(yield* fresh.ofAccount(account, wanted, usual, by))
    }),
    link: Effect.fn("Sessions.link")(function* (account, wanted, by) {
      const usual = { millis: sessionMillis, ...idle }
      return yield* stored.link(yield* fresh.ofAccount(account, wanted, usual, by))
    }),
    createOperator: Effect.flatMap(fresh.operators, stored.create),
    linkOperator: Effect.flatMap(fresh.operators, stored.link),
    redeem: Effect.fn("Sessions.redeem")(function* (given) {
      const ticket = Redacted.value(given)
      if (!isText(ticket, ticketPrefix)) return yield* new TicketRefused()
      const token = yield* next(tokenPrefix)
      const found = yield* store.redeem(yield* hashOf(ticket), yield* hashOf(token))
      if (Option.isNone(found)) return yield* new TicketRefused()
      return { session: found.value, token: Redacted.make(token) }
    }),
    admit: (given) => {
      const token = Redacted.value(given)
      if (!isText(token, tokenPrefix)) return Effect.succeed(refused)
      return Effect.flatMap(hashOf(token), store.admit)
    },
    list: store.list,
    revoke: Effect.fn("Sessions.revoke")(function* (owner, id) {
      if (!(yield* store.revoke(owner, id))) return yield* new SessionNotFound({ sessionId: id })
    }),
    revokeAll: store.revokeAll,
  })
})
