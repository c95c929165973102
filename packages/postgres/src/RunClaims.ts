/**
 * How runs change hands: claims, seizing, and the leases of runners, all by the database's clock.
 *
 * Guarantees: each method is one statement; a run is never handed out twice, because whoever looks
 * for runs skips those that another one is taking. Leaves out: reading what belongs to a run.
 */
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "./Rows.ts"

const nowMillis = "floor(extract(epoch FROM now()) * 1000)::int8"

/** How long the row of a lease that has run out is kept at least. */
const keptMillis = 86_400_000

const renewal = (runner: string, leaseMillis: string): string => `
  INSERT INTO runners (id, lease_until) VALUES (${runner}, ${nowMillis} + ${leaseMillis}::int8)
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`

/** Locks the run of each open one, and leaves out those that somebody is about to write. */
const lockRun = `CROSS JOIN LATERAL (
    SELECT FROM runs r WHERE r.number = o.run FOR UPDATE SKIP LOCKED
  ) locked`

/** Whether an open run is in the queue. */
const isQueued = "owner IS NULL AND due_at IS NULL"

/** Leaves out the runs that the runner cannot execute. */
const isWanted = "o.run NOT IN (SELECT number FROM excepted)"

/** The next account in the queue behind one, as far as a bound. */
const nextAccount = (after: string, upTo: string): string => `
  SELECT account_id FROM open_runs
  WHERE ${isQueued} AND account_id > ${after} AND (${upTo}) ORDER BY account_id LIMIT 1`

/** How many more runs of the account and the workflow may have an owner, where that is capped. */
const caps = {
  none: { counted: "", allowed: "true" },
  some: {
    counted: `busy AS MATERIALIZED (
      SELECT r.account_id, r.workflow_id FROM open_runs o CROSS JOIN LATERAL (
        SELECT account_id, workflow_id FROM runs r WHERE r.number = o.run OFFSET 0
      ) r WHERE o.owner IS NOT NULL
    ), full_workflow AS MATERIALIZED (
      SELECT workflow_id FROM busy GROUP BY workflow_id HAVING count(*) >= $7::float8
    ),`,
    allowed: `(SELECT r.workflow_id FROM runs r WHERE r.number = o.run)
      NOT IN (SELECT workflow_id FROM full_workflow)`,
  },
}

/** Which of the queued runs that were found fit under the caps. */
const underCaps = `
  q.turn <= $6::float8 - (SELECT count(*) FROM busy b WHERE b.account_id = q.account_id)
  AND q.turn_of_workflow
    <= $7::float8 - (SELECT count(*) FROM busy b WHERE b.workflow_id = q.workflow_id)`

