/**
 * Deliveries and the logs of their attempts. Commits of runs add deliveries; the webhook store has
 * all other operations.
 *
 * Guarantees: a claim looks up each account and origin with deliveries, and reads no more of them
 * than it may take. Leaves out: the rules; see `core/domain/DeliveryStep`.
 */
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryItem,
  DeliveryRecord,
} from "@millrace/core/domain/Delivery"
import type { DeliveryStanding } from "@millrace/core/domain/DeliveryStep"
import * as DeliveryStep from "@millrace/core/domain/DeliveryStep"
import type { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import type { Page } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type {
  AttemptRecord,
  Claim,
  DeliveryQuery,
  DueRequest,
  Scope,
} from "@millrace/core/ports/WebhookStore"
import type { Connection } from "./SqliteConnection.ts"
import { behind, window } from "./Listing.ts"

/** A row of `deliveries`. */
interface Row {
  readonly number: number
  readonly id: DeliveryId
  readonly run_id: string | null
  readonly standing: string
}

/** A claim and its delivery, without the account's secrets. */
export interface Taken extends Omit<Claim, "secrets"> {
  readonly delivery: Delivery
}

const columns = "number, id, run_id, standing"

const standingOf = ({ standing }: Row): DeliveryStanding => JSON.parse(standing) as DeliveryStanding

const deliveryOf = (db: Connection, { number }: Row): Delivery => {
  const row = db
    .query<{ readonly content: string }>(
      `SELECT content FROM delivery_bodies WHERE delivery = ?`,
      number,
    )
    .first()
  return JSON.parse(row!.content) as Delivery
}

const itemOf = (db: Connection, row: Row): DeliveryItem => {
  const { accountId, createdAt, id, runId, sequence, type, url } = deliveryOf(db, row)
  const standing = standingOf(row)
  const { attempts, settledAt, state } = standing
  const nextAttemptAt = DeliveryStep.nextAttemptAt(standing)
  const head = { id, accountId, runId, sequence, type, url, createdAt }
  return { ...head, state, attempts, nextAttemptAt, settledAt }
}

const write = (db: Connection, number: number, standing: DeliveryStanding): void => {
  db.run(
    `UPDATE deliveries SET state = ?, due_at = ?, settled_at = ?, is_gone = ?, standing = ?
     WHERE number = ?`,
    standing.state,
    DeliveryStep.nextAttemptAt(standing),
    standing.settledAt,
    standing.isGone ? 1 : 0,
    JSON.stringify(standing),
    number,
  )
}

const insertStatement = `INSERT INTO deliveries (
    id, account_id, run_id, origin, created_at, state, due_at, settled_at, is_gone, standing
  ) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, 0, ?)
  ON CONFLICT (id) DO NOTHING RETURNING number`

/** Adds deliveries. One that exists stays unchanged. */
export const insert = (
  db: Connection,
  deliveries: ReadonlyArray<Delivery>,
  now: Timestamp,
): void => {
  for (const delivery of deliveries) {
    const standing = DeliveryStep.inserted(now)
    const made = db
      .query<{ readonly number: number }>(
        insertStatement,
        delivery.id,
        delivery.accountId,
        delivery.runId,
        delivery.origin,
        delivery.createdAt,
        standing.state,
        DeliveryStep.nextAttemptAt(standing),
        JSON.stringify(standing),
      )
      .first()
    if (made === undefined) continue
    db.run(
      `INSERT INTO delivery_bodies (delivery, content) VALUES (?, ?)`,
      made.number,
      JSON.stringify(delivery),
    )
  }
}

const siblingsOf = (db: Connection, { run_id }: Row): ReadonlyArray<Row> =>
  run_id === null
    ? []
    : db.query<Row>(`SELECT ${columns} FROM deliveries WHERE run_id = ?`, run_id).all()

const isGone = (db: Connection, { run_id }: Row): boolean =>
  run_id !== null &&
  db.query(`SELECT 1 FROM deliveries WHERE run_id = ? AND is_gone = 1`, run_id).first() !==
    undefined

const take = (db: Connection, row: Row, now: Timestamp, visibilityMillis: number): Taken => {
  const before = standingOf(row)
  const standing = DeliveryStep.claimed(before, visibilityMillis, now)
  write(db, row.number, standing)
  const { attempts: attempt, earlier, fence } = standing
  const delivery = deliveryOf(db, row)
  const lostAt = before.claimedAt
  return { id: row.id, delivery, fence, attempt, earlier, isGone: isGone(db, row), lostAt }
}

/** The deliveries of one account to one origin. */
interface Lane {
  readonly account_id: AccountId
  readonly origin: string
}

const nextLane = `SELECT account_id, origin FROM deliveries
  WHERE due_at IS NOT NULL AND (account_id, origin) > (?, ?)
  ORDER BY account_id, origin LIMIT 1`

/** The lanes that have deliveries: one look-up for each. */
const lanes = (db: Connection): ReadonlyArray<Lane> => {
  const found: Array<Lane> = []
  for (;;) {
    const last = found.at(-1)
    const next = db.query<Lane>(nextLane, last?.account_id ?? "", last?.origin ?? "").first()
    if (next === undefined) return found
    found.push(next)
  }
}

/** Counts deliveries by a key, up to a bound. */
class Room {
  readonly #counts = new Map<string, number>()
  readonly #bound: number

  constructor(bound: number) {
    this.#bound = bound
  }

  add(key: string, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
  }

  left(key: string): number {
    return this.#bound - (this.#counts.get(key) ?? 0)
  }
}

interface DueRow extends Row, Lane {
  readonly due_at: number
}

const dueStatement = `SELECT ${columns}, account_id, origin, due_at FROM deliveries
  WHERE account_id = ? AND origin = ? AND due_at <= ? ORDER BY due_at, id LIMIT ?`

/** Claims due deliveries, oldest first, within the bounds. */
export const claimDue = (
  db: Connection,
  { busy, limit, perAccount, perOrigin, visibilityMillis }: DueRequest,
  now: Timestamp,
): ReadonlyArray<Taken> => {
  const origins = new Room(perOrigin)
  const accounts = new Room(perAccount)
  for (const { accountId, count, origin } of busy) {
    origins.add(origin, count)
    accounts.add(accountId, count)
  }
  const due = lanes(db).flatMap(({ account_id, origin }) => {
    const room = Math.min(limit, origins.left(origin), accounts.left(account_id))
    return room <= 0 ? [] : db.query<DueRow>(dueStatement, account_id, origin, now, room).all()
  })
  const chosen: Array<Row> = []
  for (const row of due.toSorted((a, b) => a.due_at - b.due_at || (a.id < b.id ? -1 : 1))) {
    if (chosen.length >= limit) break
    if (origins.left(row.origin) <= 0 || accounts.left(row.account_id) <= 0) continue
    origins.add(row.origin, 1)
    accounts.add(row.account_id, 1)
    chosen.push(row)
  }
  return chosen.map((row) => take(db, row, now, visibilityMillis))
}

const rowOf = (db: Connection, id: DeliveryId): Row | undefined =>
  db.query<Row>(`SELECT ${columns} FROM deliveries WHERE id = ?`, id).first()

const ownRowOf = (db: Connection, account: Scope, id: DeliveryId): Row | undefined =>
  db
    .query<Row>(
      `SELECT ${columns} FROM deliveries WHERE id = ? AND account_id = coalesce(?, account_id)`,
      id,
      account,
    )
    .first()

/** Claims those of these deliveries that are free. */
export const claim = (
  db: Connection,
  ids: ReadonlyArray<DeliveryId>,
  visibilityMillis: number,
  now: Timestamp,
): ReadonlyArray<Taken> =>
  [...new Set(ids)].flatMap((id) => {
    const row = rowOf(db, id)
    if (row === undefined || !DeliveryStep.isFree(standingOf(row), now)) return []
    return [take(db, row, now, visibilityMillis)]
  })

const log = (db: Connection, { number }: Row, attempt: DeliveryAttempt): void => {
  db.run(
    `INSERT OR REPLACE INTO delivery_attempts (delivery, number, attempt) VALUES (?, ?, ?)`,
    number,
    attempt.number,
    JSON.stringify(attempt),
  )
}

interface AttemptRow {
  readonly attempt: string
}

const attemptOf = ({ attempt }: AttemptRow): DeliveryAttempt =>
  JSON.parse(attempt) as DeliveryAttempt

const recordLate = (db: Connection, row: Row, record: AttemptRecord, now: Timestamp): boolean => {
  const found = db
    .query<AttemptRow>(
      `SELECT attempt FROM delivery_attempts WHERE delivery = ? AND number = ?`,
      row.number,
      record.number,
    )
    .first()
  const logged = found === undefined ? undefined : attemptOf(found).error
  const change = DeliveryStep.lateChangeOf(standingOf(row), record, logged, now)
  if (change === undefined) return false
  for (const attempt of change.log) log(db, row, attempt)
  write(db, row.number, change.standing)
  return true
}

/** Records the outcome of a claim. False: nothing was written. */
export const record = (db: Connection, given: AttemptRecord, now: Timestamp): boolean => {
  const { attempt, id, number } = given
  const row = rowOf(db, id)
  if (row === undefined) return false
  const before = standingOf(row)
  if (!DeliveryStep.isHeld(before, given)) return recordLate(db, row, given, now)
  const change = DeliveryStep.changeOf(given)
  const standing = DeliveryStep.changed(before, change, now)
  write(db, row.number, standing)
  const nextAt = DeliveryStep.nextAttemptAt(standing)
  if (attempt !== null) log(db, row, { ...attempt, number, nextAt })
  if (!change.isGone) return true
  for (const each of siblingsOf(db, row)) {
    write(db, each.number, DeliveryStep.receiverGone(standingOf(each), now))
  }
  return true
}

/** A delivery with its log. */
export const find = (
  db: Connection,
  account: Scope,
  id: DeliveryId,
): DeliveryRecord | undefined => {
  const row = ownRowOf(db, account, id)
  if (row === undefined) return undefined
  const attempts = db
    .query<AttemptRow>(
      `SELECT attempt FROM delivery_attempts WHERE delivery = ? ORDER BY number`,
      row.number,
    )
    .all()
  return {
    item: itemOf(db, row),
    body: deliveryOf(db, row).body,
    attempts: attempts.map(attemptOf),
  }
}

/** True for a delivery of a run of workflows, whose ids are given as JSON. */
const ofWorkflows = `EXISTS (
  SELECT 1 FROM runs r WHERE r.id = deliveries.run_id
    AND r.workflow_id IN (SELECT value FROM json_each(?))
)`

/** A page of deliveries, newest first. */
export const list = (db: Connection, query: DeliveryQuery): Page<DeliveryItem> => {
  const { account, after, runId, state, workflows } = query
  const { condition, values } = behind(after)
  const parts = [
    { sql: condition, values },
    ...(account === null ? [] : [{ sql: "account_id = ?", values: [account] }]),
    ...(runId === undefined ? [] : [{ sql: "run_id = ?", values: [runId] }]),
    ...(workflows === undefined ? [] : [{ sql: ofWorkflows, values: [JSON.stringify(workflows)] }]),
    // The index of what has failed needs the text.
    ...(state === undefined ? [] : [{ sql: `state = '${state}'`, values: [] }]),
  ]
  const rows = db
    .query<Row>(
      `SELECT ${columns} FROM deliveries WHERE ${parts.map(({ sql }) => sql).join(" AND ")}
     ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`,
      ...parts.flatMap((part) => part.values),
      ...window(query),
    )
    .all()
  return fromOverfetch(
    rows.map((row) => itemOf(db, row)),
    query.limit,
  )
}

const reopen = (db: Connection, id: DeliveryId, now: Timestamp): void => {
  const row = rowOf(db, id)!
  for (const each of siblingsOf(db, row)) {
    const standing = standingOf(each)
    if (standing.isGone) write(db, each.number, DeliveryStep.notGone(standing))
  }
  write(db, row.number, DeliveryStep.redelivered(standingOf(rowOf(db, id)!), now))
}

/** Makes a delivery due now. */
export const redeliver = (
  db: Connection,
  account: Scope,
  id: DeliveryId,
  now: Timestamp,
): DeliveryItem | undefined => {
  if (ownRowOf(db, account, id) === undefined) return undefined
  reopen(db, id, now)
  return itemOf(db, rowOf(db, id)!)
}

/** Makes FAILED deliveries due now; returns how many. */
export const redeliverFailed = (
  db: Connection,
  { account, workflows }: Pick<DeliveryQuery, "account" | "workflows">,
  since: Timestamp,
  now: Timestamp,
): number => {
  const failed = db
    .query<Row>(
      `SELECT ${columns} FROM deliveries
     WHERE state = 'FAILED' AND created_at >= ? AND account_id = coalesce(?, account_id)
       ${workflows === undefined ? "" : `AND ${ofWorkflows}`}
     ORDER BY created_at, id`,
      since,
      account,
      ...(workflows === undefined ? [] : [JSON.stringify(workflows)]),
    )
    .all()
  for (const { id } of failed) reopen(db, id, now)
  return failed.length
}

/** Removes deliveries that have ended; returns how many. */
export const forget = (db: Connection, before: Timestamp, limit: number): number => {
  const old = db
    .query<{ readonly number: number }>(
      `SELECT number FROM deliveries WHERE settled_at < ? ORDER BY settled_at LIMIT ?`,
      before,
      limit,
    )
    .all()
  for (const { number } of old) {
    db.run(`DELETE FROM deliveries WHERE number = ?`, number)
    db.run(`DELETE FROM delivery_bodies WHERE delivery = ?`, number)
    db.run(`DELETE FROM delivery_attempts WHERE delivery = ?`, number)
  }
  return old.length
}
