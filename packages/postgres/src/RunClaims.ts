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

// Owners are read by jumping from one to the next in their index: a claim costs as much as there
// are runners, not as there are runs at work. Whoever takes a run locks its two rows, and skips it
// where somebody else is about to write one of them, so that nobody waits for anybody here.
// Comparing `few` with a text tells the planner to expect few rows, as in the commit's statement.
const claimStatement = `
WITH RECURSIVE owner (id) AS (
  (SELECT owner FROM open_runs WHERE owner IS NOT NULL ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (SELECT owner FROM open_runs WHERE owner > o.id ORDER BY owner LIMIT 1)
  FROM owner o WHERE o.id IS NOT NULL
), gone AS MATERIALIZED (
  SELECT o.id FROM owner o LEFT JOIN runners u ON u.id = o.id
  WHERE o.id IS NOT NULL AND (u.id IS NULL OR u.lease_until <= ${nowMillis})
), expired AS MATERIALIZED (
  SELECT o.run FROM (
    SELECT o.run FROM gone JOIN open_runs o ON o.owner = gone.id
    ORDER BY o.created_at, o.run LIMIT $3::int8 FOR UPDATE OF o SKIP LOCKED
  ) o ${lockRun}
), unowned AS MATERIALIZED (
  SELECT o.run FROM (
    SELECT o.run FROM open_runs o WHERE o.owner IS NULL ORDER BY o.created_at, o.run
    LIMIT greatest($3::int8 - (SELECT count(*) FROM expired), 0) FOR UPDATE SKIP LOCKED
  ) o ${lockRun}
), taken AS MATERIALIZED (
  SELECT run, 0 AS turn, 'taken' AS few FROM expired UNION ALL SELECT run, 1, 'taken' FROM unowned
), lease AS (${renewal("$1", "$2")}
), placed AS (
  UPDATE open_runs o SET owner = $1 FROM taken t WHERE o.run = t.run
), claimed AS (
  UPDATE runs r SET fence = r.fence + 1, claims = r.claims + 1, owner = $1
  FROM taken t WHERE r.number = t.run AND t.few = 'taken'
  RETURNING r.*, t.turn
)
SELECT ${Rows.object(Rows.runs, "r")} AS run FROM claimed r ORDER BY turn, created_at, number`

const seizeStatement = `
WITH seized AS (
  UPDATE runs SET fence = fence + 1, owner = $3
  WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} AND status IN ('QUEUED', 'RUNNING')
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
  UPDATE open_runs o SET owner = NULL FROM mine m WHERE o.run = m.run
)
UPDATE runs r SET fence = r.fence + 1, owner = NULL
FROM mine m WHERE r.number = m.run AND m.few = 'taken'`

const heartbeatStatement = `
WITH lease AS (${renewal("$1", "$2")})
SELECT r.id, r.fence FROM open_runs o CROSS JOIN LATERAL (
  SELECT id, fence FROM runs r WHERE r.number = o.run OFFSET 0
) r WHERE o.owner = $1`

interface Found {
  readonly run: Run
}

/** Takes runs over; they come back in the order of the claim. */
export const claim = (
  sql: SqlClient,
  { leaseMillis, limit, runner }: ClaimRequest,
): Effect.Effect<ReadonlyArray<Run>, SqlError> =>
  Effect.map(
    sql.unsafe<Found>(claimStatement, [Rows.text(runner), PgTypes.float8(leaseMillis), limit]),
    (rows) => rows.map(({ run }) => run),
  )

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