// Owners are read by jumping from one to the next in their index, and so are the accounts in the
// queue: a claim costs as much as there are runners and as it takes runs, not as there are runs.
// Whoever takes a run locks its two rows, and skips it where somebody else is about to write one of
// them, so that nobody waits for anybody here. Comparing `few` with a text tells the planner to
// expect few rows, as in the commit's statement.
const claimStatement = (capped: boolean): string => `
WITH RECURSIVE owner (id) AS (
  (SELECT owner FROM open_runs WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (SELECT owner FROM open_runs WHERE owner > o.id ORDER BY owner LIMIT 1)
  FROM owner o WHERE o.id IS NOT NULL
), gone AS MATERIALIZED (
  SELECT o.id FROM owner o LEFT JOIN runners u ON u.id = o.id
  WHERE o.id IS NOT NULL AND (u.id IS NULL OR u.lease_until <= ${nowMillis})
), excepted AS MATERIALIZED (
  SELECT r.number FROM unnest($4::text[]) AS e (id) CROSS JOIN LATERAL (
    SELECT number FROM runs r WHERE r.id = e.id OFFSET 0
  ) r
), expired AS MATERIALIZED (
  SELECT o.run FROM (
    SELECT o.run FROM gone JOIN open_runs o ON o.owner = gone.id WHERE ${isWanted}
    ORDER BY o.created_at, o.run LIMIT $3::int8 FOR UPDATE OF o SKIP LOCKED
  ) o ${lockRun}
), due AS MATERIALIZED (
  SELECT o.run FROM (
    SELECT o.run FROM open_runs o
    WHERE o.owner IS NULL AND o.due_at <= ${nowMillis} AND ${isWanted}
    ORDER BY o.due_at, o.run
    LIMIT greatest($3::int8 - (SELECT count(*) FROM expired), 0) FOR UPDATE SKIP LOCKED
  ) o ${lockRun}
), behind (id, place) AS (
  (SELECT account_id, 1 FROM (${nextAccount("$5", "true")}) a)
  UNION ALL
  SELECT (${nextAccount("l.id", "true")}), l.place + 1
  FROM behind l WHERE l.id IS NOT NULL AND l.place < $3::int8
), before (id, place) AS (
  (SELECT account_id, $3::int8 + 1 FROM (${nextAccount("''", "account_id <= $5")}) a)
  UNION ALL
  SELECT (${nextAccount("l.id", "account_id <= $5")}), l.place + 1
  FROM before l WHERE l.id IS NOT NULL AND l.place < 2 * $3::int8
), account AS MATERIALIZED (
  SELECT id, place FROM (SELECT * FROM behind UNION ALL SELECT * FROM before) a
  WHERE id IS NOT NULL ORDER BY place LIMIT $3::int8
), ${caps[capped ? "some" : "none"].counted} queued AS MATERIALIZED (
  SELECT o.run, a.id AS account_id, a.place, o.created_at,
    row_number() OVER (PARTITION BY a.id ORDER BY o.created_at, o.run) AS turn
  FROM account a CROSS JOIN LATERAL (
    SELECT o.run, o.created_at FROM open_runs o
    WHERE ${isQueued} AND o.account_id = a.id AND ${isWanted}
      AND ${caps[capped ? "some" : "none"].allowed}
    ORDER BY o.created_at, o.run
    LIMIT ceil($3::float8 / (SELECT count(*) FROM account)) FOR UPDATE SKIP LOCKED
  ) o ${lockRun}
), unowned AS MATERIALIZED (
  SELECT q.run, q.turn, q.place FROM ${
    capped
      ? `(
    SELECT q.*, r.workflow_id, row_number() OVER (
      PARTITION BY r.workflow_id ORDER BY q.turn, q.place) AS turn_of_workflow
    FROM queued q CROSS JOIN LATERAL (
      SELECT workflow_id FROM runs r WHERE r.number = q.run OFFSET 0
    ) r
  ) q WHERE ${underCaps}`
      : "queued q"
  }
  ORDER BY q.turn, q.place
  LIMIT greatest($3::int8 - (SELECT count(*) FROM expired) - (SELECT count(*) FROM due), 0)
), taken AS MATERIALIZED (
  SELECT run, 0 AS kind, 0 AS turn, 0 AS place, 'taken' AS few FROM expired
  UNION ALL SELECT run, 1, 0, 0, 'taken' FROM due
  UNION ALL SELECT run, 2, turn, place, 'taken' FROM unowned
), lease AS (${renewal("$1", "$2")}
), placed AS (
  UPDATE open_runs o SET owner = $1 FROM taken t WHERE o.run = t.run
), claimed AS (
  UPDATE runs r SET fence = r.fence + 1, claims = r.claims + 1, owner = $1
  FROM taken t WHERE r.number = t.run AND t.few = 'taken'
  RETURNING r.*, t.kind, t.turn, t.place
)
SELECT ${Rows.object(Rows.runs, "r")} AS run FROM claimed r
ORDER BY kind, CASE kind WHEN 1 THEN due_at END, turn, place, created_at, number`

const freely = claimStatement(false)
const sparingly = claimStatement(true)

const seizeStatement = `
WITH seized AS (
  UPDATE runs SET fence = fence + 1, owner = $3
  WHERE id = $1 AND account_id = $2 AND status IN ('QUEUED', 'RUNNING')
  RETURNING *
), placed AS (
  UPDATE open_runs o SET owner = $3 FROM seized s WHERE o.run = s.number
)
SELECT ${Rows.object(Rows.runs, "s")} AS run FROM seized s`

