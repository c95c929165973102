/**
 * The store of triggers on Postgres, by the database's clock.
 *
 * Guarantees: a claim and an advance are one statement each, whatever their number. Two claims skip
 * each other's triggers. A claim reads the triggers that are due, and of the others one. Leaves
 * out: which times a trigger has.
 */
import { triggersPerWorkflow } from "@millrace/core/domain/Limits"
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import { webhookDefaults } from "@millrace/core/domain/InboundWebhook"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import type { Schedule, Trigger } from "@millrace/core/domain/Trigger"
import { factsOf } from "@millrace/core/domain/TriggerFacts"
import type { ClaimedTriggers, TriggerAdvance, TriggerKey } from "@millrace/core/ports/TriggerStore"
import { TooManyTriggers, TriggerStore } from "@millrace/core/ports/TriggerStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import { databasePort } from "./DatabaseError.ts"
import { queued, sentColumns } from "./DeliveryRecords.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"
import { optional, values } from "./Statements.ts"
import * as TriggerPauses from "./TriggerPauses.ts"
import * as WaitingEnds from "./WaitingEnds.ts"
import * as WebhookTests from "./WebhookTests.ts"

type Own = Pick<
  InboundWebhook,
  "methods" | "verify" | "networks" | "respond" | "into" | "dedupeHeader" | "dedupeBy"
>

/** A trigger as it is stored: what only other types have is NULL. */
type Row = Omit<Schedule, "type"> & {
  readonly type: Trigger["type"]
  readonly watch: RunEndTrigger["watch"] | null
  readonly runEnd: Pick<RunEndTrigger, "on" | "into"> | null
  readonly inbound: Own | null
  readonly addressHash: string | null
}

const rowOf = (trigger: Trigger): Row => {
  const none = { webhook: null, inbound: null, addressHash: null, watch: null, runEnd: null }
  if (trigger.type === "schedule") return { ...none, ...trigger }
  if (trigger.type === "run_end") {
    const { into, on, ...rest } = trigger
    return { ...none, ...rest, runEnd: { into, on } } as unknown as Row
  }
  const { dedupeBy, dedupeHeader, into, methods, networks, respond, verify, ...rest } = trigger
  const inbound = { dedupeBy, dedupeHeader, into, methods, networks, respond, verify }
  return { ...none, ...rest, inbound } as unknown as Row
}

const triggerOf = ({ addressHash, inbound, runEnd, watch, ...row }: Row): Trigger => {
  if (row.type === "schedule") return row as Schedule
  const {
    accountId,
    createdAt,
    enabled,
    fence,
    id,
    updatedAt,
    values: own,
    version,
    workflowId,
  } = row
  const ids = { id, accountId, workflowId }
  const webhook = row.webhook as RunEndTrigger["webhook"]
  const rest = { values: own, version, webhook, enabled, createdAt, updatedAt, fence }
  return row.type === "webhook"
    ? {
        ...ids,
        type: row.type,
        ...webhookDefaults,
        ...inbound!,
        addressHash: addressHash!,
        ...rest,
      }
    : { ...ids, type: row.type, watch: watch!, ...runEnd!, ...rest, ...factsOf(row) }
}

/** What the owner of a trigger sets, and when it is due. */
const settings: Table<Row> = [
  ...Rows.texts<Row>("timezone", "catchUp", "overlap", "addressHash"),
  ...Rows.texts<Row>({ watch: "watched_id" }),
  Rows.derived("watched_ends", "text", ({ runEnd }) => runEnd?.on.join(" ")),
  ...Rows.columns("json")<Row>("cron", "version", "runEnd", {
    values: "input_values",
    inbound: "webhook",
    webhook: "run_webhook",
  }),
  ...Rows.columns("bool")<Row>("enabled"),
  ...Rows.int4s<Row>("everySeconds", "jitterSeconds"),
  ...Rows.int8s<Row>("startAt", "endAt", "updatedAt", "nextAt", "waitingAt", "dueAt"),
]

/** What became of its times. */
const facts: Table<Pick<Schedule, "lastAt" | "lastRunId" | "lastMissedAt" | "lastError">> = [
  ...Rows.int8s<Pick<Schedule, "lastAt" | "lastMissedAt">>("lastAt", "lastMissedAt"),
  ...Rows.texts<Pick<Schedule, "lastRunId">>("lastRunId"),
  ...Rows.columns("json")<Pick<Schedule, "lastError">>("lastError"),
] as Table<Pick<Schedule, "lastAt" | "lastRunId" | "lastMissedAt" | "lastError">>

