/**
 * Concurrency keys: which of the runs that wait for a key get it.
 *
 * A run that waits has `needs_key` in `open_runs`, and stands in no index of the queue, so a
 * claim never reads it. A commit that adds such a run, or ends a run with a key, adds a row to
 * `key_changes`. A claim that finds such rows is held, and gives the keys that they name first.
 *
 * Guarantees: exact over all processes. Keys are given under a lock, by a statement that begins
 * when it has the lock, so it sees whatever was committed with each row that it reads. Neither a
 * start nor the end of a run waits for that. Leaves out: whose turn it is in the queue.
 */
import type { Run } from "@millrace/core/domain/Run"
import { isTerminal, needsKey } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { placeOf } from "./RunOrderTables.ts"
import * as Rows from "./Rows.ts"

/** What {@link opened} has to know of new runs, besides account, workflow and creation. */
export const created = "owner, due_at, status, priority, concurrency_key, concurrency"

/** The part of a commit's statement that gives new runs their rows of `open_runs`. */
export const opened = `opened AS (
  INSERT INTO open_runs (run, owner, due_at, created_at, account_id, workflow_id, priority,
    concurrency_key, concurrency, needs_key)
  SELECT number, owner, due_at, created_at, account_id, workflow_id, priority,
    concurrency_key, concurrency,
    concurrency_key IS NOT NULL AND status = 'QUEUED' AND owner IS NULL
  FROM created WHERE status IN ('QUEUED', 'RUNNING')
)`

/** Runs of which a key has to be looked at. */
export const changes: Rows.Table<Run> = Rows.texts<Run>("accountId", "workflowId", "concurrencyKey")

/** The run of a commit, if it waits for its key from now on, or gives it back. */
export const changeOf = ({ expected, run }: RunCommit): ReadonlyArray<Run> => {
  const isWaiting = expected._tag === "New" && needsKey(run) && run.dueAt === null
  const isOver = expected._tag === "Existing" && isTerminal(run.status)
  return run.concurrencyKey !== null && (isWaiting || isOver) ? [run] : []
}

/** The part of a commit's statement that adds changes. `source` has places and {@link changes}. */
export const added = (source: string): string => `key_changed AS (
  INSERT INTO key_changes (account_id, workflow_id, concurrency_key)
  SELECT e.account_id, e.workflow_id, e.concurrency_key
  FROM ${source} JOIN applied a ON a.place = e.place
)`

/** The part of a statement that adds changes for runs that a part has put into the queue. */
export const addedBy = (part: string): string => `key_changed AS (
  INSERT INTO key_changes (account_id, workflow_id, concurrency_key)
  SELECT account_id, workflow_id, concurrency_key FROM ${part} WHERE needs_key
)`

/** The condition that keys may have to be given. */
export const hasChanges = "(SELECT t.id FROM key_changes t ORDER BY t.id LIMIT 1) IS NOT NULL"

/** How many changes one statement looks at. */
const changesAtOnce = 1_000

/** The first run that waits for the key of `k`, after a bound. */
const nextOf = (bound: string): string => `
  SELECT o.run, o.concurrency, ${placeOf("o")} AS position FROM open_runs o
  WHERE o.account_id = k.account_id AND o.workflow_id = k.workflow_id
    AND o.concurrency_key = k.concurrency_key AND o.needs_key AND o.state = 'queued' AND ${bound}
  ORDER BY ${placeOf("o")}, o.run LIMIT 1`

// Comparing `few` with a text makes the planner expect few rows, so that it looks them up by key.
const giveStatement = `
WITH change AS MATERIALIZED (
  SELECT t.id, t.account_id, t.workflow_id, t.concurrency_key, 'change' AS few
  FROM key_changes t ORDER BY t.id LIMIT ${changesAtOnce}
), done AS (
  DELETE FROM key_changes t USING change u WHERE t.id = u.id AND u.few = 'change'
), chosen AS MATERIALIZED (
  SELECT w.run, 'chosen' AS few FROM (
    SELECT DISTINCT account_id, workflow_id, concurrency_key FROM change
  ) k CROSS JOIN LATERAL (
    SELECT count(*) AS count FROM open_runs h
    WHERE h.account_id = k.account_id AND h.workflow_id = k.workflow_id
      AND h.concurrency_key = k.concurrency_key AND NOT h.needs_key OFFSET 0
  ) held CROSS JOIN LATERAL (
    WITH RECURSIVE line (run, position, nth) AS (
      SELECT n.run, n.position, 1 FROM (${nextOf("true")}) n
      WHERE held.count < n.concurrency
      UNION ALL
      SELECT n.run, n.position, l.nth + 1 FROM line l CROSS JOIN LATERAL (
        ${nextOf(`(${placeOf("o")}, o.run) > (l.position, l.run)`)}
      ) n WHERE held.count + l.nth < n.concurrency
    )
    SELECT run FROM line
  ) w
), given AS (
  UPDATE open_runs o SET needs_key = false FROM chosen c
  WHERE o.run = c.run AND c.few = 'chosen' AND o.needs_key AND o.state = 'queued'
)
SELECT count(*)::int AS count FROM change`

/** Gives all keys that may be given. `lock`, at first, takes the lock of those that count runs. */
export const give = Effect.fnUntraced(function* (
  sql: SqlClient,
  lock: Effect.Effect<unknown, SqlError>,
): Effect.fn.Return<void, SqlError> {
  const once = Effect.andThen(lock, sql.unsafe<{ readonly count: number }>(giveStatement))
  for (let count = changesAtOnce; count === changesAtOnce;) {
    count = (yield* sql.withTransaction(once))[0]?.count ?? 0
  }
})
