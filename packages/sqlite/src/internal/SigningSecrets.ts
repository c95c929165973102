/**
 * The signing secrets of accounts.
 *
 * Guarantees: secrets expire by Effect's clock. Leaves out: sealing.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { sealedBy } from "@millrace/core/domain/Secret"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { StoredSecret } from "@millrace/core/ports/WebhookStore"
import type { Connection } from "./SqliteConnection.ts"

const columns =
  "id, account_id AS accountId, sealed, created_at AS createdAt, expires_at AS expiresAt"
const isLive = "(expires_at IS NULL OR expires_at > ?)"

const plain = ({ accountId, createdAt, expiresAt, id, sealed }: StoredSecret): StoredSecret => ({
  id,
  accountId,
  sealed,
  createdAt,
  expiresAt,
})

/** The live secrets of an account, oldest first. */
export const live = (
  db: Connection,
  account: AccountId,
  now: Timestamp,
): ReadonlyArray<StoredSecret> =>
  db
    .query<StoredSecret>(
      `SELECT ${columns} FROM webhook_secrets WHERE account_id = ? AND ${isLive}
       ORDER BY created_at, id`,
      account,
      now,
    )
    .all()
    .map(plain)

/** For each master key that sealed live secrets, one of them. */
export const ofEachKey = (db: Connection, now: Timestamp): ReadonlyArray<StoredSecret> =>
  db
    .query<StoredSecret>(
      `SELECT ${columns} FROM webhook_secrets WHERE ${isLive} GROUP BY sealed_by`,
      now,
    )
    .all()
    .map(plain)

/** Live secrets that other keys than this one have sealed. */
export const sealedOtherwise = (
  db: Connection,
  keyName: string,
  limit: number,
  now: Timestamp,
): ReadonlyArray<StoredSecret> =>
  db
    .query<StoredSecret>(
      `SELECT ${columns} FROM webhook_secrets WHERE sealed_by <> ? AND ${isLive} LIMIT ?`,
      keyName,
      now,
      limit,
    )
    .all()
    .map(plain)

/** Replaces a seal, if it is still the stored one. */
export const reseal = (db: Connection, { id, sealed }: StoredSecret, next: string): void => {
  db.run(
    `UPDATE webhook_secrets SET sealed = ?, sealed_by = ? WHERE id = ? AND sealed = ?`,
    next,
    sealedBy(next),
    id,
    sealed,
  )
}

const insert = (db: Connection, secret: StoredSecret): void => {
  db.run(
    `INSERT INTO webhook_secrets (id, account_id, sealed, sealed_by, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
    secret.id,
    secret.accountId,
    secret.sealed,
    sealedBy(secret.sealed),
    secret.createdAt,
    secret.expiresAt,
  )
}

/** Stores a secret unless the account has a live one; returns the live ones. */
export const ensure = (
  db: Connection,
  secret: StoredSecret,
  now: Timestamp,
): ReadonlyArray<StoredSecret> => {
  const { accountId } = secret
  if (live(db, accountId, now).length === 0) insert(db, secret)
  return live(db, accountId, now)
}

/** Stores a secret; the others expire at this time at the latest. */
export const rotate = (
  db: Connection,
  secret: StoredSecret,
  until: Timestamp,
  now: Timestamp,
): ReadonlyArray<StoredSecret> => {
  const { accountId } = secret
  db.run(`DELETE FROM webhook_secrets WHERE account_id = ? AND expires_at <= ?`, accountId, now)
  db.run(
    `UPDATE webhook_secrets SET expires_at = min(coalesce(expires_at, ?), ?) WHERE account_id = ?`,
    until,
    until,
    accountId,
  )
  insert(db, secret)
  return live(db, accountId, now)
}
