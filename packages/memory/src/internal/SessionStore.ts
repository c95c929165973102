/**
 * The store of sessions in memory.
 *
 * Guarantees: every method is one synchronous step; windows and expiry follow Effect's clock.
 * Leaves out: durability.
 */
import type { SessionId } from "@millrace/core/domain/Id"
import {
  requestsPerSessionMinute,
  sessionsListed,
  sessionsPerAccount,
} from "@millrace/core/domain/Limits"
import type { Session } from "@millrace/core/domain/Session"
import { endOf } from "@millrace/core/domain/Session"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { minuteMillis } from "@millrace/core/domain/Timestamp"
import type { SessionAdmission, SessionOwner } from "@millrace/core/ports/SessionStore"
import { SessionStore, TooManySessions } from "@millrace/core/ports/SessionStore"
import { Clock, Effect, Layer, Option } from "effect"
import { compare } from "./Timeline.ts"

interface Entry {
  session: Session
  /** The hash of its token, or of its ticket. */
  hash: string
  /** Until when its ticket can be redeemed; `null` once a token opens it. */
  redeemBy: Timestamp | null
  minute: number
  used: number
}

const textOf = (hash: Uint8Array): string => String.fromCharCode(...hash)

const isLive = ({ redeemBy, session }: Entry, now: Timestamp): boolean =>
  now < (redeemBy === null ? endOf(session) : Math.min(redeemBy, session.expiresAt))

/** All sessions of one store. */
class Sessions {
  readonly #all = new Map<SessionId, Entry>()
  readonly #byHash = new Map<string, Entry>()

  live(owner: SessionOwner, now: Timestamp): ReadonlyArray<Session> {
    const entries = [...this.#all.values()].filter(
      (each) => each.session.accountId === owner && isLive(each, now),
    )
    return entries.map(({ session }) => session)
  }

  isLive(id: SessionId, now: Timestamp): boolean {
    const entry = this.#all.get(id)
    return entry !== undefined && isLive(entry, now)
  }

  insert(session: Session, hash: Uint8Array, redeemBy: Timestamp | null): void {
    const entry = { session, hash: textOf(hash), redeemBy, minute: 0, used: 0 }
    this.#all.set(session.id, entry)
    this.#byHash.set(entry.hash, entry)
  }

  redeem(ticketHash: Uint8Array, hash: Uint8Array, now: Timestamp): Session | undefined {
    const entry = this.#byHash.get(textOf(ticketHash))
    if (entry === undefined || entry.redeemBy === null || !isLive(entry, now)) return undefined
    this.#byHash.delete(entry.hash)
    entry.hash = textOf(hash)
    entry.redeemBy = null
    entry.session = { ...entry.session, lastUsedAt: now }
    this.#byHash.set(entry.hash, entry)
    return entry.session
  }

  admit(hash: Uint8Array, now: Timestamp): SessionAdmission {
    const entry = this.#byHash.get(textOf(hash))
    if (entry === undefined || entry.redeemBy !== null || !isLive(entry, now)) {
      return { _tag: "Refused" }
    }
    const minute = Math.max(entry.minute, Math.floor(now / minuteMillis))
    const used = minute > entry.minute ? 0 : entry.used
    if (used >= requestsPerSessionMinute) {
      const retryAfterMillis = Math.max(0, (minute + 1) * minuteMillis - now)
      return { _tag: "Limited", retryAfterMillis }
    }
    entry.minute = minute
    entry.used = used + 1
    entry.session = { ...entry.session, lastUsedAt: now }
    return { _tag: "Admitted", session: entry.session }
  }

  revoke(owner: SessionOwner, id: SessionId): boolean {
    const entry = this.#all.get(id)
    if (entry === undefined || entry.session.accountId !== owner) return false
    this.#byHash.delete(entry.hash)
    return this.#all.delete(id)
  }

  revokeAll(owner: SessionOwner, now: Timestamp): number {
    this.forget(now)
    const found = this.live(owner, now)
    for (const { id } of found) this.revoke(owner, id)
    return found.length
  }

  forget(now: Timestamp): void {
    for (const entry of this.#all.values()) {
      if (!isLive(entry, now)) this.revoke(entry.session.accountId, entry.session.id)
    }
  }
}

const make = Effect.sync(() => {
  const sessions = new Sessions()
  const now = Clock.currentTimeMillis
  const insert = (session: Session, hash: Uint8Array, redeemBy: Timestamp | null) =>
    Effect.flatMap(now, (millis) => {
      if (sessions.live(session.accountId, millis).length >= sessionsPerAccount) {
        return Effect.fail(new TooManySessions({ limit: sessionsPerAccount }))
      }
      return Effect.sync(() => sessions.insert(session, hash, redeemBy))
    })
  return SessionStore.of({
    insert: (session, hash) => insert(session, hash, null),
    insertTicket: insert,
    redeem: (ticketHash, hash) =>
      Effect.map(now, (millis) =>
        Option.fromUndefinedOr(sessions.redeem(ticketHash, hash, millis)),
      ),
    admit: (hash) => Effect.map(now, (millis) => sessions.admit(hash, millis)),
    live: (ids) => Effect.map(now, (millis) => ids.filter((id) => sessions.isLive(id, millis))),
    list: (owner) =>
      Effect.map(now, (millis) =>
        sessions.live(owner, millis).toSorted(compare).toReversed().slice(0, sessionsListed),
      ),
    revoke: (owner, id) => Effect.sync(() => sessions.revoke(owner, id)),
    revokeAll: (owner) => Effect.map(now, (millis) => sessions.revokeAll(owner, millis)),
    forget: Effect.map(now, (millis) => sessions.forget(millis)),
  })
})

/** An empty store of sessions. */
export const layer: Layer.Layer<SessionStore> = Layer.effect(SessionStore, make)
