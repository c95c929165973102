/**
 * What has become of the runs of workflows lately.
 *
 * Guarantees: one statement. Runs are counted by the sums of usage, so it does not matter how many
 * there are; of those that have failed, so many are read as the query says.
 */
import type { WorkflowId } from "@millrace/core/domain/Id"
import { dayMillis } from "@millrace/core/domain/Timestamp"
import type { ActivityQuery, WorkflowActivity } from "@millrace/core/ports/RunStore"
import { PgTypes } from "@effect/sql-pg"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "./Rows.ts"

const statement = `
WITH failed AS MATERIALIZED (
  SELECT workflow_id AS id, count(*)::float8 AS count FROM (
    SELECT workflow_id FROM runs
    WHERE account_id = $1 AND trouble = 'FAILED' AND created_at >= $3::int8
    ORDER BY created_at DESC, id DESC LIMIT $4::int8
  ) f GROUP BY 1
), counted AS MATERIALIZED (
  SELECT id, sum(runs)::float8 AS count FROM (
    SELECT id, runs FROM usage_sums
    WHERE account_id = $1 AND part = 'workflow' AND day >= $5::int8 AND id = ANY($2::text[])
    UNION ALL
    SELECT workflow_id, runs FROM usage_changes
    WHERE account_id = $1 AND day >= $5::int8 AND workflow_id = ANY($2::text[])
  ) u GROUP BY 1
)
SELECT w.id, last.run AS "lastRun", coalesce(c.count, 0) AS runs, coalesce(f.count, 0) AS failed
FROM unnest($2::text[]) AS w (id) CROSS JOIN LATERAL (
  SELECT ${Rows.object(Rows.runs, "r")} AS run FROM (
    SELECT * FROM runs WHERE account_id = $1 AND workflow_id = w.id AND mode <> 'item'
    ORDER BY created_at DESC, id DESC LIMIT 1
  ) r
) last LEFT JOIN counted c ON c.id = w.id LEFT JOIN failed f ON f.id = w.id`

interface Row extends WorkflowActivity {
  readonly id: WorkflowId
}

/** The activity of an account's workflows. */
export const activity = (
  sql: SqlClient,
  { account, failuresRead, since, workflowIds }: ActivityQuery,
): Effect.Effect<ReadonlyMap<WorkflowId, WorkflowActivity>, SqlError> => {
  const ids = [...new Set(workflowIds.map(Rows.text))]
  const [time, day] = [PgTypes.float8(since), PgTypes.float8(Math.floor(since / dayMillis))]
  return Effect.map(
    sql.unsafe<Row>(statement, [account, ids, time, failuresRead, day]),
    (rows) => new Map(Array.from(rows, ({ id, ...rest }) => [id, rest])),
  )
}
