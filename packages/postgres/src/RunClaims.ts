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

const open = "status IN ('QUEUED', 'RUNNING')"

const renewal = (runner: string, leaseMillis: string): string => `
  INSERT INTO runners (id, lease_until) VALUES (${runner}, ${nowMillis} + ${leaseMillis}::int8)
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until`

// Owners are read by jumping from one to the next in their index: a claim costs as much as there
// are runners, not as there are runs at work. Locked rows are updated at their place, which never
// takes a scan; a row that moved there while it was being locked waits for the next claim.
const claimStatement = `
WITH RECURSIVE owner (id) AS (
  (SELECT owner FROM runs WHERE ${open} AND owner IS NOT NULL ORDER BY owner LIMIT 1)
  UNION ALL
  SELECT (
    SELECT owner FROM runs WHERE ${open} AND owner > o.id ORDER BY owner LIMIT 1
  ) FROM owner o WHERE o.id IS NOT NULL
), gone AS MATERIALIZED (
  SELECT o.id FROM owner o LEFT JOIN runners u ON u.id = o.id
  WHERE o.id IS NOT NULL AND (u.id IS NULL OR u.lease_until <= ${nowMillis})
), expired AS MATERIALIZED (
  SELECT r.ctid AS at FROM runs r JOIN gone ON gone.id = r.owner WHERE r.${open}
  ORDER BY r.created_at, r.id LIMIT $3::int8 FOR UPDATE OF r SKIP LOCKED
), unowned AS MATERIALIZED (
  SELECT r.ctid AS at FROM runs r WHERE r.${open} AND r.owner IS NULL
  ORDER BY r.created_at, r.id
  LIMIT greatest($3::int8 - (SELECT count(*) FROM expired), 0) FOR UPDATE SKIP LOCKED
), lease AS (${renewal("$1", "$2")}
), claimed AS (
  UPDATE runs r SET fence = r.fence + 1, claims = r.claims + 1, owner = $1
  FROM (SELECT at, 0 AS place FROM expired UNION ALL SELECT at, 1 FROM unowned) c
  WHERE r.ctid = c.at
  RETURNING r.*, c.place
)
SELECT ${Rows.object(Rows.runs, "r")} AS run FROM claimed r ORDER BY place, created_at, id`

const seizeStatement = `
UPDATE runs r SET fence = r.fence + 1, owner = $3
WHERE r.id = $1 AND r.account_id = $2 AND r.${open}
RETURNING ${Rows.object(Rows.runs, "r")} AS run`

const abandonStatement = `
UPDATE runs r SET fence = r.fence + 1, owner = NULL
FROM (SELECT id FROM runs WHERE ${open} AND owner = $1 AND id = ANY ($2) ORDER BY id FOR UPDATE) o
WHERE r.id = o.id`

const heartbeatStatement = `
WITH lease AS (${renewal("$1", "$2")})
SELECT id, fence FROM runs WHERE ${open} AND owner = $1`

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
