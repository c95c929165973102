/**
 * The migration for the order among the waiting runs of an account.
 *
 * Guarantees: no row is rewritten. Runs of before have priority 0, so they keep their order.
 * Servers of the previous version claim the same runs, but sort the queue of an account for it.
 */
import { priorityMillis } from "@millrace/core/domain/Limits"

/**
 * The place of a run in the queue of its account: the lowest is first. Claims name the same
 * expression, so another `priorityMillis` needs a migration that makes the indexes again.
 */
const place = `(coalesce(ready_at, created_at) - priority * ${priorityMillis})`

export const runOrder: ReadonlyArray<string> = [
  `ALTER TABLE runs ADD COLUMN priority int4 NOT NULL DEFAULT 0, ADD COLUMN start_at int8`,
  `ALTER TABLE open_runs ADD COLUMN priority int4 NOT NULL DEFAULT 0`,
  `DROP INDEX open_runs_queued, open_runs_lined_up`,
  `CREATE INDEX open_runs_queued ON open_runs (account_id, ${place}, run) WHERE state = 'queued'`,
  `CREATE INDEX open_runs_lined_up ON open_runs (account_id, workflow_id, ${place}, run)
    WHERE state = 'queued'`,
]
