/**
 * Workflows as rows, and the reads of them that other stores need.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import type { Connection } from "./SqliteConnection.ts"

interface Row {
  readonly summary: string
  readonly drawing: string
}

/** The columns of a workflow. */
export const textsOf = ({ edges, nodes, settings, ...head }: Workflow) => {
  const summary: WorkflowSummary = { ...head, nodeCount: nodes.length }
  return { summary: JSON.stringify(summary), drawing: JSON.stringify({ nodes, edges, settings }) }
}

const workflowOf = ({ drawing, summary }: Row): Workflow => {
  const { nodeCount: _, ...head } = JSON.parse(summary) as WorkflowSummary
  return { ...head, ...(JSON.parse(drawing) as Pick<Workflow, "nodes" | "edges" | "settings">) }
}

/** The account's workflow. */
export const find = (db: Connection, account: AccountId, id: WorkflowId): Workflow | undefined => {
  const row = db
    .query<Row>(
      `SELECT summary, drawing FROM workflows WHERE id = ? AND account_id = ?`,
      id,
      account,
    )
    .first()
  return row === undefined ? undefined : workflowOf(row)
}

/** The workflows of all accounts. */
export const stored = (db: Connection): ReadonlyArray<Workflow> =>
  db.query<Row>(`SELECT summary, drawing FROM workflows`).all().map(workflowOf)

/** All workflows of an account, by identifier. */
export const all = (db: Connection, account: AccountId): ReadonlyArray<Workflow> =>
  db
    .query<Row>(`SELECT summary, drawing FROM workflows WHERE account_id = ? ORDER BY id`, account)
    .all()
    .map(workflowOf)
