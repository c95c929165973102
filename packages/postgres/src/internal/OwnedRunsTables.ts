/**
 * The fifth migration: one index for the runs that have an owner.
 *
 * Guarantees: rows are not rewritten, and servers of the version before go on beside it. Leaves
 * out: who reads the index, see ClaimStatement.
 */

/**
 * It finds the runs of an owner, and how many of them an account or a workflow has. There are as
 * many owners as servers, so the second costs a few looks more than an index by account would, and
 * a start writes one entry instead of two.
 */
export const ownedRuns: ReadonlyArray<string> = [
  `DROP INDEX open_runs_owned, open_runs_busy`,
  `CREATE INDEX open_runs_owned ON open_runs (owner, account_id, workflow_id)
    WHERE owner IS NOT NULL`,
]