const abandonStatement = `
WITH wanted AS MATERIALIZED (
  SELECT r.number AS run FROM unnest($2::text[]) AS w (id) CROSS JOIN LATERAL (
    SELECT number FROM runs r WHERE r.id = w.id OFFSET 0
  ) r
), mine AS MATERIALIZED (
  SELECT o.run, 'taken' AS few FROM (
    SELECT o.run FROM open_runs o WHERE o.owner = $1 AND o.run IN (SELECT run FROM wanted)
    FOR UPDATE OF o SKIP LOCKED
  ) o ${lockRun}
), placed AS (
  UPDATE open_runs o SET owner = NULL,
    account_id = (SELECT r.account_id FROM runs r WHERE r.number = m.run)
  FROM mine m WHERE o.run = m.run
)
UPDATE runs r SET fence = r.fence + 1, claims = greatest(r.claims - 1, 0), owner = NULL
FROM mine m WHERE r.number = m.run AND m.few = 'taken'`

const heartbeatStatement = `
WITH lease AS (${renewal("$1", "$2")})
SELECT r.id, r.fence FROM open_runs o CROSS JOIN LATERAL (
  SELECT id, fence FROM runs r WHERE r.number = o.run OFFSET 0
) r WHERE o.owner = $1`

interface Found {
  readonly run: Run
}

/**
 * Takes runs over; they come back in the order of the claim. Whoever heeds caps counts alone, after
 * everybody before has committed: the lock has to be there before the statement's snapshot is.
 */
export const claim = (
  sql: SqlClient,
  request: ClaimRequest,
): Effect.Effect<ReadonlyArray<Run>, SqlError> => {
  const { after = "", except = [], leaseMillis, limit, runner } = request
  const { runsPerAccount, runsPerWorkflow } = request
  const parameters = [
    Rows.text(runner),
    PgTypes.float8(leaseMillis),
    limit,
    except.map(Rows.text),
    Rows.text(after),
  ]
  const runsOf = Effect.map((rows: ReadonlyArray<Found>) => rows.map(({ run }) => run))
  if (runsPerAccount === undefined && runsPerWorkflow === undefined) {
    return runsOf(sql.unsafe<Found>(freely, parameters))
  }
  const bounds = [runsPerAccount, runsPerWorkflow].map((cap) =>
    PgTypes.float8(cap ?? Number.POSITIVE_INFINITY),
  )
  const alone = sql`SELECT pg_advisory_xact_lock(
    hashtext('millrace_claims'), hashtext(current_schema()))`
  return sql.withTransaction(
    Effect.andThen(alone, runsOf(sql.unsafe<Found>(sparingly, [...parameters, ...bounds]))),
  )
}

/** Takes one open run over; `undefined` when the account has no such open run. */
export const seize = (
  sql: SqlClient,
  account: AccountId,
  id: RunId,
  runner: RunnerId,
): Effect.Effect<Run | undefined, SqlError> =>
  Effect.map(
    sql.unsafe<Found>(seizeStatement, [Rows.text(id), account, Rows.text(runner)]),
    (rows) => rows[0]?.run,
  )

/** Renews a lease, and returns the fences of the open runs that the runner owns. */
export const heartbeat = (
  sql: SqlClient,
  runner: RunnerId,
  leaseMillis: number,
): Effect.Effect<ReadonlyMap<RunId, number>, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly id: RunId; readonly fence: number }>(heartbeatStatement, [
      Rows.text(runner),
      PgTypes.float8(leaseMillis),
    ]),
    (rows) => new Map(rows.map(({ fence, id }) => [id, fence])),
  )

/** Gives runs back that the runner owns. */
export const abandon = (
  sql: SqlClient,
  runner: RunnerId,
  ids: ReadonlyArray<RunId>,
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql.unsafe(abandonStatement, [Rows.text(runner), ids.map(Rows.text)]))

/** Ends a lease, and clears away what others left behind long ago: no row means no lease, too. */
export const release = (sql: SqlClient, runner: RunnerId): Effect.Effect<void, SqlError> =>
  Effect.asVoid(
    sql`DELETE FROM runners WHERE id = ${Rows.text(runner)}
      OR lease_until < ${sql.literal(nowMillis)} - ${keptMillis}`,
  )