const columns: Table<Row> = [
  ...Rows.texts<Row>("id", "accountId", "workflowId", "type"),
  ...settings,
  ...(facts as ReadonlyArray<Table<Row>[number]>),
  ...Rows.int8s<Row>("createdAt", "missed"),
  ...Rows.int4s<Row>("fence"),
]

const advances: Table<TriggerAdvance> = [
  ...Rows.texts<TriggerAdvance>("id"),
  ...(facts as ReadonlyArray<Table<TriggerAdvance>[number]>),
  ...Rows.int8s<TriggerAdvance>("nextAt", "waitingAt", "dueAt", "missed"),
  ...Rows.int4s<TriggerAdvance>("fence"),
]

const triggerObject = Rows.object(columns, "t")

/** The trigger of a {@link TriggerKey}. */
const isThis = `t.id = $1 AND ${Rows.isOf("t.account_id", "$2")}
  AND ${Rows.isOf("t.workflow_id", "$3")}`

const keyOf = ({ accountId, id, workflowId }: TriggerKey) => [
  Rows.text(id),
  accountId,
  Rows.text(workflowId),
]

/** Whoever makes triggers of a workflow waits for others who do. */
const lockStatement = `SELECT id AS value FROM workflows
  WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} FOR NO KEY UPDATE`

/** The workflow that a trigger watches stays until the trigger is stored. */
const watchedStatement = `SELECT id AS value FROM workflows
  WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} FOR KEY SHARE`

const countStatement = `SELECT count(*)::int AS value FROM triggers WHERE workflow_id = $1`

const insertStatement = Rows.insert("triggers", columns)

const replaceStatement = `
WITH replaced AS (UPDATE triggers t SET fence = t.fence + 1,
  ${settings.map(({ name }) => `${name} = n.${name}`).join(", ")}
FROM ${Rows.source(settings, "n", 5)}
WHERE ${isThis} AND t.fence = $4 RETURNING t.id, t.enabled
), gone AS (SELECT id FROM replaced WHERE NOT enabled), ${WaitingEnds.removedEnds}
SELECT id AS value FROM replaced`

const removeStatement = `
WITH gone AS (DELETE FROM triggers t WHERE ${isThis} RETURNING t.id), ${WaitingEnds.removedEnds}
SELECT id AS value FROM gone`

const findStatement = `SELECT ${triggerObject} AS value FROM triggers t WHERE ${isThis}`

const addressStatement = `SELECT ${triggerObject} AS value FROM triggers t
  WHERE t.address_hash = $1 AND t.enabled AND ${TriggerPauses.isNotPaused("t.account_id")}`

const testAddressStatement = `SELECT ${triggerObject} AS value FROM triggers t
  WHERE ${WebhookTests.hasAddress}`

const listStatement = `SELECT ${triggerObject} AS value FROM triggers t
  WHERE t.workflow_id = $1 AND ${Rows.isOf("t.account_id", "$2")} ORDER BY t.created_at, t.id`

const now = millisOf("statement_timestamp()")

const claimStatement = `
WITH chosen AS MATERIALIZED (
  SELECT id, due_at FROM triggers
  WHERE due_at <= ${now} ORDER BY due_at, id LIMIT $1::int8 FOR UPDATE SKIP LOCKED
), taken AS (
  UPDATE triggers t SET due_at = ${now} + $2::int8, fence = t.fence + 1
  FROM chosen c WHERE t.id = c.id RETURNING t.*, c.due_at AS was_due_at
), ${WaitingEnds.claimed}
SELECT json_build_object('now', ${now},
  'triggers', (SELECT coalesce(json_agg(${triggerObject} ORDER BY t.was_due_at, t.id), '[]')
    FROM taken t),
  'ends', ${WaitingEnds.taken(triggerObject)},
  'pauses', ${TriggerPauses.ofClaimed},
  'nextDueAt', least(${WaitingEnds.nextDueAt},
    (SELECT due_at FROM triggers WHERE due_at > ${now} ORDER BY due_at LIMIT 1))
) AS value`

const kept = (name: string) => `${name} = coalesce(n.${name}, t.${name})`

const advanced = `UPDATE triggers t SET fence = t.fence + 1, next_at = n.next_at,
  waiting_at = n.waiting_at, due_at = n.due_at,
  missed = t.missed + n.missed, ${facts.map(({ name }) => kept(name)).join(", ")}
FROM ${Rows.source(advances, "n", 1)}
WHERE t.id = n.id AND t.fence = n.fence`

/** An advance with a delivery. */
type Told = TriggerAdvance & { readonly delivery: Delivery }

