/**
 * Concurrency keys: which of the runs that wait for a key get it.
 *
 * Guarantees: a claim looks only at keys for which a run has begun to wait, or that a run has given
 * back. Leaves out: whose turn it is in the queue.
 */
import type { Run } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Connection } from "./SqliteConnection.ts"

type Keyed = Pick<Run, "accountId" | "workflowId" | "concurrencyKey">

/** Adds the key of a run to those that the next claim looks at. */
export const add = (db: Connection, { accountId, concurrencyKey, workflowId }: Keyed): void => {
  if (concurrencyKey === null) return
  db.run(
    `INSERT OR IGNORE INTO key_changes VALUES (?, ?, ?)`,
    accountId,
    workflowId,
    concurrencyKey,
  )
}

/** Adds the keys of runs that are put into the queue, by a condition on `runs`. */
export const addOfQueued = (
  db: Connection,
  condition: string,
  ...values: ReadonlyArray<string | number>
) =>
  db.run(
    `INSERT OR IGNORE INTO key_changes SELECT account_id, workflow_id, concurrency_key FROM runs
     WHERE needs_key = 1 AND ${condition}`,
    ...values,
  )

/** Adds the key of a run, if the run has ended. */
export const addAtEnd = (db: Connection, run: Run): void => {
  if (isTerminal(run.status)) add(db, run)
}

interface Change {
  readonly account_id: string
  readonly workflow_id: string
  readonly concurrency_key: string
}

const ofKey = "account_id = ? AND workflow_id = ? AND concurrency_key = ?"

const heldStatement = `SELECT count(*) AS count FROM runs
  WHERE ${ofKey} AND needs_key = 0 AND status IN ('QUEUED', 'RUNNING')`

const firstStatement = `SELECT number, concurrency FROM runs
  WHERE ${ofKey} AND key_place IS NOT NULL ORDER BY key_place, id LIMIT 1`

/** Gives all keys that may be given, each in the order of those that wait for it. */
export const give = (db: Connection): void => {
  const changes = db.query<Change>(`SELECT * FROM key_changes`).all()
  if (changes.length === 0) return
  for (const { account_id, concurrency_key, workflow_id } of changes) {
    const key = [account_id, workflow_id, concurrency_key] as const
    let { count } = db.query<{ readonly count: number }>(heldStatement, ...key).first()!
    for (;;) {
      const first = db
        .query<{ readonly number: number; readonly concurrency: number }>(firstStatement, ...key)
        .first()
      if (first === undefined || count >= first.concurrency) break
      db.run(`UPDATE runs SET needs_key = 0 WHERE number = ?`, first.number)
      count += 1
    }
  }
  db.run(`DELETE FROM key_changes`)
}
