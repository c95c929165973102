/**
 * How runs change hands: claims, takeovers, and the leases of runners, all by the database's clock.
 *
 * Guarantees: each method is one statement; a run is never handed out twice, because whoever looks
 * for runs skips those that another one is taking. Leaves out: reading what belongs to a run.
 */
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as ClaimStatement from "./ClaimStatement.ts"
import { lockRun, noteReturn, nowMillis, renewal } from "./ClaimStatement.ts"
import { millisOf } from "./DatabaseClock.ts"
import { orStorageError } from "./DatabaseError.ts"
import { block, takingBack } from "./Quarantine.ts"
import * as Rows from "./Rows.ts"

/** How long the row of a lease that has run out is kept at least. */
const keptMillis = 86_400_000

/** A claim that counts alone is broken off when its process is not heard of for so long. */
const frozenMillis = 2_000

const takeOverStatement = `
WITH taken_over AS (
  UPDATE runs SET fencing_token = fencing_token + 1, owner = $3, due_at = NULL
  WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} AND status IN ('QUEUED', 'RUNNING')
  RETURNING *
), placed AS (
  UPDATE open_runs o SET owner = $3, account_id = s.account_id, workflow_id = s.workflow_id
  FROM taken_over s WHERE o.run = s.number
)
SELECT ${Rows.object(Rows.runs, "s")} AS run FROM taken_over s`

const requeueStatement = `
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
  UPDATE open_runs o SET owner = NULL, due_at = m.due_at, ready_at = NULL,
    account_id = m.account_id, workflow_id = m.workflow_id
  FROM mine m WHERE o.run = m.run AND m.few = 'taken'
)
UPDATE runs r SET fencing_token = r.fencing_token + 1, owner = NULL
FROM mine m WHERE r.number = m.run AND m.few = 'taken'`

const heartbeatStatement = `
WITH ${takingBack}, lease AS (${renewal("$1", "$2")})
SELECT r.id, r.fence FROM open_runs o CROSS JOIN LATERAL (
  SELECT id, fencing_token AS fence FROM runs r WHERE r.number = o.run OFFSET 0
) r WHERE o.owner = $1`

/** Ends a lease, and clears away what others left behind long ago: no row means no lease, too. */
const endLeaseStatement = `
WITH ${takingBack}
DELETE FROM runners WHERE id = $1 OR lease_until < ${nowMillis} - $2::int8`

interface Found {
  readonly run: Run
}

/** A row of the answer to a claim: a run, or that it was held up by runs that are due. */
type Answer = { readonly part: null } | (Found & { readonly part: "expired" | "due" | "queued" })

/** What the last claim has found, so that the next one goes about it in the right way at once. */
export interface LastClaim {
  /** The last claim took nothing: the next one looks first whether there is anything to claim. */
  isIdle: boolean
  /** Runs were due beside others, or more than one claim sees. */
  isQueueing: boolean
  /** Called when there are more runs due than one statement puts into the queue. */
  readonly onCrowd: () => void
}

/** Puts parked runs that are due into the queue, so many at most; says how many. */
export const queueDue = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly count: number }>(ClaimStatement.queueDue),
    (rows) => rows[0]?.count ?? 0,
  )

/**
 * How many parked runs that are due a claim looks for: one more than it may take as they are, none
 * when they are in the queue.
 */
const lookedFor = (request: ClaimRequest, isQueueing: boolean): number => {
  const { limit, roomPerAccount, rooms, runsPerAccount, runsPerWorkflow } = request
  if (isQueueing) return 0
  // Under caps all that is due goes through the queue, so one is reason enough.
  if (runsPerAccount !== undefined || runsPerWorkflow !== undefined) return 1
  const hasRoomForAll = rooms === undefined || rooms.size === 0
  return hasRoomForAll ? Math.max(0, Math.min(limit, roomPerAccount ?? limit)) + 1 : 1
}

const parametersOf = (request: ClaimRequest, isQueueing: boolean): ReadonlyArray<unknown> => {
  const { after = "", except = [], leaseMillis, limit, rooms = [], runner } = request
  const byAccount = [...rooms].map(([account, room]) => [Rows.text(account).toWellFormed(), room])
  return [
    Rows.text(runner),
    PgTypes.float8(leaseMillis),
    limit,
    except.map(Rows.text),
    Rows.text(after),
    JSON.stringify(Object.fromEntries(byAccount)),
    PgTypes.float8(request.roomPerAccount ?? Number.POSITIVE_INFINITY),
    lookedFor(request, isQueueing),
  ]
}

/** Runs in the order of their turns. */
const inTurn = (runs: ReadonlyArray<Run>, after: string): ReadonlyArray<Run> => {
  const turns = new Map<string, number>()
  const placed = runs.map((run) => {
    const turn = turns.get(run.accountId) ?? 0
    turns.set(run.accountId, turn + 1)
    return { run, turn, isBefore: run.accountId <= after }
  })
  const compare = (a: (typeof placed)[number], b: (typeof placed)[number]) =>
    a.turn - b.turn ||
    Number(a.isBefore) - Number(b.isBefore) ||
    (a.run.accountId < b.run.accountId ? -1 : Number(a.run.accountId > b.run.accountId))
  return placed.toSorted(compare).map(({ run }) => run)
}

/** What was taken, in order. What was taken as it was due is still to be put in turn. */
const runsOf = (answers: ReadonlyArray<Answer>, after: string): ReadonlyArray<Run> => {
  const found = answers.flatMap((answer) => (answer.part === null ? [] : [answer]))
  const runs = found.map(({ run }) => run)
  return found.some(({ part }) => part === "due") ? inTurn(runs, after) : runs
}

