/**
 * The third migration: one queue for queued runs and due runs.
 *
 * Guarantees: open runs keep their state, and runs without an owner are claimed as before.
 */

/**
 * When a due parked run is put into the queue, its time moves from `due_at` to `ready_at`, which
 * gives its place in the queue. Without `ready_at`, the time of creation gives the place. A row has
 * its account and workflow from its insert on, so owned runs are counted without reading `runs`.
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
