/**
 * The idempotency keys of starts, until they expire.
 *
 * Guarantees: the commit of a run stores its key; each of them removes some keys that have expired.
 * Leaves out: the runs.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { IdempotencyKey, KnownStart } from "@millrace/core/domain/Idempotency"
import { idempotencyKeyMillis } from "@millrace/core/domain/Idempotency"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Connection } from "./SqliteConnection.ts"

/** The run that an account has started with a key. */
export const find = (
  db: Connection,
  account: AccountId,
  key: string,
  now: Timestamp,
): KnownStart | undefined => {
  const found = db
    .query<KnownStart>(
      `SELECT run_id AS runId, body_hash AS bodyHash FROM start_keys
     WHERE account_id = ? AND key = ? AND expires_at > ?`,
      account,
      key,
      now,
    )
    .first()
  return found === undefined ? undefined : { runId: found.runId, bodyHash: found.bodyHash }
}

/** More than one run adds, so what has expired never piles up. */
const removedAtOnce = 10

const tidyStatement = `DELETE FROM start_keys WHERE (account_id, key) IN (
    SELECT account_id, key FROM start_keys WHERE expires_at <= ? LIMIT ${removedAtOnce}
  )`

/** Stores a key that is not in use. */
export const take = (
  db: Connection,
  { accountId, id }: Run,
  { bodyHash, key }: IdempotencyKey,
  now: Timestamp,
): void => {
  db.run(tidyStatement, now)
  db.run(
    `INSERT OR REPLACE INTO start_keys (account_id, key, run_id, body_hash, expires_at)
     VALUES (?, ?, ?, ?, ?)`,
    accountId,
    key,
    id,
    bodyHash,
    now + idempotencyKeyMillis,
  )
}
