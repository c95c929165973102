/**
 * The published versions of workflows.
 *
 * Guarantees: the drawing of a version is that of the draft, character by character. Leaves out:
 * removing versions with their workflow, which a foreign key does.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type {
  VersionHead,
  VersionList,
  WorkflowVersion,
} from "@millrace/core/domain/WorkflowVersion"
import { workflowOf } from "@millrace/core/domain/WorkflowVersion"
import type { Publication, Published } from "@millrace/core/ports/WorkflowStore"
import type { Connection } from "./SqliteConnection.ts"
import * as WorkflowRows from "./WorkflowRows.ts"

interface Standing {
  readonly published: number | null
}

interface Row {
  readonly head: string
  readonly content: string
}

const standingStatement = `SELECT published FROM workflows WHERE id = ? AND account_id = ?`

const standingOf = (db: Connection, account: AccountId, id: WorkflowId) =>
  db.query<Standing>(standingStatement, id, account).first()

const headOf = ({ head }: Pick<Row, "head">) => JSON.parse(head) as VersionHead

/** A version of the account's workflow. */
export const find = (
  db: Connection,
  account: AccountId,
  id: WorkflowId,
  number: number,
): WorkflowVersion | undefined => {
  if (standingOf(db, account, id) === undefined) return undefined
  const row = db
    .query<Row>(
      `SELECT head, content FROM workflow_versions WHERE workflow_id = ? AND number = ?`,
      id,
      number,
    )
    .first()
  if (row === undefined) return undefined
  return {
    ...headOf(row),
    ...(JSON.parse(row.content) as Omit<WorkflowVersion, keyof VersionHead>),
  }
}

/** What a start takes that asks for nothing else. */
export const current = (
  db: Connection,
  account: AccountId,
  id: WorkflowId,
): Workflow | undefined => {
  const published = standingOf(db, account, id)?.published ?? null
  if (published === null) return WorkflowRows.find(db, account, id)
  return workflowOf(find(db, account, id, published)!)
}

const add = (db: Connection, workflow: Workflow, publication: Publication): void => {
  const { account: accountId, id: workflowId, note, number, publishedAt } = publication
  const { description, edges, name, nodes, revision, settings, thumbnailUrl } = workflow
  const head: VersionHead = { workflowId, accountId, number, revision, note, publishedAt }
  const content = { name, description, thumbnailUrl, nodes, edges, settings }
  db.run(
    `INSERT INTO workflow_versions (workflow_id, number, head, content) VALUES (?, ?, ?, ?)`,
    workflowId,
    number,
    JSON.stringify(head),
    JSON.stringify(content),
  )
  db.run(
    `DELETE FROM workflow_versions WHERE workflow_id = ? AND number <= ?`,
    workflowId,
    number - publication.mostVersions,
  )
}

const newestOf = (db: Connection, id: WorkflowId): number =>
  db
    .query<{ readonly number: number | null }>(
      `SELECT max(number) AS number FROM workflow_versions WHERE workflow_id = ?`,
      id,
    )
    .first()?.number ?? 0

/** Publishes the draft, if it and the newest version are as expected. */
export const publish = (db: Connection, publication: Publication): Published => {
  const { account, expectedRevision, id, number } = publication
  const workflow = WorkflowRows.find(db, account, id)
  if (workflow?.revision !== expectedRevision) return "conflict"
  const newest = newestOf(db, id)
  if (number < 1 || (number !== newest && number !== newest + 1)) return "conflict"
  if (number > newest) add(db, workflow, publication)
  db.run(`UPDATE workflows SET published = ? WHERE id = ?`, number, id)
  return "published"
}

/** From now on, starts take the draft. */
export const unpublish = (db: Connection, account: AccountId, id: WorkflowId): boolean =>
  db.run(`UPDATE workflows SET published = NULL WHERE id = ? AND account_id = ?`, id, account) > 0

/** The versions of the account's workflow, the newest first. */
export const list = (
  db: Connection,
  account: AccountId,
  id: WorkflowId,
): VersionList | undefined => {
  const standing = standingOf(db, account, id)
  if (standing === undefined) return undefined
  const items = db
    .query<Pick<Row, "head">>(
      `SELECT head FROM workflow_versions WHERE workflow_id = ? ORDER BY number DESC`,
      id,
    )
    .all()
    .map(headOf)
  return { published: standing.published, items }
}
