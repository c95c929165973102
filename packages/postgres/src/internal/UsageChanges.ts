/**
 * What commits add to the usage of accounts, and the sums of it.
 *
 * A commit that starts a run, or changes what a run has cost, writes in the same statement what
 * that adds. Now and then a process moves what was added into the sums, in one statement. So at
 * every moment sums and changes together are what a reading of all runs would give, whatever
 * crashed. Nobody waits for anybody: a change is a new row.
 *
 * Guarantees: folding changes no answer. Leaves out: reading; see `Usage`.
 */
import { dayMillis } from "@millrace/core/domain/Timestamp"
import { Effect, Latch, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"

/** How many changes one statement folds at most. */
const changesPerStatement = 10_000

/** The columns of a run that its usage needs. */
export const columns: ReadonlyArray<string> = [
  "account_id",
  "created_at",
  "workflow_id",
  "workflow_name_folded",
  "key_id",
  "estimated_credits",
  "actual_credits",
]

/** A run that the part `created` has inserted. */
const ofNewRuns = `SELECT ${columns.join(", ")}, 1 AS runs FROM created`

/**
 * What the runs of the part `advanced` have cost more than before. The statement still sees their
 * rows as they were. A commit expects a revision that its caller has seen stored, so the row as it
 * was is the one before this commit.
 */
const ofCosts = `SELECT ${columns
  .map((name) => {
    if (name === "estimated_credits") return `0 AS ${name}`
    return name === "actual_credits" ? `a.${name} - o.${name} AS ${name}` : `a.${name}`
  })
  .join(", ")}, 0 AS runs
  FROM advanced a CROSS JOIN LATERAL (
    SELECT actual_credits FROM runs o WHERE o.number = a.number OFFSET 0
  ) o WHERE a.actual_credits <> o.actual_credits`

/** The part of a commit's statement that writes what its commits add. */
export const added = (has: (part: "newRuns" | "costs" | "single") => boolean): string => {
  const sources = [...(has("newRuns") ? [ofNewRuns] : []), ...(has("costs") ? [ofCosts] : [])]
  const sum = (name: string): string => (has("single") ? name : `sum(${name})`)
  return `usage_added AS (
  INSERT INTO usage_changes (account_id, day, workflow_id, name_folded, key_id, runs,
    estimated_credits, actual_credits)
  SELECT account_id, created_at / ${dayMillis}, workflow_id, workflow_name_folded,
    coalesce(key_id, ''), ${["runs", "estimated_credits", "actual_credits"].map(sum).join(", ")}
  FROM (${sources.join(" UNION ALL ")}) u ${has("single") ? "" : "GROUP BY 1, 2, 3, 4, 5"}
)`
}

// The rows are written in one order, so that two processes which fold do not wait in a ring.
const foldStatement = `
WITH folded AS MATERIALIZED (
  DELETE FROM usage_changes WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM usage_changes LIMIT ${changesPerStatement} FOR UPDATE SKIP LOCKED
  )) RETURNING *
), summed AS (
  INSERT INTO usage_sums AS s (account_id, part, day, id, runs, estimated_credits, actual_credits)
  SELECT f.account_id, p.part, f.day, p.id, sum(f.runs), sum(f.estimated_credits),
    sum(f.actual_credits)
  FROM folded f CROSS JOIN LATERAL (
    VALUES ('workflow', f.workflow_id), ('key', f.key_id)
  ) AS p (part, id)
  GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
  ON CONFLICT (account_id, part, day, id) DO UPDATE SET runs = s.runs + excluded.runs,
    estimated_credits = s.estimated_credits + excluded.estimated_credits,
    actual_credits = s.actual_credits + excluded.actual_credits
), named AS (
  INSERT INTO run_names AS n (account_id, workflow_id, name_folded, since, until)
  SELECT account_id, workflow_id, name_folded, min(day), max(day) FROM folded
  GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (account_id, workflow_id, name_folded) DO UPDATE
  SET since = least(n.since, excluded.since), until = greatest(n.until, excluded.until)
  WHERE excluded.since < n.since OR excluded.until > n.until
)
SELECT count(*)::int AS count FROM folded`

/** Adds some changes to the sums, and returns how many. */
export const foldSome = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(sql.unsafe<{ readonly count: number }>(foldStatement), (rows) => rows[0]?.count ?? 0)

/**
 * Folds what there is, ten seconds after something was added, until the scope closes. Returns what
 * a writer calls. A process that adds nothing folds once, what others have left behind.
 */
export const keepFolded = Effect.fnUntraced(function* (
  sql: SqlClient,
): Effect.fn.Return<() => void, never, Scope.Scope> {
  const isAdded = yield* Latch.make(true)
  yield* isAdded.await.pipe(
    Effect.andThen(Effect.sleep("10 seconds")),
    Effect.andThen(isAdded.close),
    Effect.andThen(
      Effect.repeat(foldSome(sql), { while: (count) => count === changesPerStatement }),
    ),
    Effect.catch((error) => Effect.logWarning("could not add usage to its sums", error)),
    Effect.forever,
    Effect.forkScoped,
  )
  return () => Latch.openUnsafe(isAdded)
})