/**
 * Claims in one way. Whoever heeds caps counts alone, after everybody before has committed: the
 * lock has to be there before the statement's snapshot is.
 */
const take = (
  sql: SqlClient,
  request: ClaimRequest,
  isQueueing: boolean,
): Effect.Effect<ReadonlyArray<Answer>, SqlError> => {
  const parameters = parametersOf(request, isQueueing)
  if (request.runsPerAccount === undefined && request.runsPerWorkflow === undefined) {
    return sql.unsafe<Answer>(ClaimStatement.uncapped, parameters)
  }
  const caps = [request.runsPerAccount, request.runsPerWorkflow].map((cap) =>
    PgTypes.float8(cap ?? Number.POSITIVE_INFINITY),
  )
  // A process that freezes in here must not keep all others from claiming.
  const alone = sql`SELECT
    set_config('idle_in_transaction_session_timeout', ${String(frozenMillis)}, true),
    pg_advisory_xact_lock(hashtext('millrace_claims'), hashtext(current_schema()))`
  return sql.withTransaction(
    Effect.andThen(alone, sql.unsafe<Answer>(ClaimStatement.capped, [...parameters, ...caps])),
  )
}

/** True where there is something to claim; else the runner's lease is renewed. */
const look = (sql: SqlClient, { leaseMillis, runner }: ClaimRequest) =>
  Effect.map(
    sql.unsafe<{ readonly anything: boolean }>(ClaimStatement.look, [
      Rows.text(runner),
      PgTypes.float8(leaseMillis),
    ]),
    (rows) => rows[0]?.anything === true,
  )

/**
 * Takes runs over; they come back in the order of the claim. A claim that is held up has taken
 * nothing, and is made once more when what is due is queued.
 */
export const claim = Effect.fnUntraced(function* (
  sql: SqlClient,
  request: ClaimRequest,
  habits: LastClaim,
): Effect.fn.Return<ReadonlyArray<Run>, SqlError> {
  let { isQueueing } = habits
  if (habits.isIdle && !isQueueing && !(yield* look(sql, request))) return []
  for (;;) {
    const queued = isQueueing ? yield* queueDue(sql) : 0
    if (queued === ClaimStatement.dueAtOnce) habits.onCrowd()
    const answers = yield* take(sql, request, isQueueing)
    const isHeld = answers.some(({ part }) => part === null)
    isQueueing = isHeld || queued > 0
    habits.isQueueing = isQueueing
    if (isHeld) continue
    habits.isIdle = answers.length === 0
    return runsOf(answers, request.after ?? "")
  }
})

/** Takes one open run over; `undefined` when the account has no such open run. */
export const takeOver = (
  sql: SqlClient,
  account: AccountId,
  id: RunId,
  runner: RunnerId,
): Effect.Effect<Run | undefined, SqlError> =>
  Effect.map(
    sql.unsafe<Found>(takeOverStatement, [Rows.text(id), account, Rows.text(runner)]),
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

/**
 * Ends all leases, for who knows that their owners are dead: as if they had run out, so that runs
 * which were at work have lost an owner.
 */
export const endLeases: Effect.Effect<void, StorageError, SqlClient> = SqlClient.use((sql) =>
  sql.unsafe(`UPDATE runners SET lease_until = ${nowMillis} WHERE lease_until > ${nowMillis}`),
).pipe(Effect.asVoid, orStorageError("RunClaims.endLeases"))

const keepStatement = `
UPDATE runners AS r SET lease_until = ${nowMillis} + $2::int8, ${noteReturn("r")} WHERE id = $1`

/** Renews a lease that is there, and nothing else: what others took is asked with a heartbeat. */
export const keep = (
  sql: SqlClient,
  runner: RunnerId,
  leaseMillis: number,
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql.unsafe(keepStatement, [Rows.text(runner), PgTypes.float8(leaseMillis)]))

/** Accounts with caps of their own, so many at most. */
export const cappedAccounts = (
  sql: SqlClient,
  limit: number,
): Effect.Effect<ReadonlySet<AccountId>, SqlError> =>
  Effect.map(
    sql<{ readonly id: AccountId }>`
      SELECT id FROM accounts WHERE runs_at_once IS NOT NULL ORDER BY id LIMIT ${limit}::int8`,
    (rows) => new Set(rows.map(({ id }) => id)),
  )

/** Gives runs back that the runner owns. */
export const requeue = (
  sql: SqlClient,
  runner: RunnerId,
  ids: ReadonlyArray<RunId>,
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql.unsafe(requeueStatement, [Rows.text(runner), ids.map(Rows.text)]))

/** The time. */
export const now = (sql: SqlClient): Effect.Effect<Timestamp, SqlError> =>
  Effect.map(
    sql<{
      readonly now: Timestamp
    }>`SELECT ${sql.literal(millisOf("clock_timestamp()"))}::float8 AS now`,
    (rows) => rows[0]!.now,
  )

/** Ends a lease, and says of the run that is blocking its owner that it does. */
export const endLease = (
  sql: SqlClient,
  runner: RunnerId,
  blocked: Blocked | undefined,
): Effect.Effect<void, SqlError> => {
  const end = Effect.asVoid(
    sql.unsafe(endLeaseStatement, leaseParameters(runner, keptMillis, blocked)),
  )
  if (blocked === undefined) return end
  const note = sql.unsafe(block, [
    Rows.text(runner),
    Rows.text(blocked.run),
    Math.round(blocked.millis),
  ])
  return sql.withTransaction(Effect.andThen(note, end))
}
