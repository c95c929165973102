/**
 * Which node types are in use, read from every drawing and every definition of an open run.
 */
import type { OldestVersions, TypeUse } from "@millrace/core/domain/TypeUse"
import { TypeUses } from "@millrace/core/domain/TypeUse"
import type { Workflow } from "@millrace/core/domain/Workflow"
import { definitionOf } from "./RunRecords.ts"
import type { Connection } from "./SqliteConnection.ts"
import * as Workflows from "./WorkflowRows.ts"

const contentStatement = `SELECT content FROM workflow_versions WHERE workflow_id = ?`

const versionsOf = (db: Connection, { id }: Workflow): ReadonlyArray<Pick<Workflow, "nodes">> =>
  db
    .query<{ readonly content: string }>(contentStatement, id)
    .all()
    .map(({ content }) => JSON.parse(content) as Pick<Workflow, "nodes">)

interface Open {
  readonly definition: string
  readonly runs: number
}

const openStatement = `SELECT definition_id AS definition, count(*) AS runs FROM runs
  WHERE status IN ('QUEUED', 'RUNNING') GROUP BY 1`

/** Where nodes of each version of each type are, in all accounts. */
export const typesInUse = (db: Connection, oldest: OldestVersions): ReadonlyArray<TypeUse> => {
  const uses = new TypeUses(oldest)
  for (const workflow of Workflows.stored(db)) uses.addWorkflow(workflow, versionsOf(db, workflow))
  for (const { definition, runs } of db.query<Open>(openStatement).all()) {
    uses.addRuns(definitionOf(db, definition), runs)
  }
  return uses.all()
}
