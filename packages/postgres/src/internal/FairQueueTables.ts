/**
 * The third migration: one queue for what is queued and what is due.
 *
 * Guarantees: whatever is open stays where it is; what has no owner is claimed as before. Leaves
 * out: anything that cannot run in a transaction.
 */

/**
 * A parked run that is due is put into the queue: its time goes from `due_at` to `ready_at`, which
 * tells its place there. Other runs have none; theirs is the time of their creation. Whose a run is
 * stands here from its insert on, so that what has an owner is counted without its run.
 */
export const fairQueue: ReadonlyArray<string> = [
  `ALTER TABLE open_runs ADD COLUMN ready_at int8`,
  `UPDATE open_runs o SET account_id = r.account_id, workflow_id = r.workflow_id
    FROM runs r WHERE r.number = o.run AND o.account_id IS NULL`,
  `DROP INDEX open_runs_queued, open_runs_lined_up`,
  `CREATE INDEX open_runs_queued ON open_runs (account_id, coalesce(ready_at, created_at), run)
    WHERE owner IS NULL AND due_at IS NULL`,
  `CREATE INDEX open_runs_lined_up
    ON open_runs (account_id, workflow_id, coalesce(ready_at, created_at), run)
    WHERE owner IS NULL AND due_at IS NULL`,
  `CREATE INDEX open_runs_busy ON open_runs (account_id, workflow_id) WHERE owner IS NOT NULL`,
]
