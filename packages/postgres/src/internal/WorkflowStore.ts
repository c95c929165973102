/**
 * The workflow store on Postgres.
 *
 * Guarantees: every method is one statement. Look-ups that arrive at the same time share a
 * statement. Leaves out: checking workflows.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import type { WorkflowQuery } from "@millrace/core/ports/WorkflowStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { databasePort } from "./DatabaseError.ts"
import * as PageClauses from "./PageClauses.ts"
import * as Rows from "./Rows.ts"
import * as Statements from "./Statements.ts"
import { values } from "./Statements.ts"
import * as WorkflowVersions from "./WorkflowVersions.ts"

const kept = new Set(["id", "account_id", "created_at"])

const insertStatement = Rows.insert("workflows", Rows.workflows)

const replaceStatement = `
UPDATE workflows w
SET ${Rows.workflows
  .filter(({ name }) => !kept.has(name))
  .map(({ name }) => `${name} = n.${name}`)
  .join(", ")}
FROM ${Rows.source(Rows.workflows, "n", 4)}
WHERE w.id = $1 AND ${Rows.isOf("w.account_id", "$2")} AND w.revision = $3
RETURNING w.id`

/** The workflow to look up. */
interface Wanted {
  readonly account: AccountId
  readonly id: WorkflowId
}

/** How many look-ups one statement serves at most. */
const findsPerStatement = 1_000

/** Reads what `value` makes of the row `w2` of each workflow. */
const findStatement = (value: string): string => `
SELECT found.value FROM unnest($1::text[], $2::text[]) AS w (account, id) CROSS JOIN LATERAL (
  SELECT ${value} AS value FROM workflows w2
  WHERE w2.id = w.id AND ${Rows.isOf("w2.account_id", "w.account")} OFFSET 0
) found`

const draftStatement = findStatement(Rows.object(Rows.workflows, "w2"))

const currentStatement = findStatement(WorkflowVersions.currentOf("w2"))

const placeOf = (account: string, id: string): string => `${account}\n${id}`

/** Looks up many workflows in one statement, which reads each once. */
const findAll = (
  sql: SqlClient,
  statement: string,
  wanted: ReadonlyArray<Wanted>,
): Effect.Effect<ReadonlyArray<Option.Option<Workflow>>, SqlError> => {
  const places = wanted.map(({ account, id }) => placeOf(account, Rows.text(id)))
  const unique = new Map(wanted.map((one, index) => [places[index]!, one]))
  const accounts = Array.from(unique.values(), ({ account }) => Rows.text(account))
  const ids = Array.from(unique.values(), ({ id }) => Rows.text(id))
  return Effect.map(values<Workflow>(sql, statement, [accounts, ids]), (workflows) => {
    const found = new Map(workflows.map((one) => [placeOf(one.accountId, one.id), one]))
    return places.map((place) => Option.fromUndefinedOr(found.get(place)))
  })
}

// The drawings are measured before they are sent. OFFSET 0 looks rows up by key.
const findManyStatement = `
WITH sized AS MATERIALIZED (
  SELECT w.*, wanted.place, octet_length(w.nodes::text) + octet_length(w.edges::text) AS bytes
  FROM unnest($1::text[]) WITH ORDINALITY AS wanted (id, place) CROSS JOIN LATERAL (
    SELECT * FROM workflows w
    WHERE w.id = wanted.id AND ${Rows.isOf("w.account_id", "$2")} OFFSET 0
  ) w
), fitting AS (
  SELECT s.*, bytes <= $3::int8 AND
    sum(CASE WHEN bytes <= $3::int8 THEN bytes ELSE 0 END) OVER (ORDER BY place) <= $3::int8 AS fits
  FROM sized s
)
SELECT ${Rows.object(Rows.workflows, "w")} AS value FROM fitting w WHERE fits`

const removeStatement = `
DELETE FROM workflows WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} RETURNING id`

const listed: PageClauses.Source = {
  object: Rows.object(Rows.workflowSummaries, "r"),
  rows: "workflows w",
  row: "SELECT * FROM workflows w WHERE w.id = p.id",
}

const list = (sql: SqlClient, query: WorkflowQuery) => {
  const conditions = PageClauses.conditions(sql, query)
  if (query.search !== undefined) {
    conditions.push(sql`strpos(name_folded, ${Rows.folded(query.search)}) > 0`)
  }
  return PageClauses.page<WorkflowSummary>(sql, listed, conditions, query)
}

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const finding = (statement: string) =>
    Statements.gather<Wanted, Option.Option<Workflow>>(sql, {
      keyOf: () => undefined,
      flush: (wanted) => findAll(sql, statement, wanted),
      maxMembers: findsPerStatement,
    })
  const find = yield* finding(draftStatement)
  const findCurrent = yield* finding(currentStatement)
  return databasePort<WorkflowStore["Service"]>("WorkflowStore", {
    find: (account, id) => find({ account, id }),
    insert: Effect.fnUntraced(function* (workflow) {
      yield* sql.unsafe(insertStatement, Rows.parameters(Rows.workflows, [workflow]))
    }),
    replace: Effect.fnUntraced(function* (workflow, expectedRevision) {
      const rows = yield* sql.unsafe(replaceStatement, [
        Rows.text(workflow.id),
        workflow.accountId,
        expectedRevision,
        ...Rows.parameters(Rows.workflows, [workflow]),
      ])
      return rows.length === 1 ? "replaced" : "conflict"
    }),
    remove: (account, id) =>
      Effect.map(
        sql.unsafe(removeStatement, [Rows.text(id), account]),
        (rows) => rows.length === 1,
      ),
    findMany: (account, ids, mostBytes) =>
      values<Workflow>(sql, findManyStatement, [
        [...new Set(ids.map(Rows.text))],
        account,
        mostBytes,
      ]),
    findCurrent: (account, id) => findCurrent({ account, id }),
    publish: (publication) => WorkflowVersions.publish(sql, publication),
    unpublish: (account, id) => WorkflowVersions.unpublish(sql, account, id),
    findVersion: (account, id, number) => WorkflowVersions.find(sql, account, id, number),
    listVersions: (account, id) => WorkflowVersions.list(sql, account, id),
    list: (query) => list(sql, query),
  })
})

/** The workflow store over an existing client. The tables must exist. */
export const layer: Layer.Layer<WorkflowStore, never, SqlClient> = Layer.effect(WorkflowStore, make)
