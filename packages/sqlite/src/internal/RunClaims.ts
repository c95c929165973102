/**
 * Claims, takeovers, and the leases of runners.
 *
 * Guarantees: a claim looks at runs that it may take, at those that a cap holds back, and at no run
 * that waits for a later time. Leaves out: the rules for runs that have lost owners; see
 * `core/domain/Suspects`.
 */
import type { AccountLoad, LoadQuery } from "@millrace/core/domain/AccountLoad"
import type { AccountId, RunId, RunnerId, WorkflowId } from "@millrace/core/domain/Id"
import { mostRunsAtOnce } from "@millrace/core/domain/Limits"
import type { Blocked } from "@millrace/core/domain/Loss"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import { lineGate, lossesWith, lossesWithBlock, takenBack } from "@millrace/core/domain/Suspects"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { byTurns } from "@millrace/core/domain/FairTurns"
import type { ClaimRequest, Suspect } from "@millrace/core/ports/RunStore"
import * as KeyChanges from "./KeyChanges.ts"
import type { Connection } from "./SqliteConnection.ts"
import { recordOf, recordsOf, rowOf, rowOfNumber } from "./RunRecords.ts"
import { lossesOf, textOfLosses } from "./RunRows.ts"

/** When a runner's lease ends; `undefined` if it has none. */
const leaseOf = (db: Connection, runner: RunnerId): Timestamp | undefined =>
  db
    .query<{ readonly until: number }>(
      `SELECT lease_until AS until FROM leases WHERE runner = ?`,
      runner,
    )
    .first()?.until

const lease = (db: Connection, runner: RunnerId, until: Timestamp): void => {
  db.run(`INSERT OR REPLACE INTO leases (runner, lease_until) VALUES (?, ?)`, runner, until)
  db.run(`DELETE FROM ended_runners WHERE id = ?`, runner)
}

const nextHolder = `SELECT holder FROM runs WHERE holder IS NOT NULL AND holder > ?
  ORDER BY holder LIMIT 1`

/** Runners that own open runs: one look-up for each. */
const holders = (db: Connection): ReadonlyArray<RunnerId> => {
  const found: Array<RunnerId> = []
  for (;;) {
    const next = db.query<{ readonly holder: RunnerId }>(nextHolder, found.at(-1) ?? "").first()
    if (next === undefined) return found
    found.push(next.holder)
  }
}

/** What decides whether a run may be claimed although it had an owner. */
interface LineRow {
  readonly number: number
  readonly id: RunId
  readonly created_at: number
  readonly owner: RunnerId | null
  readonly active: string
  readonly losses: string | null
}

const lineColumns = "number, id, created_at, owner, active, losses"

const ownedOf = ({ active, losses, owner }: LineRow) => ({
  owner,
  losses: lossesOf(losses),
  active: JSON.parse(active) as Run["active"],
})

/** The open runs of owners without a lease, and free suspects, oldest first. */
const lineOf = (db: Connection, now: Timestamp): ReadonlyArray<LineRow> => {
  const ended = holders(db).filter((each) => (leaseOf(db, each) ?? now) <= now)
  const free = db
    .query<LineRow>(
      `SELECT ${lineColumns} FROM runs WHERE suspect_at IS NOT NULL AND owner IS NULL
       AND coalesce(due_at, 0) <= ?`,
      now,
    )
    .all()
  const expired = ended.flatMap((each) =>
    db.query<LineRow>(`SELECT ${lineColumns} FROM runs WHERE holder = ?`, each).all(),
  )
  return [...free, ...expired].toSorted(
    (a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1),
  )
}

/** A run to take, and its losses then. */
interface Chosen {
  readonly number: number
  readonly losses: string | null
}

/** The runs of the line that a claim takes. */
const expired = (db: Connection, request: ClaimRequest, now: Timestamp): ReadonlyArray<Chosen> => {
  const { except, limit, runner } = request
  const line = lineOf(db, now)
  if (line.length === 0) return []
  const excepted = new Set(except)
  const own = db
    .query<{ readonly losses: string }>(
      `SELECT losses FROM runs WHERE holder = ? AND losses IS NOT NULL`,
      runner,
    )
    .all()
  const isOpen = lineGate(own.map(({ losses }) => ({ losses: lossesOf(losses) })))
  const chosen: Array<Chosen> = []
  for (const row of line) {
    if (chosen.length >= limit) break
    if (excepted.has(row.id)) continue
    const { owner } = row
    const lostAt = owner === null ? undefined : leaseOf(db, owner)
    const losses = lossesWith(ownedOf(row), runner, lostAt)
    const isFree = losses.length === 0 || owner === runner
    if (!isFree && !isOpen(losses.length)) continue
    chosen.push({ number: row.number, losses: textOfLosses(losses) })
  }
  return chosen
}

