/**
 * Usage on Postgres. One statement reads the runs once and sums them by day, workflow and key.
 *
 * Guarantees: it reads only the account's runs that were created in the period. Leaves out: which
 * sums are shown; the domain decides that.
 */
import type { KeyId, WorkflowId } from "@millrace/core/domain/Id"
import type { Usage, UsageQuery, UsageSums } from "@millrace/core/domain/Usage"
import { dayMillis } from "@millrace/core/domain/Timestamp"
import { dearest } from "@millrace/core/domain/Usage"
import { PgTypes } from "@effect/sql-pg"
import { Effect, Struct } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "./Rows.ts"

const day = `created_at / ${dayMillis}`

const sumsStatement = `
  SELECT CASE WHEN grouping(${day}) = 0 THEN 'day'
      WHEN grouping(workflow_id) = 0 THEN 'workflow' ELSE 'key' END AS by,
    (${day} * ${dayMillis})::float8 AS day, workflow_id AS "workflowId", key_id AS "keyId",
    count(*)::float8 AS runs, sum(estimated_credits)::float8 AS "estimatedCredits",
    sum(actual_credits)::float8 AS "actualCredits"
  FROM runs WHERE account_id = $1 AND created_at >= $2::int8 AND created_at < $3::int8
  GROUP BY GROUPING SETS ((${day}), (workflow_id), (key_id))`

const namesStatement = `
  SELECT w.id AS "workflowId", (
    SELECT r.workflow_name FROM runs r
    WHERE r.account_id = $1 AND r.workflow_id = w.id AND r.created_at < $2::int8
    ORDER BY r.created_at DESC, r.id DESC LIMIT 1
  ) AS "workflowName"
  FROM unnest($3::text[]) AS w (id)`

interface SumsRow extends UsageSums {
  readonly by: "day" | "workflow" | "key"
  readonly day: number | null
  readonly workflowId: WorkflowId | null
  readonly keyId: KeyId | null
}

interface NameRow {
  readonly workflowId: WorkflowId
  readonly workflowName: string
}

const sumsOf = (row: UsageSums): UsageSums =>
  Struct.pick(row, ["runs", "estimatedCredits", "actualCredits"])

const namesOf = Effect.fnUntraced(function* (
  sql: SqlClient,
  { account, until }: UsageQuery,
  ids: ReadonlyArray<string>,
): Effect.fn.Return<ReadonlyMap<string, string>, SqlError> {
  const parameters = [Rows.text(account), PgTypes.float8(until), ids]
  const rows = yield* sql.unsafe<NameRow>(namesStatement, parameters)
  return new Map(rows.map(({ workflowId, workflowName }) => [workflowId, workflowName]))
})

/** How many runs there were, and their estimated and actual credits. */
export const usage = Effect.fnUntraced(function* (
  sql: SqlClient,
  query: UsageQuery,
): Effect.fn.Return<Usage, SqlError> {
  const { account, from, until } = query
  const parameters = [Rows.text(account), PgTypes.float8(from), PgTypes.float8(until)]
  const rows = yield* sql.unsafe<SumsRow>(sumsStatement, parameters)
  const by = (part: SumsRow["by"]) => rows.filter((row) => row.by === part)
  const workflows = dearest(by("workflow"), ({ workflowId }) => workflowId)
  const ids = workflows.flatMap(({ workflowId }) => workflowId ?? [])
  const names = yield* namesOf(sql, query, ids)
  return {
    days: by("day")
      .map((row) => ({ day: row.day!, ...sumsOf(row) }))
      .toSorted((a, b) => a.day - b.day),
    workflows: workflows.map((row) => ({
      workflowId: row.workflowId!,
      workflowName: names.get(row.workflowId!) ?? "",
      ...sumsOf(row),
    })),
    keys: dearest(by("key"), ({ keyId }) => keyId).map((row) => ({
      keyId: row.keyId,
      ...sumsOf(row),
    })),
  }
})
