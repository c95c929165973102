/**
 * What has become of the runs of workflows lately.
 *
 * Guarantees: of a run that is only counted, an index is read, and of one that has failed its row.
 */
import type { WorkflowId } from "@millrace/core/domain/Id"
import type { ActivityQuery, WorkflowActivity } from "@millrace/core/ports/RunStore"
import { isNoItem, rowOfNumber } from "./RunRecords.ts"
import { runOf } from "./RunRows.ts"
import type { Connection } from "./SqliteConnection.ts"

const lastStatement = `SELECT number FROM runs
  WHERE account_id = ? AND workflow_id = ? AND ${isNoItem}
  ORDER BY created_at DESC, id DESC LIMIT 1`

const countStatement = `SELECT count(*) AS runs FROM runs
  WHERE account_id = ? AND workflow_id = ? AND created_at >= ?`

const failedStatement = `SELECT workflow_id AS id, count(*) AS failed FROM (
    SELECT workflow_id FROM runs WHERE account_id = ? AND status = 'FAILED' AND created_at >= ?
    ORDER BY created_at DESC, id DESC LIMIT ?
  ) GROUP BY 1`

interface Failed {
  readonly id: WorkflowId
  readonly failed: number
}

/** The activity of an account's workflows. */
export const activity = (
  db: Connection,
  { account, failuresRead, since, workflowIds }: ActivityQuery,
): ReadonlyMap<WorkflowId, WorkflowActivity> => {
  const failed = new Map(
    db
      .query<Failed>(failedStatement, account, since, failuresRead)
      .all()
      .map((row) => [row.id, row.failed]),
  )
  const found = new Map<WorkflowId, WorkflowActivity>()
  for (const id of new Set(workflowIds)) {
    const last = db.query<{ readonly number: number }>(lastStatement, account, id).first()
    if (last === undefined) continue
    const counted = db.query<{ readonly runs: number }>(countStatement, account, id, since).first()
    const lastRun = runOf(rowOfNumber(db, last.number))
    found.set(id, { lastRun, runs: counted!.runs, failed: failed.get(id) ?? 0 })
  }
  return found
}
