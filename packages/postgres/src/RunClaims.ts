/**
 * How runs change hands: claims, seizing, and the leases of runners, all by the database's clock.
 *
 * Guarantees: each method is one statement; a run is never handed out twice, because whoever looks
 * for runs skips those that another one is taking. Leaves out: reading what belongs to a run.
 */
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { freely, lockRun, nowMillis, renewal, sparingly } from "./ClaimStatement.ts"
import { millisOf } from "./DatabaseClock.ts"
import { block, takingBack } from "./Quarantine.ts"
import * as Rows from "./Rows.ts"

/** How long the row of a lease that has run out is kept at least. */
const keptMillis = 86_400_000

/** A claim that counts alone is broken off when its process is not heard of for so long. */
const frozenMillis = 2_000

const seizeStatement = `
WITH seized AS (
  UPDATE runs SET fence = fence + 1, owner = $3, due_at = NULL
  WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} AND status IN ('QUEUED', 'RUNNING')
  RETURNING *
), placed AS (
  UPDATE open_runs o SET owner = $3 FROM seized s WHERE o.run = s.number
)
SELECT ${Rows.object(Rows.runs, "s")} AS run FROM seized s`

const abandonStatement = `
WITH wanted AS MATERIALIZED (
  SELECT r.number AS run FROM unnest(${Rows.unseen("$2::text[]")}) AS w (id) CROSS JOIN LATERAL (
    SELECT number FROM runs r WHERE r.id = w.id OFFSET 0
  ) r
), mine AS MATERIALIZED (
  SELECT o.*, 'taken' AS few FROM wanted w CROSS JOIN LATERAL (
    SELECT o.run, locked.* FROM open_runs o ${lockRun}
    WHERE o.run = w.run AND o.owner = $1 FOR UPDATE OF o SKIP LOCKED
  ) o
), placed AS (
  UPDATE open_runs o SET owner = NULL, due_at = m.due_at, account_id = m.account_id,
    workflow_id = m.workflow_id
  FROM mine m WHERE o.run = m.run AND m.few = 'taken'
)
UPDATE runs r SET fence = r.fence + 1, owner = NULL
FROM mine m WHERE r.number = m.run AND m.few = 'taken'`

const heartbeatStatement = `
WITH ${takingBack}, lease AS (${renewal("$1", "$2")})
SELECT r.id, r.fence FROM open_runs o CROSS JOIN LATERAL (
  SELECT id, fence FROM runs r WHERE r.number = o.run OFFSET 0
) r WHERE o.owner = $1`

/** Ends a lease, and clears away what others left behind long ago: no row means no lease, too. */
const releaseStatement = `
WITH ${takingBack}
DELETE FROM runners WHERE id = $1 OR lease_until < ${nowMillis} - $2::int8`

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
  // A process that freezes in here must not keep all others from claiming.
  const alone = sql`SELECT
    set_config('idle_in_transaction_session_timeout', ${String(frozenMillis)}, true),
    pg_advisory_xact_lock(hashtext('millrace_claims'), hashtext(current_schema()))`
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

/** The runner, a time, and what {@link takingBack} asks for. */
const leaseParameters = (
  runner: RunnerId,
  millis: number,
  blocked: Blocked | undefined,
): ReadonlyArray<unknown> => [
  Rows.text(runner),
  PgTypes.float8(millis),
  blocked === undefined ? null : Rows.text(blocked.run),
  blocked === undefined ? null : Math.round(blocked.millis),
]

/** Renews a lease, and returns the fences of the open runs that the runner owns. */
export const heartbeat = (
  sql: SqlClient,
  runner: RunnerId,
  leaseMillis: number,
  blocked: Blocked | undefined,
): Effect.Effect<ReadonlyMap<RunId, number>, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly id: RunId; readonly fence: number }>(
      heartbeatStatement,
      leaseParameters(runner, leaseMillis, blocked),
    ),
    (rows) => new Map(rows.map(({ fence, id }) => [id, fence])),
  )

/** Gives runs back that the runner owns. */
export const abandon = (
  sql: SqlClient,
  runner: RunnerId,
  ids: ReadonlyArray<RunId>,
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql.unsafe(abandonStatement, [Rows.text(runner), ids.map(Rows.text)]))

/** The time. */
export const now = (sql: SqlClient): Effect.Effect<Timestamp, SqlError> =>
  Effect.map(
    sql<{
      readonly now: Timestamp
    }>`SELECT ${sql.literal(millisOf("clock_timestamp()"))}::float8 AS now`,
    (rows) => rows[0]!.now,
  )

/** Ends a lease, and says of the run that is blocking its owner that it does. */
export const release = (
  sql: SqlClient,
  runner: RunnerId,
  blocked: Blocked | undefined,
): Effect.Effect<void, SqlError> => {
  const end = Effect.asVoid(
    sql.unsafe(releaseStatement, leaseParameters(runner, keptMillis, blocked)),
  )
  if (blocked === undefined) return end
  const note = sql.unsafe(block, [
    Rows.text(runner),
    Rows.text(blocked.run),
    Math.round(blocked.millis),
  ])
  return sql.withTransaction(Effect.andThen(note, end))
}
