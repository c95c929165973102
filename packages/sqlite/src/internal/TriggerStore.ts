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
import { factsOf } from "@millrace/core/domain/TriggerFacts"
import type {
  ClaimedTriggers,
  FinishedEnd,
  TriggerAdvance,
  TriggerClaim,
  TriggerKey,
} from "@millrace/core/ports/TriggerStore"
import { TooManyTriggers, TriggerStore } from "@millrace/core/ports/TriggerStore"
import { Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import * as Deliveries from "./Deliveries.ts"
import * as RunEnds from "./RunEnds.ts"
import * as TriggerPauses from "./TriggerPauses.ts"
import type { Row } from "./TriggerRows.ts"
import { columns, textOf, triggerOf, triggerWith } from "./TriggerRows.ts"
import * as WebhookTests from "./WebhookTests.ts"
import * as Workflows from "./WorkflowRows.ts"

const dueAtOf = (trigger: Trigger) => (trigger.type === "schedule" ? trigger.dueAt : null)

/** What finds a webhook; nothing while it is switched off. */
const addressOf = (trigger: Trigger) =>
  trigger.type === "webhook" && trigger.enabled ? trigger.addressHash : null

/** The workflow whose runs it follows. */
const watchedOf = (trigger: Trigger) => (trigger.type === "run_end" ? trigger.watch : null)

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
  const needed = trigger.type === "run_end" ? [workflowId, trigger.watch] : [workflowId]
  if (needed.some((each) => Workflows.find(db, accountId, each) === undefined)) return false
  if (list(db, accountId, workflowId).length >= triggersPerWorkflow) {
    return new TooManyTriggers({ limit: triggersPerWorkflow })
  }
  db.run(
    `INSERT INTO triggers
       (id, account_id, workflow_id, created_at, address_hash, watched_id, ${columns})
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    accountId,
    workflowId,
    createdAt,
    addressOf(trigger),
    watchedOf(trigger),
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
    `UPDATE triggers SET due_at = ?, address_hash = ?, watched_id = ?, fence = ?, trigger = ?
     WHERE id = ?`,
    dueAtOf(written),
    addressOf(written),
    watchedOf(written),
    written.fence,
    textOf(written),
    written.id,
  )
  return written
}

const replace = (db: Connection, trigger: Trigger): boolean => {
  const known = find(db, trigger)
  if (known?.fence !== trigger.fence) return false
  write(db, { ...trigger, ...(known.type === "webhook" ? {} : factsOf(known)) })
  if (!trigger.enabled) RunEnds.forget(db, trigger.id)
  return true
}

const findByAddress = (db: Connection, addressHash: string): InboundWebhook | undefined => {
  const statement = `SELECT ${columns} FROM triggers WHERE address_hash = ?`
  const row = db.query<Row>(statement, addressHash).first()
  const found = row === undefined ? undefined : (triggerOf(row) as InboundWebhook)
  const isPaused = found !== undefined && TriggerPauses.pausedAt(db, found.accountId) !== null
  return isPaused ? undefined : found
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
  const ends = RunEnds.claim(db, { leaseMillis, limit }, now).map((end) => {
    const trigger = triggerWith(db, end.triggerId)
    return { ...end, trigger: trigger?.type === "run_end" ? trigger : null }
  })
  const dues = [next?.due_at, RunEnds.nextDueAt(db, now)].flatMap((at) => at ?? [])
  const accounts = [...triggers, ...ends.map(({ trigger }) => trigger)]
  const pauses = TriggerPauses.of(
    db,
    accounts.flatMap((trigger) => trigger?.accountId ?? []),
  )
  return { now, triggers, ends, pauses, nextDueAt: dues.length === 0 ? null : Math.min(...dues) }
}

const advance = (
  db: Connection,
  { delivery, missed, ...given }: TriggerAdvance,
  now: Timestamp,
): void => {
  const row = db
    .query<Row>(`SELECT ${columns} FROM triggers WHERE id = ? AND fence = ?`, given.id, given.fence)
    .first()
  if (row === undefined) return
  const known = triggerOf(row) as Schedule
  write(db, { ...known, ...given, missed: known.missed + missed })
  if (delivery !== undefined) Deliveries.insert(db, [delivery], now)
}

const finish = (db: Connection, end: FinishedEnd): void => {
  if (!RunEnds.remove(db, end)) return
  const known = triggerWith(db, end.triggerId)
  if (known?.type !== "run_end") return
  const { fence: _, missed, runId: _runId, triggerId: _triggerId, ...facts } = end
  // Not a change of its owner, whose fence stays.
  const noted = { ...known, ...facts, missed: known.missed + missed }
  db.run(`UPDATE triggers SET trigger = ? WHERE id = ?`, textOf(noted), known.id)
}

const make = (db: Connection): TriggerStore["Service"] => {
  const change = <A>(method: string, step: (now: Timestamp) => A) =>
    db.write(`TriggerStore.${method}`, step)
  const read = <A>(method: string, step: (now: Timestamp) => A) =>
    db.read(`TriggerStore.${method}`, step)
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
        if (db.run(statement, id, accountId, workflowId) === 0) return false
        RunEnds.forget(db, id)
        return true
      }),
    find: (key) => read("find", () => Option.fromUndefinedOr(find(db, key))),
    findByAddress: (addressHash) =>
      read("findByAddress", () => Option.fromUndefinedOr(findByAddress(db, addressHash))),
    list: (account, workflowId) => read("list", () => list(db, account, workflowId)),
    claimDue: (given) => change("claimDue", (now) => claim(db, given, now)),
    advance: (given) => change("advance", (now) => given.forEach((each) => advance(db, each, now))),
    beginTest: (key, addressHash, millis) =>
      change("beginTest", (now) => {
        if (find(db, key)?.type !== "webhook") return Option.none()
        WebhookTests.begin(db, key.id, addressHash, now + millis)
        return Option.some(now + millis)
      }),
    endTest: (key) =>
      change("endTest", () => {
        if (find(db, key)?.type !== "webhook") return false
        WebhookTests.end(db, key.id)
        return true
      }),
    findTest: (key) =>
      read("findTest", () =>
        find(db, key)?.type === "webhook"
          ? Option.some(WebhookTests.find(db, key.id))
          : Option.none(),
      ),
    findByTestAddress: (addressHash) =>
      read("findByTestAddress", (now) =>
        Option.fromUndefinedOr(WebhookTests.findByAddress(db, addressHash, now)),
      ),
    noteRequest: (id, request) => change("noteRequest", () => WebhookTests.note(db, id, request)),
    pause: (account, at) => change("pause", () => TriggerPauses.pause(db, account, at)),
    resume: (account, at) => change("resume", () => TriggerPauses.resume(db, account, at)),
    pausedAt: (account) => read("pausedAt", () => TriggerPauses.pausedAt(db, account)),
    finish: (given) => change("finish", () => given.forEach((each) => finish(db, each))),
  })
}

/** The store of triggers of a database. */
export const layer: Layer.Layer<TriggerStore, never, Database> = Layer.effect(
  TriggerStore,
  Effect.map(Database, make),
)
