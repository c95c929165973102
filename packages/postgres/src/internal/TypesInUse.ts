/**
 * Which node types are in use, counted by the database: it reads every drawing, and every
 * definition of an open run. Operators ask this, and not often.
 */
import { typeUsersListed } from "@millrace/core/domain/Limits"
import type { OldestVersions, TypeUse } from "@millrace/core/domain/TypeUse"
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

/** The version of a node: what it names, or the oldest of its type, of the parameter $1. */
const version = `CASE WHEN json_typeof(n -> 'data' -> 'version') = 'number'
    THEN (n -> 'data' ->> 'version')::numeric ELSE ($1::json ->> (n ->> 'type'))::numeric END`

const statement = `
WITH drawings AS (
  SELECT account_id, id, name, 0 AS number, nodes FROM workflows
  UNION ALL
  SELECT w.account_id, w.id, w.name, v.number, v.nodes
  FROM workflow_versions v JOIN workflows w ON w.id = v.workflow_id
), drawn AS (
  SELECT DISTINCT d.account_id, d.id, d.name, d.number, n ->> 'type' AS type, ${version} AS version
  FROM drawings d CROSS JOIN LATERAL ${Rows.elements("d.nodes")} n
), placed AS (
  SELECT *, dense_rank() OVER (PARTITION BY type, version ORDER BY account_id, id) AS place,
    number = min(number) OVER (PARTITION BY type, version, account_id, id) AS is_first
  FROM drawn
), open AS (
  SELECT r.definition_id AS id, count(*) AS runs
  FROM open_runs o JOIN runs r ON r.number = o.run GROUP BY r.definition_id
), running AS (
  SELECT DISTINCT o.id, o.runs, n ->> 'type' AS type, ${version} AS version
  FROM open o JOIN definitions d ON d.id = o.id CROSS JOIN LATERAL (
    SELECT d.nodes UNION ALL SELECT called.value -> 'nodes'
    FROM json_each(coalesce(${Rows.plainJson("d.settings")} -> 'workflows', '{}')) called
  ) graph (nodes) CROSS JOIN LATERAL ${Rows.elements("graph.nodes")} n
), used AS (
  SELECT type, version, count(*) FILTER (WHERE number = 0) AS drafts,
    count(*) FILTER (WHERE number > 0) AS published, 0 AS runs,
    json_agg(json_build_object('accountId', account_id, 'workflowId', id, 'workflowName', name)
      ORDER BY place) FILTER (WHERE is_first AND place <= ${typeUsersListed}) AS workflows
  FROM placed GROUP BY type, version
  UNION ALL
  SELECT type, version, 0, 0, sum(runs), NULL FROM running GROUP BY type, version
)
SELECT json_build_object('type', type, 'version', version, 'drafts', sum(drafts),
  'published', sum(published), 'openRuns', sum(runs),
  'workflows', coalesce((array_agg(workflows) FILTER (WHERE workflows IS NOT NULL))[1], '[]')
) AS value FROM used GROUP BY type, version`

/** Where nodes of each version of each type are, in all accounts. */
export const typesInUse = (
  sql: SqlClient,
  oldest: OldestVersions,
): Effect.Effect<ReadonlyArray<TypeUse>, SqlError> =>
  values<TypeUse>(sql, statement, [JSON.stringify(oldest)])
