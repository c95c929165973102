/**
 * The published versions of workflows on Postgres.
 *
 * Guarantees: a publication is decided on the locked row of its workflow, so of two at once only
 * one makes the next version. Leaves out: removing versions with their workflow, which a foreign
 * key does.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type {
  VersionHead,
  VersionList,
  WorkflowVersion,
} from "@millrace/core/domain/WorkflowVersion"
import type { Publication, Published } from "@millrace/core/ports/WorkflowStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Rows from "./Rows.ts"
import { optional } from "./Statements.ts"

const heads: Rows.Table<VersionHead> = [
  ...Rows.texts<VersionHead>("workflowId", "accountId", "note"),
  ...Rows.int4s<VersionHead>("number", "revision"),
  ...Rows.int8s<VersionHead>("publishedAt"),
]

const versions: Rows.Table<WorkflowVersion> = [
  ...heads,
  ...Rows.texts<WorkflowVersion>("name", "description", "thumbnailUrl"),
  ...Rows.jsons<WorkflowVersion>("nodes", "edges", "settings"),
]

/** A version as `workflowOf` makes it a workflow. */
const startable: Rows.Table<Workflow> = [
  ...Rows.texts<Workflow>("accountId", "name", "description", "thumbnailUrl"),
  ...Rows.texts<Workflow>({ id: "workflow_id" }),
  ...Rows.int4s<Workflow>("revision", { version: "number" }),
  ...Rows.int8s<Workflow>({ createdAt: "published_at", updatedAt: "published_at" }),
  ...Rows.jsons<Workflow>("nodes", "edges", "settings"),
]

/** What a start takes of the row `w` of a workflow, if it asks for nothing else. */
export const currentOf = (w: string): string => `CASE WHEN ${w}.published IS NULL
  THEN ${Rows.object(Rows.workflows, w)}
  ELSE (SELECT ${Rows.object(startable, "v")} FROM workflow_versions v
    WHERE v.workflow_id = ${w}.id AND v.number = ${w}.published) END`

// The update waits for other publications, and goes on with what they have made of the row.
const publishStatement = `
WITH draft AS (
  UPDATE workflows SET published = $4::int4, newest_version = $4::int4
  WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} AND revision = $3
    AND $4::int4 IN (newest_version, newest_version + 1) AND $4::int4 > 0
  RETURNING *
), made AS (
  INSERT INTO workflow_versions (workflow_id, number, note, published_at, account_id, revision,
    name, description, thumbnail_url, nodes, edges, settings)
  SELECT id, published, $5::text, $6::int8, account_id, revision,
    name, description, thumbnail_url, nodes, edges, settings FROM draft
  ON CONFLICT (workflow_id, number) DO NOTHING
), forgotten AS (
  DELETE FROM workflow_versions v USING draft
  WHERE v.workflow_id = draft.id AND v.number <= $4::int4 - $7::int4
)
SELECT id FROM draft`

export const publish = (
  sql: SqlClient,
  publication: Publication,
): Effect.Effect<Published, SqlError> => {
  const { account, expectedRevision, id, mostVersions, note, number, publishedAt } = publication
  const said = note === null ? null : Rows.text(note)
  return Effect.map(
    sql.unsafe(publishStatement, [
      Rows.text(id),
      account,
      expectedRevision,
      number,
      said,
      publishedAt,
      mostVersions,
    ]),
    (rows) => (rows.length === 1 ? "published" : "conflict"),
  )
}

const unpublishStatement = `
UPDATE workflows SET published = NULL WHERE id = $1 AND ${Rows.isOf("account_id", "$2")}
RETURNING id`

export const unpublish = (sql: SqlClient, account: AccountId, id: WorkflowId) =>
  Effect.map(sql.unsafe(unpublishStatement, [Rows.text(id), account]), (rows) => rows.length === 1)

const findStatement = `
SELECT ${Rows.object(versions, "v")} AS value FROM workflow_versions v
WHERE v.workflow_id = $1 AND v.number = $3::int8 AND ${Rows.isOf("v.account_id", "$2")}`

export const find = (sql: SqlClient, account: AccountId, id: WorkflowId, number: number) =>
  optional<WorkflowVersion>(sql, findStatement, [Rows.text(id), account, number])

const listStatement = `
SELECT json_build_object('published', w.published, 'items', coalesce((
  SELECT json_agg(${Rows.object(heads, "v")} ORDER BY v.number DESC) FROM workflow_versions v
  WHERE v.workflow_id = w.id
), '[]'::json)) AS value
FROM workflows w WHERE w.id = $1 AND ${Rows.isOf("w.account_id", "$2")}`

export const list = (sql: SqlClient, account: AccountId, id: WorkflowId) =>
  optional<VersionList>(sql, listStatement, [Rows.text(id), account])
