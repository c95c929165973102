/**
 * The store of sessions.
 *
 * Guarantees: a ticket has one winner, and no session admits too many requests, because each write
 * is alone; windows and expiry follow Effect's clock.
 */
import type { SessionId } from "@millrace/core/domain/Id"
import {
  requestsPerSessionMinute,
  sessionsListed,
  sessionsPerAccount,
} from "@millrace/core/domain/Limits"
import type { Session } from "@millrace/core/domain/Session"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { minuteMillis } from "@millrace/core/domain/Timestamp"
import type { SessionAdmission, SessionOwner } from "@millrace/core/ports/SessionStore"
import { SessionStore, TooManySessions } from "@millrace/core/ports/SessionStore"
import { Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"

interface Row {
  readonly id: SessionId
  readonly session: string
  readonly last_used_at: number | null
  readonly minute: number
  readonly minute_used: number
}

const columns = "id, session, last_used_at, minute, minute_used"

const sessionOf = (row: Row): Session => ({
  ...(JSON.parse(row.session) as Session),
  lastUsedAt: row.last_used_at,
})

/** The condition that a session, or its ticket, is not over. Its parameter is the time. */
const isLive = `min(expires_at, coalesce(redeem_by,
  coalesce(last_used_at, created_at) + idle_millis, expires_at)) > ?`

const isOf = `account_id IS ?`

const insert = (
  db: Connection,
  session: Session,
  hash: Uint8Array,
  redeemBy: Timestamp | null,
  now: Timestamp,
) => {
  const { accountId, createdAt, expiresAt, id, idleMillis, lastUsedAt } = session
  const { count } = db
    .query<{ readonly count: number }>(
      `SELECT count(*) AS count FROM sessions WHERE ${isOf} AND ${isLive}`,
      accountId,
      now,
    )
    .first()!
  if (count >= sessionsPerAccount) return new TooManySessions({ limit: sessionsPerAccount })
  db.run(
    `INSERT INTO sessions (
       id, account_id, created_at, expires_at, idle_millis, last_used_at, hash, redeem_by, minute,
       minute_used, session
     ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?)`,
    id,
    accountId,
    createdAt,
    expiresAt,
    idleMillis,
    lastUsedAt,
    hash,
    redeemBy,
    JSON.stringify(session),
  )
  return undefined
}

const redeem = (db: Connection, ticketHash: Uint8Array, hash: Uint8Array, now: Timestamp) => {
  const row = db
    .query<Row>(
      `UPDATE sessions SET hash = ?, redeem_by = NULL, last_used_at = ?
       WHERE hash = ? AND redeem_by IS NOT NULL AND ${isLive} RETURNING ${columns}`,
      hash,
      now,
      ticketHash,
      now,
    )
    .first()
  return Option.map(Option.fromUndefinedOr(row), sessionOf)
}

const admit = (db: Connection, hash: Uint8Array, now: Timestamp): SessionAdmission => {
  const row = db
    .query<Row>(
      `SELECT ${columns} FROM sessions WHERE hash = ? AND redeem_by IS NULL AND ${isLive}`,
      hash,
      now,
    )
    .first()
  if (row === undefined) return { _tag: "Refused" }
  const minute = Math.max(row.minute, Math.floor(now / minuteMillis))
  const used = minute > row.minute ? 0 : row.minute_used
  if (used >= requestsPerSessionMinute) {
    return { _tag: "Limited", retryAfterMillis: Math.max(0, (minute + 1) * minuteMillis - now) }
  }
  db.run(
    `UPDATE sessions SET last_used_at = ?, minute = ?, minute_used = ? WHERE id = ?`,
    now,
    minute,
    used + 1,
    row.id,
  )
  return { _tag: "Admitted", session: { ...sessionOf(row), lastUsedAt: now } }
}

const live = (db: Connection, ids: ReadonlyArray<SessionId>, now: Timestamp) =>
  ids.filter(
    (id) =>
      db.query(`SELECT 1 FROM sessions WHERE id = ? AND ${isLive}`, id, now).first() !== undefined,
  )

const list = (db: Connection, owner: SessionOwner, now: Timestamp): ReadonlyArray<Session> =>
  db
    .query<Row>(
      `SELECT ${columns} FROM sessions WHERE ${isOf} AND ${isLive}
       ORDER BY created_at DESC, id DESC LIMIT ?`,
      owner,
      now,
      sessionsListed,
    )
    .all()
    .map(sessionOf)

const forget = (db: Connection, now: Timestamp): void => {
  db.run(`DELETE FROM sessions WHERE NOT (${isLive})`, now)
}

const revokeAll = (db: Connection, owner: SessionOwner, now: Timestamp): number => {
  forget(db, now)
  return db.run(`DELETE FROM sessions WHERE ${isOf}`, owner)
}

const make = (db: Connection): SessionStore["Service"] => {
  const write = <A>(method: string, step: (now: Timestamp) => A) =>
    db.write(`SessionStore.${method}`, step)
  const read = <A>(method: string, step: (now: Timestamp) => A) =>
    db.read(`SessionStore.${method}`, step)
  const stored = (method: string, session: Session, hash: Uint8Array, redeemBy: Timestamp | null) =>
    Effect.flatMap(
      write(method, (now) => insert(db, session, hash, redeemBy, now)),
      (problem) => (problem === undefined ? Effect.void : Effect.fail(problem)),
    )
  return SessionStore.of({
    insert: (session, hash) => stored("insert", session, hash, null),
    insertTicket: (session, hash, redeemBy) => stored("insertTicket", session, hash, redeemBy),
    redeem: (ticketHash, hash) => write("redeem", (now) => redeem(db, ticketHash, hash, now)),
    admit: (hash) => write("admit", (now) => admit(db, hash, now)),
    live: (ids) => read("live", (now) => live(db, ids, now)),
    list: (owner) => read("list", (now) => list(db, owner, now)),
    revoke: (owner, id) =>
      write("revoke", () => db.run(`DELETE FROM sessions WHERE ${isOf} AND id = ?`, owner, id) > 0),
    revokeAll: (owner) => write("revokeAll", (now) => revokeAll(db, owner, now)),
    forget: write("forget", (now) => forget(db, now)),
  })
}

/** The store of sessions of a database. */
export const layer: Layer.Layer<SessionStore, never, Database> = Layer.effect(
  SessionStore,
  Effect.map(Database, make),
)
