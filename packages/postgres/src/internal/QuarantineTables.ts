/**
 * The migration that stores the losses of runs.
 *
 * Guarantees: open runs continue. Servers of the previous version continue, count claims as before
 * and record no losses. No rows are rewritten. Leaves out: recording losses; see ClaimStatement.
 */

export const quarantineTables = [
  `ALTER TABLE runs ADD COLUMN losses jsonb NOT NULL DEFAULT '[]'`,
  // No longer read. Only servers of the previous version write it.
  `ALTER TABLE runs ALTER COLUMN claims SET DEFAULT 0`,
  // The number of the run's losses, so a claim finds suspects without reading `runs`.
  `ALTER TABLE open_runs ADD COLUMN losses int2 NOT NULL DEFAULT 0`,
  `CREATE INDEX open_runs_suspects ON open_runs (losses, owner) WHERE losses > 0`,
  // When the runner last came back after its lease had expired.
  `ALTER TABLE runners ADD COLUMN returned_at int8`,
]
