/**
 * Claims, takeovers, and the leases of runners, by the database's clock.
 *
 * Guarantees: each run goes to one claim only, because a claim skips the runs that another one is
 * taking. Leaves out: reading the records of runs.
 */
import type { AccountLoad } from "@millrace/core/domain/AccountLoad"
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import { placeOf } from "@millrace/core/domain/Priority"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimRequest, RunStore } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as ClaimStatement from "./ClaimStatement.ts"
import { clockMillis, lockRun, nowMillis, renewal } from "./ClaimStatement.ts"
import { type DatabasePort, orStorageError } from "./DatabaseError.ts"
import { hasEnded } from "./LocalProcess.ts"
import * as KeyChanges from "./KeyChanges.ts"
import { block, takingBack } from "./Quarantine.ts"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

/** How long the row of an expired lease is kept at least. */
const keptMillis = 86_400_000

/** A claim under caps ends if its process does not continue for this time. */
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
    SELECT o.run, o.concurrency_key, o.needs_key, locked.* FROM open_runs o ${lockRun}
    WHERE o.run = w.run AND o.owner = $1 FOR UPDATE OF o SKIP LOCKED
  ) o
), ${KeyChanges.addedBy("mine")}, placed AS (
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

/** Ends a lease, and removes leases that expired long ago. No row also means no lease. */
const endLeaseStatement = `
WITH ${takingBack}
DELETE FROM runners WHERE id = $1 OR lease_until < ${nowMillis} - $2::int8`

interface Found {
  readonly run: Run
}

/** A row of a claim's result: a run, or that due runs or keys have held up the claim. */
type Answer = { readonly part: null } | (Found & { readonly part: "expired" | "due" | "queued" })

/** What the last claim has found. It decides how the next one starts. */
export interface LastClaim {
  /** True if the last claim took nothing. The next one first asks if there is anything to claim. */
  isIdle: boolean
  /** True if due runs must be put into the queue before the claim. */
  isQueueing: boolean
  /** Called if more runs are due than one statement puts into the queue. */
  readonly onCrowd: () => void
}

/** Puts due parked runs into the queue, and returns how many. */
export const queueDue = (sql: SqlClient): Effect.Effect<number, SqlError> =>
  Effect.map(
    sql.unsafe<{ readonly count: number }>(ClaimStatement.queueDue),
    (rows) => rows[0]?.count ?? 0,
  )

/**
 * How many due parked runs a claim looks for: one more than it may take directly; none if they are
 * in the queue.
 */
const lookedFor = (request: ClaimRequest, isQueueing: boolean): number => {
  const { limit, roomPerAccount, rooms, runsPerAccount, runsPerWorkflow } = request
  if (isQueueing) return 0
  // Under caps, all due runs go through the queue, so it is enough to know if there is one.
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

/** Due runs in the order of their turns. */
const inTurn = (runs: ReadonlyArray<Run>, after: string): ReadonlyArray<Run> => {
  const turns = new Map<string, number>()
  const queuePlace = ({ createdAt, dueAt, priority }: Run) => placeOf(dueAt ?? createdAt, priority)
  const placed = runs
    .toSorted((a, b) => queuePlace(a) - queuePlace(b))
    .map((run) => {
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

/** The claimed runs, in order. Runs that were taken directly are not yet in the order of turns. */
const runsOf = (answers: ReadonlyArray<Answer>, after: string): ReadonlyArray<Run> => {
  const found = answers.flatMap((answer) => (answer.part === null ? [] : [answer]))
  const runs = found.map(({ run }) => run)
  return found.some(({ part }) => part === "due") ? inTurn(runs, after) : runs
}

/** Nobody else counts runs at the same time. A process that is suspended here ends it. */
const alone = (sql: SqlClient) => sql`SELECT
  set_config('idle_in_transaction_session_timeout', ${String(frozenMillis)}, true),
  pg_advisory_xact_lock(hashtext('millrace_claims'), hashtext(current_schema()))`

/**
 * Claims once. Under caps, only one claim at a time counts. It takes a lock before the statement,
 * so the statement sees what earlier claims have committed.
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
  return sql.withTransaction(
    Effect.andThen(alone(sql), sql.unsafe<Answer>(ClaimStatement.capped, [...parameters, ...caps])),
  )
}

/** True if there is something to claim. Otherwise the runner's lease is renewed. */
const look = (sql: SqlClient, { leaseMillis, runner }: ClaimRequest) =>
  Effect.map(
    sql.unsafe<{ readonly anything: boolean }>(ClaimStatement.look, [
      Rows.text(runner),
      PgTypes.float8(leaseMillis),
    ]),
    (rows) => rows[0]?.anything === true,
  )

/**
 * Claims runs, and returns them in the order of the claim. A claim that due runs have held up is
 * repeated after they are put into the queue. If another claim was doing that, this one can have
 * missed them on both sides, so it looks once more.
 */
export const claim = Effect.fnUntraced(function* (
  sql: SqlClient,
  request: ClaimRequest,
  habits: LastClaim,
): Effect.fn.Return<ReadonlyArray<Run>, SqlError> {
  let { isQueueing } = habits
  if (habits.isIdle && !isQueueing && !(yield* look(sql, request))) return []
  let wasHeld = false
  for (let looks = 0; ;) {
    const queued = isQueueing ? yield* queueDue(sql) : 0
    if (isQueueing) {
      const released = sql.unsafe(ClaimStatement.requeueWithoutKeys)
      yield* KeyChanges.give(sql, Effect.andThen(alone(sql), released))
    }
    if (queued === ClaimStatement.dueAtOnce) habits.onCrowd()
    const answers = yield* take(sql, request, isQueueing)
    const isHeld = answers.some(({ part }) => part === null)
    const isLate = wasHeld && queued === 0 && answers.length === 0
    isQueueing = isHeld || queued > 0
    wasHeld = isHeld
    habits.isQueueing = isQueueing
    if (isHeld || (isLate && looks++ === 0)) continue
    habits.isIdle = answers.length === 0
    return runsOf(answers, request.after ?? "")
  }
})

/** Takes over an open run. `undefined` if the account has no such open run. */
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

/** The runner, a time, and the parameters of {@link takingBack}. */
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

const namedStatement = `
SELECT DISTINCT process AS value FROM runners
WHERE process IS NOT NULL AND lease_until > ${nowMillis}`

const endNamedStatement = `
UPDATE runners SET lease_until = ${nowMillis}
WHERE process = ANY($1::text[]) AND lease_until > ${nowMillis}`

/**
 * Lets all leases expire, if their owners are known to be dead. So runs with nodes in progress get
 * a loss.
 */
export const endLeases: Effect.Effect<void, StorageError, SqlClient> = SqlClient.use((sql) =>
  sql.unsafe(`UPDATE runners SET lease_until = ${nowMillis} WHERE lease_until > ${nowMillis}`),
).pipe(Effect.asVoid, orStorageError("RunClaims.endLeases"))

/**
 * Lets the leases of processes of this machine expire that have ended without a word, so that the
 * process that follows one goes on with its runs at once.
 */
export const endLocalLeases: Effect.Effect<void, StorageError, SqlClient> = SqlClient.use((sql) =>
  Effect.gen(function* () {
    const named = yield* values<string>(sql, namedStatement, [])
    const dead = named.filter(hasEnded)
    if (dead.length > 0) yield* sql.unsafe(endNamedStatement, [dead])
  }),
).pipe(orStorageError("RunClaims.endLocalLeases"))

/** What the thread that keeps leases sends; see LeaseThread. $1 is always the runner. */
export interface LeaseStatements {
  /** Renews a lease that has not expired. $2 is its length in milliseconds. */
  readonly keep: string
  /** Lets a lease expire. */
  readonly expire: string
  /** The parts of `endLease` for a known run; `end` has `keptMillis` as $2. */
  readonly block: string
  readonly end: string
  readonly keptMillis: number
}

/**
 * Only a heartbeat tells which runs a runner still owns, and begins an expired lease again. The
 * clock is read when the row is locked, so a renewal that had to wait does not undo an end.
 */
export const leaseStatements: LeaseStatements = {
  keep: `UPDATE runners SET lease_until = ${nowMillis} + $2::int8
    WHERE id = $1 AND lease_until > ${clockMillis}`,
  expire: `UPDATE runners SET lease_until = ${nowMillis} WHERE id = $1`,
  block,
  end: endLeaseStatement,
  keptMillis,
}

const cappedStatement =
  "SELECT id AS value FROM accounts WHERE runs_at_once IS NOT NULL ORDER BY id LIMIT $1::int8"

const nowStatement = `SELECT ${clockMillis}::float8 AS value`

/** The methods of the port for leases, caps and the time. */
export const make = (sql: SqlClient) =>
  ({
    heartbeat: (runner, leaseMillis, blocked) =>
      Effect.map(
        sql.unsafe<{ readonly id: RunId; readonly fence: number }>(
          heartbeatStatement,
          leaseParameters(runner, leaseMillis, blocked),
        ),
        (rows) => new Map(rows.map(({ fence, id }) => [id, fence])),
      ),
    requeue: (runner, ids) =>
      Effect.asVoid(sql.unsafe(requeueStatement, [Rows.text(runner), ids.map(Rows.text)])),
    // The run that blocks its owner gets a loss first.
    endLease: (runner, blocked) => {
      const parameters = leaseParameters(runner, keptMillis, blocked)
      const end = Effect.asVoid(sql.unsafe(endLeaseStatement, parameters))
      if (blocked === undefined) return end
      const noted = [Rows.text(runner), Rows.text(blocked.run), Math.round(blocked.millis)]
      return sql.withTransaction(Effect.andThen(sql.unsafe(block, noted), end))
    },
    cappedAccounts: (limit) =>
      Effect.map(values<AccountId>(sql, cappedStatement, [limit]), (ids) => new Set(ids)),
    load: ({ account, key, limit }) =>
      Effect.map(
        sql.unsafe<AccountLoad>(ClaimStatement.load, [
          Rows.text(account),
          limit,
          key === undefined ? null : Rows.text(key.workflowId),
          key === undefined ? null : Rows.text(key.concurrencyKey),
        ]),
        ([found]) => found!,
      ),
    queueLength: (limit) =>
      Effect.map(values<number>(sql, ClaimStatement.queueLength, [limit]), ([count]) => count!),
    now: Effect.map(values<Timestamp>(sql, nowStatement), ([time]) => time!),
  }) satisfies Partial<DatabasePort<RunStore["Service"]>>
