/**
 * The store of sessions on Postgres. Windows, expiry and idleness follow the database's clock.
 *
 * Guarantees: each method is one statement, and a row is locked while it is changed, so a ticket
 * has one winner and no session admits too many requests.
 */
import { PgTypes } from "@effect/sql-pg"
import type { SessionId } from "@millrace/core/domain/Id"
import {
  requestsPerSessionMinute,
  sessionsListed,
  sessionsPerAccount,
} from "@millrace/core/domain/Limits"
import type { Session } from "@millrace/core/domain/Session"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { minuteMillis } from "@millrace/core/domain/Timestamp"
import type { SessionOwner } from "@millrace/core/ports/SessionStore"
import { SessionStore, TooManySessions } from "@millrace/core/ports/SessionStore"
import { Effect, Layer, Option, Result } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { DatabaseClock } from "./DatabaseClock.ts"
import { millisOf } from "./DatabaseClock.ts"
import { databasePort } from "./DatabaseError.ts"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"
import { optional, values } from "./Statements.ts"

interface Row extends Session {
  readonly hash: Uint8Array
  readonly redeemBy: Timestamp | null
}

const shown: Table<Session> = [
  ...Rows.texts<Session>("id", "accountId", "role"),
  ...Rows.columns("json")<Session>("workflows"),
  ...Rows.int8s<Session>("createdAt", "expiresAt", "idleMillis", "lastUsedAt"),
]

const columns: Table<Row> = [
  ...(shown as ReadonlyArray<Table<Session>[number]> as Table<Row>),
  ...Rows.columns("bytea")<Row>("hash"),
  ...Rows.int8s<Row>("redeemBy"),
]

const sessionObject = Rows.object(shown, "s")

/** The condition that a session, or its ticket, is not over. */
const isLive = (clock: DatabaseClock): string => `s.expires_at > ${millisOf(clock)} AND CASE
  WHEN s.redeem_by IS NOT NULL THEN s.redeem_by > ${millisOf(clock)}
  WHEN s.idle_millis IS NULL THEN true
  ELSE coalesce(s.last_used_at, s.created_at) + s.idle_millis > ${millisOf(clock)} END`

const isOf = `s.account_id IS NOT DISTINCT FROM $1`

/** The index does not serve \`IS NOT DISTINCT FROM\`. */
const ownedBy = (owner: SessionOwner): string =>
  owner === null ? `s.account_id IS NULL AND $1::text IS NULL` : `s.account_id = $1`

const insertStatement = (owner: SessionOwner) => `
INSERT INTO sessions (${Rows.names(columns)})
SELECT ${Rows.names(columns)} FROM ${Rows.source(columns, "new", 2)}
WHERE (SELECT count(*) FROM (
  SELECT FROM sessions s WHERE ${ownedBy(owner)} AND ${isLive("now()")} LIMIT ${sessionsPerAccount}
) there) < ${sessionsPerAccount}
RETURNING id AS value`

const redeemStatement = `
UPDATE sessions s SET hash = $2, redeem_by = NULL, last_used_at = ${millisOf("clock_timestamp()")}
WHERE s.hash = $1 AND s.redeem_by IS NOT NULL AND ${isLive("clock_timestamp()")}
RETURNING ${sessionObject} AS value`

const thisMinute = `${millisOf("clock_timestamp()")} / ${minuteMillis}`

const admitStatement = `
WITH used AS (
  UPDATE sessions s SET
    minute = greatest(s.minute, ${thisMinute}),
    minute_used = CASE WHEN s.minute >= ${thisMinute} THEN s.minute_used + 1 ELSE 1 END,
    last_used_at = greatest(s.last_used_at, ${millisOf("clock_timestamp()")})
  WHERE s.hash = $1 AND s.redeem_by IS NULL AND ${isLive("clock_timestamp()")}
    AND (s.minute < ${thisMinute} OR s.minute_used < ${requestsPerSessionMinute})
  RETURNING ${sessionObject} AS session
)
SELECT json_build_object('session', session) AS value FROM used
UNION ALL
SELECT json_build_object('retryAfterMillis',
  greatest(0, (s.minute + 1) * ${minuteMillis} - ${millisOf("clock_timestamp()")}))
FROM sessions s
WHERE s.hash = $1 AND s.redeem_by IS NULL AND ${isLive("clock_timestamp()")}
  AND NOT EXISTS (SELECT FROM used)`

const liveStatement = `
SELECT s.id AS value FROM sessions s WHERE s.id = ANY($1) AND ${isLive("now()")}`

const listStatement = (owner: SessionOwner) => `
SELECT ${sessionObject} AS value FROM sessions s WHERE ${ownedBy(owner)} AND ${isLive("now()")}
ORDER BY s.created_at DESC, s.id DESC LIMIT ${sessionsListed}`

const revokeStatement = `DELETE FROM sessions s WHERE ${isOf} AND s.id = $2 RETURNING s.id AS value`

const revokeAllStatement = (owner: SessionOwner) => `
WITH gone AS (
  DELETE FROM sessions s WHERE ${ownedBy(owner)} RETURNING (${isLive("now()")}) AS was_live
)
SELECT count(*)::int AS value FROM gone WHERE was_live`

const forgetStatement = `
DELETE FROM sessions s WHERE NOT (${isLive("now()")})`

/** The answer to one request; none: there is no such session. */
type Found = { readonly session: Session } | { readonly retryAfterMillis: number }

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const insert = (session: Session, hash: Uint8Array, redeemBy: Timestamp | null) => {
    const { accountId } = session
    const row = Rows.parameters(columns, [{ ...session, hash, redeemBy }])
    const stored = optional<string>(sql, insertStatement(accountId), [accountId, ...row])
    return Effect.flatMap(stored, (found) =>
      Option.isSome(found)
        ? Effect.void
        : Effect.fail(new TooManySessions({ limit: sessionsPerAccount })),
    )
  }
  return databasePort<SessionStore["Service"]>("SessionStore", {
    insert: (session, hash) => insert(session, hash, null),
    insertTicket: insert,
    redeem: (ticketHash, hash) => optional<Session>(sql, redeemStatement, [ticketHash, hash]),
    admit: (hash) =>
      Effect.map(
        optional<Found>(sql, admitStatement, [hash]),
        Option.match({
          onNone: () => ({ _tag: "Refused" }) as const,
          onSome: (found) =>
            "session" in found
              ? ({ _tag: "Admitted", ...found } as const)
              : ({ _tag: "Limited", ...found } as const),
        }),
      ),
    live: (ids) => {
      const given = Result.getOrThrow(PgTypes.array(ids.map(Rows.text), PgTypes.OID.text))
      return values<SessionId>(sql, liveStatement, [given])
    },
    list: (owner) => values<Session>(sql, listStatement(owner), [owner]),
    revoke: (owner, id) =>
      Effect.map(optional<string>(sql, revokeStatement, [owner, Rows.text(id)]), Option.isSome),
    revokeAll: (owner) =>
      Effect.map(optional<number>(sql, revokeAllStatement(owner), [owner]), (found) =>
        Option.getOrElse(found, () => 0),
      ),
    forget: Effect.asVoid(sql.unsafe(forgetStatement)),
  })
})

/** The store of sessions over an existing client. The tables must exist. */
export const layer: Layer.Layer<SessionStore, never, SqlClient> = Layer.effect(SessionStore, make)
