/**
 * The change of the tables with which runs remember the owners they have lost.
 *
 * Guarantees: open runs go on, and servers of the version before go on beside it until they are
 * replaced; they count claims as before, and no losses. Rows are not rewritten. Leaves out: how
 * losses are recorded, see ClaimStatement.
 */

export const quarantineTables = [
  `ALTER TABLE runs ADD COLUMN losses jsonb NOT NULL DEFAULT '[]'`,
  // No longer read, and written by servers of the version before only.
  `ALTER TABLE runs ALTER COLUMN claims SET DEFAULT 0`,
  // How many losses its run has, so that a claim need not read the runs to tell suspects.
  `ALTER TABLE open_runs ADD COLUMN losses int2 NOT NULL DEFAULT 0`,
  `CREATE INDEX open_runs_suspects ON open_runs (losses, owner) WHERE losses > 0`,
  // When the runner was last heard of after its lease had run out.
  `ALTER TABLE runners ADD COLUMN returned_at int8`,
]