/** Counts the owned runs of each kind, and those that are added, up to a cap. */
class Cap {
  readonly #counts = new Map<string, number>()
  readonly #owned: (kind: string) => number

  constructor(owned: (kind: string) => number) {
    this.#owned = owned
  }

  has(kind: string, limit: number): boolean {
    return this.#countOf(kind) < limit
  }

  add(kind: string): void {
    this.#counts.set(kind, this.#countOf(kind) + 1)
  }

  #countOf(kind: string): number {
    const known = this.#counts.get(kind) ?? this.#owned(kind)
    this.#counts.set(kind, known)
    return known
  }
}

interface Counted {
  readonly count: number
}

const ownedByAccount = (db: Connection) => (account: string) =>
  db
    .query<Counted>(
      `SELECT count(*) AS count FROM runs WHERE account_id = ? AND holder IS NOT NULL`,
      account,
    )
    .first()!.count

const ownedByWorkflow = (db: Connection, account: AccountId) => (workflow: string) =>
  db
    .query<Counted>(
      `SELECT count(*) AS count FROM runs
     WHERE account_id = ? AND workflow_id = ? AND holder IS NOT NULL`,
      account,
      workflow,
    )
    .first()!.count

const ownCapOf = (db: Connection, account: AccountId): number | null =>
  db
    .query<{ readonly cap: number | null }>(
      `SELECT runs_at_once AS cap FROM accounts WHERE id = ?`,
      account,
    )
    .first()?.cap ?? null

/** A queued run, at its place in the queue. */
interface QueuedRow {
  readonly number: number
  readonly id: RunId
  readonly workflow_id: WorkflowId
  readonly place: number
}

const queueStatement = `SELECT number, id, workflow_id, place FROM runs
  WHERE account_id = ? AND place IS NOT NULL AND (place, id) > (?, ?)
  ORDER BY place, id LIMIT ?`

/** How many rows of a queue are read at once; at first, only as many as a claim can take. */
const rowsRead = 1_000

/** The queue of an account, in order. */
function* queueOf(db: Connection, account: AccountId, limit: number): Iterable<QueuedRow> {
  let [at, id, count] = [Number.MIN_SAFE_INTEGER, "", limit]
  for (;;) {
    const rows = db.query<QueuedRow>(queueStatement, account, at, id, count).all()
    yield* rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < count) return
    ;[at, id, count] = [last.place, last.id, rowsRead]
  }
}

/** The runs of an account that a claim may take, in order. */
function* lineOfAccount(
  db: Connection,
  account: AccountId,
  request: ClaimRequest,
): Iterable<QueuedRow> {
  const { limit, roomPerAccount = Infinity, rooms, runsPerAccount, runsPerWorkflow } = request
  const excepted = new Set(request.except)
  const cap = runsPerAccount === undefined ? Infinity : (ownCapOf(db, account) ?? runsPerAccount)
  const ofAccount = new Cap(ownedByAccount(db))
  const ofWorkflow = new Cap(ownedByWorkflow(db, account))
  let room = rooms?.get(account) ?? roomPerAccount
  for (const row of queueOf(db, account, Math.min(limit + excepted.size, rowsRead))) {
    if (room <= 0 || (cap !== Infinity && !ofAccount.has(account, cap))) return
    if (excepted.has(row.id)) continue
    if (runsPerWorkflow !== undefined && !ofWorkflow.has(row.workflow_id, runsPerWorkflow)) continue
    if (cap !== Infinity) ofAccount.add(account)
    if (runsPerWorkflow !== undefined) ofWorkflow.add(row.workflow_id)
    room -= 1
    yield row
  }
}

const nextAccount = `SELECT account_id AS account FROM runs
  WHERE place IS NOT NULL AND account_id > ? ORDER BY account_id LIMIT 1`

/** The accounts with queued runs, those behind `after` first. Lazy. */
function* accountsBehind(db: Connection, after: string): Iterable<AccountId> {
  for (const [start, end] of [
    [after, undefined],
    ["", after],
  ] as const) {
    let last: string = start
    for (;;) {
      const next = db.query<{ readonly account: AccountId }>(nextAccount, last).first()?.account
      if (next === undefined || (end !== undefined && next > end)) break
      yield next
      last = next
    }
  }
}

function* linesOf(db: Connection, request: ClaimRequest): Iterable<Iterable<QueuedRow>> {
  for (const account of accountsBehind(db, request.after ?? "")) {
    yield lineOfAccount(db, account, request)
  }
}

