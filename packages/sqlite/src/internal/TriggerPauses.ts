/**
 * The pauses of triggers: a switch for all of an account.
 *
 * Leaves out: what becomes of times and ends meanwhile.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { TriggerPause } from "@millrace/core/ports/TriggerStore"
import type { Connection } from "./SqliteConnection.ts"

interface Row {
  readonly paused_at: number
  readonly resumed_at: number | null
}

const find = (db: Connection, account: AccountId): Row | undefined =>
  db
    .query<Row>(`SELECT paused_at, resumed_at FROM trigger_pauses WHERE account_id = ?`, account)
    .first()

/** Since when the triggers of an account are paused; `null` if they are not. */
export const pausedAt = (db: Connection, account: AccountId): Timestamp | null => {
  const row = find(db, account)
  return row?.resumed_at === null ? row.paused_at : null
}

/** Pauses the triggers of an account, and says since when they are. */
export const pause = (db: Connection, account: AccountId, at: Timestamp): Timestamp => {
  const since = pausedAt(db, account) ?? at
  db.run(`INSERT OR REPLACE INTO trigger_pauses VALUES (?, ?, NULL)`, account, since)
  return since
}

/** Resumes them. */
export const resume = (db: Connection, account: AccountId, at: Timestamp): void => {
  const statement = `UPDATE trigger_pauses SET resumed_at = ?
    WHERE account_id = ? AND resumed_at IS NULL`
  db.run(statement, at, account)
}

/** The pauses of accounts. */
export const of = (
  db: Connection,
  accounts: ReadonlyArray<AccountId>,
): ReadonlyArray<TriggerPause> =>
  [...new Set(accounts)].flatMap((accountId) => {
    const row = find(db, accountId)
    if (row === undefined) return []
    return [{ accountId, since: row.paused_at, until: row.resumed_at }]
  })
