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
export const placeOf = (alias?: string): string => {
  const [ready, created, priority] = ["ready_at", "created_at", "priority"].map((name) =>
    alias === undefined ? name : `${alias}.${name}`,
  )
  return `(coalesce(${ready}, ${created}) - ${priority} * ${priorityMillis})`
}

export const runOrder: ReadonlyArray<string> = [
  `ALTER TABLE runs ADD COLUMN priority int4 NOT NULL DEFAULT 0, ADD COLUMN start_at int8`,
  `ALTER TABLE open_runs ADD COLUMN priority int4 NOT NULL DEFAULT 0`,
  `DROP INDEX open_runs_queued, open_runs_lined_up`,
  `CREATE INDEX open_runs_queued ON open_runs (account_id, ${placeOf()}, run)
    WHERE state = 'queued'`,
  `CREATE INDEX open_runs_lined_up ON open_runs (account_id, workflow_id, ${placeOf()}, run)
    WHERE state = 'queued'`,
]

/** The migration for concurrency keys; see KeyChanges. */
export const concurrencyKeys: ReadonlyArray<string> = [
  `ALTER TABLE runs ADD COLUMN concurrency_key text COLLATE "C", ADD COLUMN concurrency int4`,
  `ALTER TABLE open_runs ADD COLUMN concurrency_key text COLLATE "C",
    ADD COLUMN concurrency int4, ADD COLUMN needs_key boolean NOT NULL DEFAULT false`,
  `CREATE TABLE key_changes (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    concurrency_key text COLLATE "C" NOT NULL
  )`,
  `CREATE INDEX open_runs_keyed
    ON open_runs (account_id, workflow_id, concurrency_key, needs_key, ${placeOf()}, run)
    WHERE concurrency_key IS NOT NULL`,
  `DROP INDEX open_runs_queued, open_runs_lined_up`,
  `CREATE INDEX open_runs_queued ON open_runs (account_id, ${placeOf()}, run)
    WHERE state = 'queued' AND NOT needs_key`,
  `CREATE INDEX open_runs_lined_up ON open_runs (account_id, workflow_id, ${placeOf()}, run)
    WHERE state = 'queued' AND NOT needs_key`,
]