/** The queued runs that a claim takes: those of the accounts in turn, as room and caps allow. */
const queued = (db: Connection, request: ClaimRequest, limit: number): ReadonlyArray<Chosen> => {
  const chosen: Array<Chosen> = []
  if (limit <= 0) return chosen
  for (const { number } of byTurns(linesOf(db, request))) {
    chosen.push({ number, losses: null })
    if (chosen.length >= limit) break
  }
  return chosen
}

const takeStatement = `UPDATE runs SET owner = ?, fence = fence + 1, losses = ?, woken_at = NULL,
    is_due = 0 WHERE number = ?`

const take = (db: Connection, runner: RunnerId, chosen: ReadonlyArray<Chosen>): void => {
  for (const { losses, number } of chosen) db.run(takeStatement, runner, losses, number)
}

const due = `number IN (
    SELECT number FROM runs WHERE parked_until <= ? ORDER BY parked_until LIMIT 1000
  )`

interface KeylessRow {
  readonly id: RunId
  readonly holder: RunnerId
}

/** Runs that wait for their key, and that somebody took over who has died. */
const withoutKey = (db: Connection, now: Timestamp): ReadonlyArray<KeylessRow> =>
  db
    .query<KeylessRow>(`SELECT id, holder FROM runs WHERE holder IS NOT NULL AND needs_key = 1`)
    .all()
    .filter(({ holder }) => (leaseOf(db, holder) ?? now) <= now)

/** Makes a runner the owner of runs, and renews its lease. */
export const claim = (
  db: Connection,
  request: ClaimRequest,
  now: Timestamp,
): ReadonlyArray<RunRecord> => {
  const { leaseMillis, limit, runner } = request
  const keyless = withoutKey(db, now)
  for (const { holder, id } of keyless) requeue(db, holder, [id])
  KeyChanges.addOfQueued(db, due, now)
  db.run(`UPDATE runs SET is_due = 1 WHERE ${due}`, now)
  KeyChanges.give(db)
  const first = expired(db, request, now)
  // Now they count towards the caps.
  take(db, runner, first)
  const rest = queued(db, request, limit - first.length)
  take(db, runner, rest)
  lease(db, runner, now + leaseMillis)
  return recordsOf(
    db,
    [...first, ...rest].map(({ number }) => number),
  )
}

/** Makes a runner the owner of one open run. */
export const takeOver = (
  db: Connection,
  account: AccountId,
  id: RunId,
  runner: RunnerId,
): RunRecord | undefined => {
  const row = rowOf(db, account, id)
  if (row === undefined) return undefined
  if (isTerminal(row.status)) return recordOf(db, row)
  db.run(
    `UPDATE runs SET owner = ?, fence = fence + 1, due_at = NULL, woken_at = NULL, is_due = 0
     WHERE number = ?`,
    runner,
    row.number,
  )
  return recordOf(db, rowOfNumber(db, row.number))
}

const setLosses = (db: Connection, number: number, losses: Run["losses"]): void => {
  db.run(`UPDATE runs SET losses = ?, is_due = 0 WHERE number = ?`, textOfLosses(losses), number)
}

/** Removes the losses that were put down to the death of a runner that is alive. */
const takeBack = (db: Connection, runner: RunnerId, blocked: Blocked | undefined): void => {
  const suspects = db
    .query<LineRow>(
      `SELECT ${lineColumns} FROM runs WHERE suspect_at IS NOT NULL AND instr(losses, ?) > 0`,
      JSON.stringify(runner),
    )
    .all()
  for (const { id, losses: text, number } of suspects) {
    setLosses(db, number, takenBack({ id, losses: lossesOf(text) }, runner, blocked))
  }
}

/** Renews a runner's lease; returns the runs that it owns, with their fences. */
export const heartbeat = (
  db: Connection,
  runner: RunnerId,
  until: Timestamp,
  blocked: Blocked | undefined,
): ReadonlyMap<RunId, number> => {
  takeBack(db, runner, blocked)
  lease(db, runner, until)
  const owned = db
    .query<{ readonly id: RunId; readonly fence: number }>(
      `SELECT id, fence FROM runs WHERE holder = ?`,
      runner,
    )
    .all()
  return new Map(owned.map(({ fence, id }) => [id, fence]))
}

/** Gives back runs that a runner owns. */
export const requeue = (db: Connection, runner: RunnerId, ids: ReadonlyArray<RunId>): void => {
  for (const id of ids) {
    db.run(
      `UPDATE runs SET owner = NULL, fence = fence + 1, woken_at = NULL, is_due = 0
       WHERE id = ? AND holder = ?`,
      id,
      runner,
    )
    KeyChanges.addOfQueued(db, "id = ?", id)
  }
}

