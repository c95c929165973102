/**
 * The port for sessions and the tickets that become sessions. A store gets the SHA-256 of a token
 * or a ticket, never the text.
 *
 * Guarantees: a session that was revoked or is over admits nothing from then on, on any server.
 * Expiry, idleness and windows follow the store's clock. Leaves out: roles.
 */
import type { Effect, Option } from "effect"
import { Context, Schema } from "effect"
import type { AccountId, SessionId } from "../domain/Id.ts"
import type { Session } from "../domain/Session.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { StorageError } from "./StorageError.ts"

/** Whose sessions a call is about: an account's, or those of operators. */
export type SessionOwner = AccountId | null

/** The answer to one request's session. */
export type SessionAdmission =
  | { readonly _tag: "Admitted"; readonly session: Session }
  /** The session has used up its requests of this minute. */
  | { readonly _tag: "Limited"; readonly retryAfterMillis: number }
  /** Unknown, revoked, expired or idle for too long. One answer for all tells strangers nothing. */
  | { readonly _tag: "Refused" }

/** The account, or the operators, have as many live sessions as they may. Nothing was stored. */
export class TooManySessions extends Schema.TaggedError<TooManySessions>()("TooManySessions", {
  limit: Schema.Int,
}) {
  override get message(): string {
    return `There are already ${this.limit} live sessions; revoke some first`
  }
}

export class SessionStore extends Context.Service<
  SessionStore,
  {
    /** Stores a session, which the token with this hash opens. */
    readonly insert: (
      session: Session,
      hash: Uint8Array,
    ) => Effect.Effect<void, TooManySessions | StorageError>
    /**
     * Stores a session that nothing opens yet. Until `redeemBy`, the ticket with this hash is worth
     * the session, once; after that the session is over.
     */
    readonly insertTicket: (
      session: Session,
      hash: Uint8Array,
      redeemBy: Timestamp,
    ) => Effect.Effect<void, TooManySessions | StorageError>
    /**
     * Redeems a ticket: from now on the token with `hash` opens its session, and the ticket is
     * worth nothing. Of several that redeem one ticket at once, one gets the session. None: there
     * is no such ticket any more.
     */
    readonly redeem: (
      ticketHash: Uint8Array,
      hash: Uint8Array,
    ) => Effect.Effect<Option.Option<Session>, StorageError>
    /**
     * Finds the live session that the token with this hash opens, counts one request in the window
     * of the minute, and sets its last use. A request that is not admitted changes nothing. A
     * session never admits more than `requestsPerSessionMinute`.
     */
    readonly admit: (hash: Uint8Array) => Effect.Effect<SessionAdmission, StorageError>
    /** Those of these sessions that are live. */
    readonly live: (
      ids: ReadonlyArray<SessionId>,
    ) => Effect.Effect<ReadonlyArray<SessionId>, StorageError>
    /** The newest live sessions of an owner, at most `sessionsListed`, newest first. */
    readonly list: (owner: SessionOwner) => Effect.Effect<ReadonlyArray<Session>, StorageError>
    /** Ends a session. False: the owner has no such session. */
    readonly revoke: (owner: SessionOwner, id: SessionId) => Effect.Effect<boolean, StorageError>
    /** Ends all sessions of an owner, tickets too. Returns how many there were. */
    readonly revokeAll: (owner: SessionOwner) => Effect.Effect<number, StorageError>
    /** Removes sessions that are over, of all owners. */
    readonly forget: Effect.Effect<void, StorageError>
  }
>()("@millrace/core/ports/SessionStore") {}
