/**
 * Usage on Postgres: the sums of whole days, what was added since, and the runs of days that the
 * query cuts.
 *
 * Guarantees: one statement reads all of them, so it counts each run once. It reads a row for each
 * day and workflow, and for each day and key, however many runs there are. Leaves out: which sums
 * are shown; the domain decides that.
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

const days = "account_id = $1 AND day >= $2::int8 AND day < $3::int8"

type By = "day" | "workflow" | "key"

/** Which parts of a query a statement has. */
interface Shape {
  /** The query has only a part of its first or last day, whose runs are read. */
  readonly isCut: boolean
  /** The query is about some workflows. */
  readonly isSome: boolean
}

/** Sums by one thing. Days are added up from those of keys, which are few, if of all workflows. */
const sumsBy = (by: By, { isCut, isSome }: Shape): string => {
  const part = by === "workflow" || isSome ? "workflow" : "key"
  const some = (id: string) => (isSome ? `AND ${id} = ANY ($${isCut ? 8 : 4}::text[])` : "")
  const columns = (id: string, runs: string) => `${id}, ${runs}, estimated_credits, actual_credits`
  const ofRuns = `
    UNION ALL
    SELECT created_at / ${dayMillis}, ${columns(`coalesce(${part}_id, '')`, "1")} FROM runs
    WHERE account_id = $1 AND (created_at >= $4::int8 AND created_at < $5::int8
      OR created_at >= $6::int8 AND created_at < $7::int8) ${some("workflow_id")}`
  return `
  SELECT '${by}' AS by, ${by === "day" ? `(day * ${dayMillis})::float8` : "NULL::float8"} AS day,
    ${by === "day" ? "NULL" : "id"} AS id, sum(runs)::float8 AS runs,
    sum(estimated_credits)::float8 AS "estimatedCredits",
    sum(actual_credits)::float8 AS "actualCredits"
  FROM (
    SELECT day, ${columns("id", "runs")} FROM usage_sums
    WHERE part = '${part}' AND ${days} ${some("id")}
    UNION ALL
    SELECT day, ${columns(`${part}_id`, "runs")} FROM usage_changes
    WHERE ${days} ${some("workflow_id")}
    ${isCut ? ofRuns : ""}
  ) AS u (day, id, runs, estimated_credits, actual_credits)
  GROUP BY ${by === "day" ? "day" : "id"}`
}

/** All sums. Those of some workflows leave out keys. */
const sumsStatement = (shape: Shape): string =>
  [
    sumsBy("day", shape),
    sumsBy("workflow", shape),
    ...(shape.isSome ? [] : [sumsBy("key", shape)]),
  ].join(" UNION ALL ")

const namesStatement = `
  SELECT w.id AS "workflowId", (
    SELECT r.workflow_name FROM runs r
    WHERE r.account_id = $1 AND r.workflow_id = w.id AND r.created_at < $2::int8
    ORDER BY r.created_at DESC, r.id DESC LIMIT 1
  ) AS "workflowName"
  FROM unnest($3::text[]) AS w (id)`

interface SumsRow extends UsageSums {
  readonly by: By
  readonly day: number | null
  readonly id: string | null
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

const readSums = (sql: SqlClient, { account, from, until, workflows }: UsageQuery) => {
  const [first, last] = [Math.ceil(from / dayMillis), Math.floor(until / dayMillis)]
  const whole = [Rows.text(account), PgTypes.float8(first), PgTypes.float8(last)]
  const isSome = workflows !== undefined
  const some = isSome ? [workflows] : []
  if (first * dayMillis === from && last * dayMillis === until) {
    return sql.unsafe<SumsRow>(sumsStatement({ isCut: false, isSome }), [...whole, ...some])
  }
  const cuts =
    first > last ? [from, until, 0, 0] : [from, first * dayMillis, last * dayMillis, until]
  const parameters = [...whole, ...cuts.map((time) => PgTypes.float8(time)), ...some]
  return sql.unsafe<SumsRow>(sumsStatement({ isCut: true, isSome }), parameters)
}

/** How many runs there were, and their estimated and actual credits. */
export const usage = Effect.fnUntraced(function* (
  sql: SqlClient,
  query: UsageQuery,
): Effect.fn.Return<Usage, SqlError> {
  const rows = yield* readSums(sql, query)
  const by = (part: SumsRow["by"]) => rows.filter((row) => row.by === part)
  const workflows = dearest(by("workflow"), ({ id }) => id)
  const ids = workflows.flatMap(({ id }) => id ?? [])
  const names = yield* namesOf(sql, query, ids)
  return {
    days: by("day")
      .map((row) => ({ day: row.day!, ...sumsOf(row) }))
      .toSorted((a, b) => a.day - b.day),
    workflows: workflows.map((row) => ({
      workflowId: row.id as WorkflowId,
      workflowName: names.get(row.id!) ?? "",
      ...sumsOf(row),
    })),
    keys: dearest(by("key"), ({ id }) => (id === "" ? null : id)).map((row) => ({
      keyId: row.id === "" ? null : (row.id as KeyId),
      ...sumsOf(row),
    })),
  }
})