/** The deliveries of advances, each with the trigger that it needs to be advanced. */
const told: Table<Told> = [
  Rows.derived("trigger_id", "text", ({ id }) => id),
  ...DeliveryRows.deliveries.map((column) => ({
    ...column,
    of: ({ delivery }: Told) => column.of(delivery),
  })),
]

const toldStatement = `
WITH advanced AS (${advanced} RETURNING t.id), sent AS (
  INSERT INTO deliveries (${Rows.names(DeliveryRows.deliveries)})
  SELECT ${Rows.names(DeliveryRows.deliveries, "d")}
  FROM ${Rows.source(told, "d", advances.length + 1)} JOIN advanced a ON a.id = d.trigger_id
  RETURNING ${sentColumns}
), ${queued}
SELECT FROM sent`

const advance = (sql: SqlClient, given: ReadonlyArray<TriggerAdvance>) => {
  const rows = Rows.parameters(advances, given)
  const withDelivery = given.filter((each): each is Told => each.delivery !== undefined)
  return withDelivery.length === 0
    ? sql.unsafe(advanced, rows)
    : sql.unsafe(toldStatement, [...rows, ...Rows.parameters(told, withDelivery)])
}

const insert = Effect.fnUntraced(function* (sql: SqlClient, trigger: Trigger) {
  const { accountId, workflowId } = trigger
  const workflow = [Rows.text(workflowId), accountId]
  if (Option.isNone(yield* optional<string>(sql, lockStatement, workflow))) return false
  if (trigger.type === "run_end") {
    const watched = [Rows.text(trigger.watch), accountId]
    if (Option.isNone(yield* optional<string>(sql, watchedStatement, watched))) return false
  }
  const [count = 0] = yield* values<number>(sql, countStatement, [Rows.text(workflowId)])
  if (count >= triggersPerWorkflow) {
    return yield* new TooManyTriggers({ limit: triggersPerWorkflow })
  }
  yield* sql.unsafe(insertStatement, Rows.parameters(columns, [rowOf(trigger)]))
  return true
})

const isThere = Effect.map(Option.isSome<string>)

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const tests = WebhookTests.make(sql)
  return databasePort<TriggerStore["Service"]>("TriggerStore", {
    insert: (trigger) => sql.withTransaction(insert(sql, trigger)),
    replace: (trigger) => {
      const row = Rows.parameters(settings, [rowOf(trigger)])
      return isThere(
        optional<string>(sql, replaceStatement, [...keyOf(trigger), trigger.fence, ...row]),
      )
    },
    remove: (key) => isThere(optional<string>(sql, removeStatement, keyOf(key))),
    find: (key) => Effect.map(optional<Row>(sql, findStatement, keyOf(key)), Option.map(triggerOf)),
    findByAddress: (addressHash) =>
      Effect.map(
        optional<Row>(sql, addressStatement, [addressHash]),
        Option.map((row) => triggerOf(row) as InboundWebhook),
      ),
    list: (account, workflowId) =>
      Effect.map(values<Row>(sql, listStatement, [Rows.text(workflowId), account]), (rows) =>
        rows.map(triggerOf),
      ),
    claimDue: ({ leaseMillis, limit }) =>
      Effect.map(
        values<ClaimedTriggers>(sql, claimStatement, [limit, leaseMillis]),
        ([claimed]) => ({
          ...claimed!,
          triggers: claimed!.triggers.map((row) => triggerOf(row as unknown as Row) as Schedule),
          ends: claimed!.ends.map(({ trigger, ...end }) => ({
            ...end,
            trigger:
              trigger === null ? null : (triggerOf(trigger as unknown as Row) as RunEndTrigger),
          })),
        }),
      ),
    advance: (given) => Effect.asVoid(advance(sql, given)),
    beginTest: (key, addressHash, millis) => tests.begin(keyOf(key), addressHash, millis),
    endTest: (key) => tests.end(keyOf(key)),
    findTest: (key) => tests.find(keyOf(key)),
    findByTestAddress: (addressHash) =>
      Effect.map(
        optional<Row>(sql, testAddressStatement, [addressHash]),
        Option.map((row) => triggerOf(row) as InboundWebhook),
      ),
    noteRequest: tests.noteRequest,
    ...TriggerPauses.make(sql),
    finish: (given) =>
      Effect.asVoid(sql.unsafe(WaitingEnds.finish, Rows.parameters(WaitingEnds.finished, given))),
  })
})

/** The store of triggers over an existing client. The tables must exist. */
export const layer: Layer.Layer<TriggerStore, never, SqlClient> = Layer.effect(TriggerStore, make)
