/**
 * The sixth migration: inboxes, and a column for the state of an open run; and the migration for an
 * index of untaken messages.
 *
 * Guarantees: open runs continue. Servers of the previous version continue, and neither send nor
 * read messages; the state is computed from the columns that they write. Leaves out: sending and
 * taking messages; see Inboxes.
 */

const id = `text COLLATE "C"`

export const inboxTables: ReadonlyArray<string> = [
  // The number of the run's last message. It is in `runs`, like the revision, so one condition on
  // one row says if a commit has seen all messages.
  `ALTER TABLE runs ADD COLUMN messages int4 NOT NULL DEFAULT 0`,
  // A message from outside expires. A message of another run is kept until it is taken.
  `CREATE TABLE run_messages (
    run int8 NOT NULL,
    number int4 NOT NULL,
    at int8 NOT NULL,
    expires_at int8,
    taken_by ${id},
    id ${id} NOT NULL,
    name json NOT NULL,
    payload json NOT NULL,
    PRIMARY KEY (run, number)
  )`,
  `CREATE UNIQUE INDEX run_messages_by_id ON run_messages (run, id)`,
  // A generated column, so no statement has to set the state, and none can set a wrong one.
  `ALTER TABLE open_runs ADD COLUMN state text NOT NULL GENERATED ALWAYS AS (
    CASE WHEN owner IS NOT NULL THEN 'owned' WHEN due_at IS NOT NULL THEN 'parked' ELSE 'queued' END
  ) STORED`,
  `DROP INDEX open_runs_parked, open_runs_queued, open_runs_lined_up`,
  `CREATE INDEX open_runs_parked ON open_runs (due_at, run) WHERE state = 'parked'`,
  `CREATE INDEX open_runs_queued ON open_runs (account_id, coalesce(ready_at, created_at), run)
    WHERE state = 'queued'`,
  `CREATE INDEX open_runs_lined_up
    ON open_runs (account_id, workflow_id, coalesce(ready_at, created_at), run)
    WHERE state = 'queued'`,
]

/** An index of the messages that no node has taken; a loop reads them once for every item. */
export const openMessages: ReadonlyArray<string> = [
  `CREATE INDEX run_messages_open ON run_messages (run, number) WHERE taken_by IS NULL`,
]
