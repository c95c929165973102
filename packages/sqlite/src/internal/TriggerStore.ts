/**
 * The store of triggers.
 *
 * Guarantees: a claim reads the triggers that are due, and of the others one. Leaves out: which
 * times a trigger has.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { triggersPerWorkflow } from "@millrace/core/domain/Limits"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import type { Schedule, Trigger } from "@millrace/core/domain/Trigger"
import type {
  ClaimedTriggers,
  TriggerAdvance,
  TriggerClaim,
  TriggerKey,
} from "@millrace/core/ports/TriggerStore"
import { TooManyTriggers, TriggerStore } from "@millrace/core/ports/TriggerStore"
import { Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import * as Workflows from "./WorkflowStore.ts"

interface Row {
  readonly due_at: number | null
  readonly fence: number
  readonly trigger: string
}

const columns = "due_at, fence, trigger"

const triggerOf = ({ due_at: dueAt, fence, trigger }: Row): Trigger => {
  const read = { ...(JSON.parse(trigger) as Trigger), fence }
  return read.type === "schedule" ? { ...read, dueAt } : read
}

const textOf = (trigger: Trigger): string =>
  JSON.stringify({ ...trigger, dueAt: undefined, fence: undefined })

const dueAtOf = (trigger: Trigger) => (trigger.type === "schedule" ? trigger.dueAt : null)

/** What finds a webhook; nothing while it is switched off. */
const addressOf = (trigger: Trigger) =>
  trigger.type === "webhook" && trigger.enabled ? trigger.addressHash : null

const list = (db: Connection, account: AccountId, workflowId: WorkflowId) =>
  db
    .query<Row>(
      `SELECT ${columns} FROM triggers WHERE workflow_id = ? AND account_id = ?
       ORDER BY created_at, id`,
      workflowId,
      account,
    )
    .all()
    .map(triggerOf)

const insert = (db: Connection, trigger: Trigger): boolean | TooManyTriggers => {
  const { accountId, createdAt, fence, id, workflowId } = trigger
  if (Workflows.find(db, accountId, workflowId) === undefined) return false
  if (list(db, accountId, workflowId).length >= triggersPerWorkflow) {
    return new TooManyTriggers({ limit: triggersPerWorkflow })
  }
  db.run(
    `INSERT INTO triggers (id, account_id, workflow_id, created_at, address_hash, ${columns})
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    accountId,
    workflowId,
    createdAt,
    addressOf(trigger),
    dueAtOf(trigger),
    fence,
    textOf(trigger),
  )
  return true
}

const find = (db: Connection, { accountId, id, workflowId }: TriggerKey): Trigger | undefined => {
  const row = db
    .query<Row>(
      `SELECT ${columns} FROM triggers WHERE id = ? AND account_id = ? AND workflow_id = ?`,
      id,
      accountId,
      workflowId,
    )
    .first()
  return row === undefined ? undefined : triggerOf(row)
}

/** Writes a trigger with the next fence. */
const write = <T extends Trigger>(db: Connection, trigger: T): T => {
  const written = { ...trigger, fence: trigger.fence + 1 }
  db.run(
    `UPDATE triggers SET due_at = ?, address_hash = ?, fence = ?, trigger = ? WHERE id = ?`,
    dueAtOf(written),
    addressOf(written),
    written.fence,
    textOf(written),
    written.id,
  )
  return written
}

const replace = (db: Connection, trigger: Trigger): boolean => {
  const known = find(db, trigger)
  if (known?.fence !== trigger.fence) return false
  if (known.type === "webhook") {
    write(db, trigger)
    return true
  }
  const { lastAt, lastError, lastMissedAt, lastRunId, missed } = known
  write(db, { ...(trigger as Schedule), lastAt, lastError, lastMissedAt, lastRunId, missed })
  return true
}

const findByAddress = (db: Connection, addressHash: string): InboundWebhook | undefined => {
  const statement = `SELECT ${columns} FROM triggers WHERE address_hash = ?`
  const row = db.query<Row>(statement, addressHash).first()
  return row === undefined ? undefined : (triggerOf(row) as InboundWebhook)
}

const claim = (
  db: Connection,
  { leaseMillis, limit }: TriggerClaim,
  now: Timestamp,
): ClaimedTriggers => {
  const due = db
    .query<Row>(
      `SELECT ${columns} FROM triggers WHERE due_at <= ? ORDER BY due_at, id LIMIT ?`,
      now,
      limit,
    )
    .all()
  const next = db
    .query<{ readonly due_at: number }>(
      `SELECT due_at FROM triggers WHERE due_at > ? ORDER BY due_at LIMIT 1`,
      now,
    )
    .first()
  const dueAt = now + leaseMillis
  const triggers = due.map((row) => write(db, { ...(triggerOf(row) as Schedule), dueAt }))
  return { now, triggers, nextDueAt: next?.due_at ?? null }
}

const advance = (db: Connection, { missed, ...given }: TriggerAdvance): void => {
  const row = db
    .query<Row>(`SELECT ${columns} FROM triggers WHERE id = ? AND fence = ?`, given.id, given.fence)
    .first()
  if (row === undefined) return
  const known = triggerOf(row) as Schedule
  write(db, { ...known, ...given, missed: known.missed + missed })
}

const make = (db: Connection): TriggerStore["Service"] => {
  const change = <A>(method: string, step: (now: Timestamp) => A) =>
    db.write(`TriggerStore.${method}`, step)
  const read = <A>(method: string, step: () => A) => db.read(`TriggerStore.${method}`, step)
  return TriggerStore.of({
    insert: (trigger) =>
      Effect.flatMap(
        change("insert", () => insert(db, trigger)),
        (made) => (made instanceof TooManyTriggers ? Effect.fail(made) : Effect.succeed(made)),
      ),
    replace: (trigger) => change("replace", () => replace(db, trigger)),
    remove: (key) =>
      change("remove", () => {
        const { accountId, id, workflowId } = key
        const statement = `DELETE FROM triggers WHERE id = ? AND account_id = ? AND workflow_id = ?`
        return db.run(statement, id, accountId, workflowId) > 0
      }),
    find: (key) => read("find", () => Option.fromUndefinedOr(find(db, key))),
    findByAddress: (addressHash) =>
      read("findByAddress", () => Option.fromUndefinedOr(findByAddress(db, addressHash))),
    list: (account, workflowId) => read("list", () => list(db, account, workflowId)),
    claimDue: (given) => change("claimDue", (now) => claim(db, given, now)),
    advance: (given) => change("advance", () => given.forEach((each) => advance(db, each))),
  })
}

/** The store of triggers of a database. */
export const layer: Layer.Layer<TriggerStore, never, Database> = Layer.effect(
  TriggerStore,
  Effect.map(Database, make),
)
