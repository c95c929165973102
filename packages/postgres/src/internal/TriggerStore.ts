/**
 * The store of triggers on Postgres, by the database's clock.
 *
 * Guarantees: a claim and an advance are one statement each, whatever their number. Two claims skip
 * each other's triggers. A claim reads the triggers that are due, and of the others one. Leaves
 * out: which times a trigger has.
 */
import { triggersPerWorkflow } from "@millrace/core/domain/Limits"
import type { Trigger } from "@millrace/core/domain/Trigger"
import type { ClaimedTriggers, TriggerAdvance, TriggerKey } from "@millrace/core/ports/TriggerStore"
import { TooManyTriggers, TriggerStore } from "@millrace/core/ports/TriggerStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import { databasePort } from "./DatabaseError.ts"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"
import { optional, values } from "./Statements.ts"

/** What the owner of a trigger sets, and when it is due. */
const settings: Table<Trigger> = [
  ...Rows.texts<Trigger>("timezone", "catchUp", "overlap"),
  ...Rows.columns("json")<Trigger>("cron", { values: "input_values" }),
  ...Rows.columns("bool")<Trigger>("enabled"),
  ...Rows.int4s<Trigger>("everySeconds", "jitterSeconds"),
  ...Rows.int8s<Trigger>("startAt", "endAt", "updatedAt", "nextAt", "dueAt"),
]

/** What became of its times. */
const facts: Table<Pick<Trigger, "lastAt" | "lastRunId" | "lastMissedAt" | "lastError">> = [
  ...Rows.int8s<Pick<Trigger, "lastAt" | "lastMissedAt">>("lastAt", "lastMissedAt"),
  ...Rows.texts<Pick<Trigger, "lastRunId">>("lastRunId"),
  ...Rows.columns("json")<Pick<Trigger, "lastError">>("lastError"),
] as Table<Pick<Trigger, "lastAt" | "lastRunId" | "lastMissedAt" | "lastError">>

const columns: Table<Trigger> = [
  ...Rows.texts<Trigger>("id", "accountId", "workflowId", "type"),
  ...settings,
  ...(facts as ReadonlyArray<Table<Trigger>[number]>),
  ...Rows.int8s<Trigger>("createdAt", "missed"),
  ...Rows.int4s<Trigger>("fence"),
]

const advances: Table<TriggerAdvance> = [
  ...Rows.texts<TriggerAdvance>("id"),
  ...(facts as ReadonlyArray<Table<TriggerAdvance>[number]>),
  ...Rows.int8s<TriggerAdvance>("nextAt", "dueAt", "missed"),
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

const countStatement = `SELECT count(*)::int AS value FROM triggers WHERE workflow_id = $1`

const insertStatement = Rows.insert("triggers", columns)

const replaceStatement = `
UPDATE triggers t SET fence = t.fence + 1,
  ${settings.map(({ name }) => `${name} = n.${name}`).join(", ")}
FROM ${Rows.source(settings, "n", 5)}
WHERE ${isThis} AND t.fence = $4 RETURNING t.id AS value`

const removeStatement = `DELETE FROM triggers t WHERE ${isThis} RETURNING t.id AS value`

const findStatement = `SELECT ${triggerObject} AS value FROM triggers t WHERE ${isThis}`

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
)
SELECT json_build_object('now', ${now},
  'triggers', (SELECT coalesce(json_agg(${triggerObject} ORDER BY t.was_due_at, t.id), '[]')
    FROM taken t),
  'nextDueAt', (SELECT due_at FROM triggers WHERE due_at > ${now} ORDER BY due_at LIMIT 1)
) AS value`

const kept = (name: string) => `${name} = coalesce(n.${name}, t.${name})`

const advanceStatement = `
UPDATE triggers t SET fence = t.fence + 1, next_at = n.next_at, due_at = n.due_at,
  missed = t.missed + n.missed, ${facts.map(({ name }) => kept(name)).join(", ")}
FROM ${Rows.source(advances, "n", 1)}
WHERE t.id = n.id AND t.fence = n.fence`

const insert = Effect.fnUntraced(function* (sql: SqlClient, trigger: Trigger) {
  const { accountId, workflowId } = trigger
  const workflow = [Rows.text(workflowId), accountId]
  if (Option.isNone(yield* optional<string>(sql, lockStatement, workflow))) return false
  const [count = 0] = yield* values<number>(sql, countStatement, [Rows.text(workflowId)])
  if (count >= triggersPerWorkflow) {
    return yield* new TooManyTriggers({ limit: triggersPerWorkflow })
  }
  yield* sql.unsafe(insertStatement, Rows.parameters(columns, [trigger]))
  return true
})

const isThere = Effect.map(Option.isSome<string>)

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  return databasePort<TriggerStore["Service"]>("TriggerStore", {
    insert: (trigger) => sql.withTransaction(insert(sql, trigger)),
    replace: (trigger) => {
      const row = Rows.parameters(settings, [trigger])
      return isThere(
        optional<string>(sql, replaceStatement, [...keyOf(trigger), trigger.fence, ...row]),
      )
    },
    remove: (key) => isThere(optional<string>(sql, removeStatement, keyOf(key))),
    find: (key) => optional<Trigger>(sql, findStatement, keyOf(key)),
    list: (account, workflowId) =>
      values<Trigger>(sql, listStatement, [Rows.text(workflowId), account]),
    claimDue: ({ leaseMillis, limit }) =>
      Effect.map(
        values<ClaimedTriggers>(sql, claimStatement, [limit, leaseMillis]),
        ([claimed]) => claimed!,
      ),
    advance: (given) =>
      Effect.asVoid(sql.unsafe(advanceStatement, Rows.parameters(advances, given))),
  })
})

/** The store of triggers over an existing client. The tables must exist. */
export const layer: Layer.Layer<TriggerStore, never, SqlClient> = Layer.effect(TriggerStore, make)
