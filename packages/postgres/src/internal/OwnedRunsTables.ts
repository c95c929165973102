/**
 * The fifth migration: one index for the runs that have an owner.
 *
 * Guarantees: no rows are rewritten, and servers of the previous version continue.
 */

/**
 * The index finds the runs of an owner, and counts them by account or workflow. Counting reads the
 * index once for each owner, but there are only as many owners as servers. In return, a start
 * writes one index entry instead of two.
 */
export const ownedRuns: ReadonlyArray<string> = [
  `DROP INDEX open_runs_owned, open_runs_busy`,
  `CREATE INDEX open_runs_owned ON open_runs (owner, account_id, workflow_id)
    WHERE owner IS NOT NULL`,
]
