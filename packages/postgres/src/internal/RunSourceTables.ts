/**
 * The migration for listing runs by who asked for them.
 *
 * Guarantees: no row is rewritten, and servers of the version before continue. Runs can be read
 * meanwhile; whoever would write a run waits until the index is there, about a second for a million
 * runs. Runs of the interface have no entry in it, so their commits write nothing more.
 */
export const runSources: ReadonlyArray<string> = [
  `CREATE INDEX IF NOT EXISTS runs_by_source ON runs (account_id, source, created_at, id)
    WHERE source <> 'api'`,
]