/** Ends a runner's lease. */
export const endLease = (
  db: Connection,
  runner: RunnerId,
  blocked: Blocked | undefined,
  now: Timestamp,
): void => {
  takeBack(db, runner, blocked)
  db.run(`DELETE FROM leases WHERE runner = ?`, runner)
  db.run(
    `INSERT OR IGNORE INTO ended_runners (id)
     SELECT ? WHERE EXISTS (SELECT 1 FROM runs WHERE holder = ?)`,
    runner,
    runner,
  )
  if (blocked === undefined) return
  const row = db
    .query<LineRow>(
      `SELECT ${lineColumns} FROM runs WHERE id = ? AND holder = ?`,
      blocked.run,
      runner,
    )
    .first()
  if (row === undefined) return
  setLosses(db, row.number, lossesWithBlock(ownedOf(row), runner, blocked, now))
}

/**
 * Begins with the leases of a process that has ended: those that it has not ended itself run out
 * now, so runs with nodes in progress get a loss.
 */
export const endLeases = (db: Connection, now: Timestamp): void => {
  db.run(
    `DELETE FROM ended_runners WHERE id NOT IN (SELECT holder FROM runs WHERE holder IS NOT NULL)`,
  )
  for (const runner of holders(db)) {
    const isEnded =
      db.query(`SELECT 1 FROM ended_runners WHERE id = ?`, runner).first() !== undefined
    if (!isEnded) db.run(`INSERT INTO leases (runner, lease_until) VALUES (?, ?)`, runner, now)
  }
}

/** Accounts with a cap of their own. */
export const cappedAccounts = (db: Connection, limit: number): ReadonlySet<AccountId> =>
  new Set(
    db
      .query<{ readonly id: AccountId }>(
        `SELECT id FROM accounts WHERE runs_at_once IS NOT NULL ORDER BY id LIMIT ?`,
        limit,
      )
      .all()
      .map(({ id }) => id),
  )

/** How many runs are in the queue or parked and due, at most `limit`. */
export const queueLength = (db: Connection, limit: number, now: Timestamp): number =>
  db
    .query<Counted>(
      `SELECT count(*) AS count FROM (
         SELECT 1 FROM runs WHERE place IS NOT NULL
         UNION ALL SELECT 1 FROM runs WHERE parked_until <= ? LIMIT ?
       )`,
      now,
      limit,
    )
    .first()!.count

/** How many runs of an account are at work or wait. */
export const load = (db: Connection, { account, key, limit }: LoadQuery): AccountLoad => {
  const count = (condition: string, most: number, ...values: ReadonlyArray<string>): number =>
    db
      .query<Counted>(
        `SELECT count(*) AS count FROM (
           SELECT 1 FROM runs WHERE account_id = ? AND ${condition} LIMIT ?
         )`,
        account,
        ...values,
        most,
      )
      .first()!.count
  const withKey = (condition: string): number =>
    key === undefined
      ? 0
      : count(
          `workflow_id = ? AND concurrency_key = ? AND ${condition}`,
          limit,
          key.workflowId,
          key.concurrencyKey,
        )
  return {
    queued: count("place IS NOT NULL", limit),
    keyless: count("key_place IS NOT NULL", limit),
    owned: count("holder IS NOT NULL", mostRunsAtOnce),
    // Each part has an index.
    ofKey: Math.min(
      limit,
      withKey(`needs_key = 0 AND status IN ('QUEUED', 'RUNNING')`) +
        withKey("key_place IS NOT NULL"),
    ),
    runsAtOnce: ownCapOf(db, account),
  }
}

/** Open runs with losses, oldest first. */
export const suspects = (db: Connection, limit: number, now: Timestamp): ReadonlyArray<Suspect> => {
  const rows = db
    .query<{ readonly number: number }>(
      `SELECT number FROM runs WHERE suspect_at IS NOT NULL ORDER BY suspect_at, id LIMIT ?`,
      limit,
    )
    .all()
  return recordsOf(
    db,
    rows.map(({ number }) => number),
  ).map((record) => {
    const { owner } = record.run
    const isHeld = owner !== null && (leaseOf(db, owner) ?? now) > now
    return { record, holder: isHeld ? owner : null }
  })
}

/** Forgets the losses of an open run. */
export const clearLosses = (db: Connection, id: RunId): boolean =>
  db.run(`UPDATE runs SET losses = NULL, is_due = 0 WHERE id = ? AND suspect_at IS NOT NULL`, id) >
  0
