/**
 * The workflow store on Postgres.
 *
 * Guarantees: every method is one statement. Leaves out: any rule about what is stored.
 */
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import type { Replaced, WorkflowQuery } from "@millrace/core/ports/WorkflowStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { orStorageError } from "./Failure.ts"
import * as Listing from "./Listing.ts"
import * as Rows from "./Rows.ts"

const kept = new Set(["id", "account_id", "created_at"])

const insertStatement = `
INSERT INTO workflows (${Rows.names(Rows.workflows)})
SELECT ${Rows.names(Rows.workflows)} FROM ${Rows.source(Rows.workflows, "w", 1)}`

const replaceStatement = `
UPDATE workflows w
SET ${Rows.workflows
  .filter(({ name }) => !kept.has(name))
  .map(({ name }) => `${name} = n.${name}`)
  .join(", ")}
FROM ${Rows.source(Rows.workflows, "n", 4)}
WHERE w.id = $1 AND w.account_id = $2 AND w.revision = $3
RETURNING w.id`

const find = (sql: SqlClient, account: AccountId, id: WorkflowId) =>
  Effect.map(
    sql<{ readonly workflow: Workflow }>`
      SELECT ${sql.literal(Rows.object(Rows.workflows, "w"))} AS workflow
      FROM workflows w WHERE w.id = ${Rows.text(id)} AND w.account_id = ${account}`,
    (rows) => Option.fromUndefinedOr(rows[0]?.workflow),
  )

const insert = (sql: SqlClient, workflow: Workflow) =>
  Effect.suspend(() =>
    Effect.asVoid(sql.unsafe(insertStatement, Rows.parameters(Rows.workflows, [workflow]))),
  )

const replace = (sql: SqlClient, workflow: Workflow, expectedRevision: number) =>
  Effect.suspend(() =>
    sql.unsafe(replaceStatement, [
      Rows.text(workflow.id),
      workflow.accountId,
      expectedRevision,
      ...Rows.parameters(Rows.workflows, [workflow]),
    ]),
  ).pipe(Effect.map((rows): Replaced => (rows.length === 1 ? "replaced" : "conflict")))

const remove = (sql: SqlClient, account: AccountId, id: WorkflowId) =>
  Effect.map(
    sql`DELETE FROM workflows WHERE id = ${Rows.text(id)} AND account_id = ${account} RETURNING id`,
    (rows) => rows.length === 1,
  )

const list = (sql: SqlClient, query: WorkflowQuery) => {
  const conditions = Listing.conditions(sql, query)
  if (query.search !== undefined) {
    conditions.push(sql`strpos(name_folded, ${Rows.folded(query.search)}) > 0`)
  }
  return Effect.map(
    sql<{ readonly workflow: WorkflowSummary }>`
      SELECT ${sql.literal(Rows.object(Rows.workflowSummaries, "w"))} AS workflow
      FROM workflows w WHERE ${sql.and(conditions)} ${Listing.slice(sql, query)}`,
    (rows) =>
      fromOverfetch(
        rows.map(({ workflow }) => workflow),
        query.limit,
      ),
  )
}

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  return WorkflowStore.of({
    find: (account, id) => orStorageError("WorkflowStore.find")(find(sql, account, id)),
    insert: (workflow) => orStorageError("WorkflowStore.insert")(insert(sql, workflow)),
    replace: (workflow, expectedRevision) =>
      orStorageError("WorkflowStore.replace")(replace(sql, workflow, expectedRevision)),
    remove: (account, id) => orStorageError("WorkflowStore.remove")(remove(sql, account, id)),
    list: (query) => orStorageError("WorkflowStore.list")(list(sql, query)),
  })
})

/** The workflow store over an existing client; the tables must be there. */
export const layer: Layer.Layer<WorkflowStore, never, SqlClient> = Layer.effect(WorkflowStore, make)
