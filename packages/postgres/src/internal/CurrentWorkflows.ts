/**
 * The precondition that a new run's workflow is stored in the revision that the run names. The
 * commit's statement has this part only if one of its new runs has such a precondition.
 *
 * Guarantees: a statement checks each precondition once, in the snapshot of the whole statement, so
 * all its parts refuse the same new runs. Nothing is locked: a change that commits while the
 * statement runs counts as later. Leaves out: what happens to a refused run.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Rows from "./Rows.ts"

/** True for a new run whose workflow must be stored in the run's revision. */
export const hasPrecondition = ({ expected }: RunCommit): boolean =>
  expected._tag === "New" && expected.isCurrent === true

/** The precondition as text. New runs with the same text are refused together or not at all. */
export const preconditionOf = (commit: RunCommit): string | undefined => {
  const { workflowId, workflowRevision } = commit.run
  return hasPrecondition(commit) ? `${workflowId} ${workflowRevision}` : undefined
}

/** The runs with a precondition, their accounts, and the workflows that they name. */
export const preconditions: Rows.Table<Run> = [
  ...Rows.texts<Run>("accountId", "workflowId", { id: "run_id" }),
  ...Rows.int4s<Run>("workflowRevision"),
]

// Postgres looks up a subquery for one value by its key.
/** The unmet preconditions in `source`, which has the alias `d`. */
export const outdated = (source: string): string => `outdated AS MATERIALIZED (
  SELECT d.run_id FROM ${source}
  WHERE d.workflow_revision IS DISTINCT FROM (
    SELECT w.revision FROM workflows w
    WHERE w.id = d.workflow_id AND ${Rows.isOf("w.account_id", "d.account_id")}
  )
)`

/** The condition that the run with this identifier has no unmet precondition. */
export const isMet = (id: string): string => `${id} NOT IN (SELECT run_id FROM outdated)`
