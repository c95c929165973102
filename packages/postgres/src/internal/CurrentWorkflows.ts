/**
 * New runs that are only for a workflow as it is stored: the part of the commit's statement that is
 * there when one of its new runs has one.
 *
 * Guarantees: each precondition is looked at once in a statement, in the snapshot that the whole
 * statement sees; so every part of it refuses the same new runs. Nothing is locked: a change that
 * commits while the statement is under way comes after it. Leaves out: what becomes of the refused.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Rows from "./Rows.ts"

/** True for a new run whose workflow has to be stored as the run names it. */
export const hasPrecondition = ({ expected }: RunCommit): boolean =>
  expected._tag === "New" && expected.isCurrent === true

/**
 * What a new run requires, as text: new runs that say the same are refused together or not at all.
 */
export const preconditionOf = (commit: RunCommit): string | undefined => {
  const { workflowId, workflowRevision } = commit.run
  return hasPrecondition(commit) ? `${workflowId} ${workflowRevision}` : undefined
}

/** The runs that demand it, whose they are, and which workflow they name. */
export const preconditions: Rows.Table<Run> = [
  ...Rows.texts<Run>({ id: "run_id", accountId: "account_id", workflowId: "workflow_id" }),
  ...Rows.int4s<Run>({ workflowRevision: "workflow_revision" }),
]

// A subquery that gives one value is looked up by key.
/** Those of the preconditions in `source`, of alias `d`, that are not met. */
export const outdated = (source: string): string => `outdated AS MATERIALIZED (
  SELECT d.run_id FROM ${source}
  WHERE d.workflow_revision IS DISTINCT FROM (
    SELECT w.revision FROM workflows w
    WHERE w.id = d.workflow_id AND ${Rows.isOf("w.account_id", "d.account_id")}
  )
)`

/** The condition that the run of this identifier demands nothing that is not met. */
export const isMet = (id: string): string => `${id} NOT IN (SELECT run_id FROM outdated)`
