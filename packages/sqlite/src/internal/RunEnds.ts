/**
 * The ends of runs that wait for triggers.
 *
 * Guarantees: a run that no trigger watches costs one look into an index. Leaves out: the
 * transaction around it.
 */
import type { RunId, TriggerId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { isFollowed } from "@millrace/core/domain/RunEndTrigger"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimedEnd, FinishedEnd, TriggerClaim } from "@millrace/core/ports/TriggerStore"
import type { Connection } from "./SqliteConnection.ts"
import { followersOf } from "./TriggerRows.ts"

/** A row of `run_ends`. */
interface Row {
  readonly trigger_id: TriggerId
  readonly run_id: RunId
  readonly due_at: number
  readonly fence: number
}

/** Stores the end of a run for each trigger that follows it. */
export const add = (db: Connection, run: Run, now: Timestamp): void => {
  if (!isFollowed(run)) return
  for (const { id } of followersOf(db, run)) {
    db.run(
      `INSERT INTO run_ends (trigger_id, run_id, due_at, fence) VALUES (?, ?, ?, 0)`,
      id,
      run.id,
      now,
    )
  }
}

/** Forgets what waits for a trigger. */
export const forget = (db: Connection, id: TriggerId): void => {
  db.run(`DELETE FROM run_ends WHERE trigger_id = ?`, id)
}

/** When the next end is due, later than now. */
export const nextDueAt = (db: Connection, now: Timestamp): number | undefined =>
  db
    .query<Pick<Row, "due_at">>(
      `SELECT due_at FROM run_ends WHERE due_at > ? ORDER BY due_at LIMIT 1`,
      now,
    )
    .first()?.due_at

/** Claims ends that are due, without their triggers. */
export const claim = (
  db: Connection,
  { leaseMillis, limit }: TriggerClaim,
  now: Timestamp,
): ReadonlyArray<Omit<ClaimedEnd, "trigger">> => {
  const due = db
    .query<Row>(
      `SELECT * FROM run_ends WHERE due_at <= ? ORDER BY due_at, trigger_id, run_id LIMIT ?`,
      now,
      limit,
    )
    .all()
  return due.map(({ fence, run_id: runId, trigger_id: triggerId }) => {
    db.run(
      `UPDATE run_ends SET due_at = ?, fence = fence + 1 WHERE trigger_id = ? AND run_id = ?`,
      now + leaseMillis,
      triggerId,
      runId,
    )
    return { triggerId, runId, fence: fence + 1 }
  })
}

/** True if an end waits, and has this fence. */
export const has = (
  db: Connection,
  { fence, runId, triggerId }: Omit<ClaimedEnd, "trigger">,
): boolean =>
  db
    .query(
      `SELECT 1 FROM run_ends WHERE trigger_id = ? AND run_id = ? AND fence = ?`,
      triggerId,
      runId,
      fence,
    )
    .first() !== undefined

/** Removes an end. False: somebody else has claimed it since. */
export const remove = (db: Connection, { fence, runId, triggerId }: FinishedEnd): boolean =>
  db.run(
    `DELETE FROM run_ends WHERE trigger_id = ? AND run_id = ? AND fence = ?`,
    triggerId,
    runId,
    fence,
  ) > 0
