/**
 * The precondition that a start would take what a new run was started from: the published version
 * that it names; or, where none is published, the workflow in the run's revision. The commit's
 * statement has this part only if one of its new runs has such a precondition.
 *
 * Guarantees: a statement checks each precondition once, in the snapshot of the whole statement, so
 * all its parts refuse the same new runs. Nothing is locked: a change that commits while the
 * statement runs counts as later. Leaves out: what happens to a refused run.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Rows from "./Rows.ts"

/** True for a new run of which a start must take the same. */
export const hasPrecondition = ({ expected }: RunCommit): boolean =>
  expected._tag === "New" && expected.isCurrent === true

/** The precondition as text. New runs with the same text are refused together or not at all. */
export const preconditionOf = (commit: RunCommit): string | undefined => {
  const { workflowId, workflowRevision, workflowVersion } = commit.run
  return hasPrecondition(commit)
    ? `${workflowId} ${workflowRevision} ${workflowVersion}`
    : undefined
}

/** The runs with a precondition, their accounts, and the workflows that they name. */
export const preconditions: Rows.Table<Run> = [
  ...Rows.texts<Run>("accountId", "workflowId", { id: "run_id" }),
  ...Rows.int4s<Run>("workflowRevision", "workflowVersion"),
]

// Postgres looks up a subquery for one value by its key.
/** The unmet preconditions in `source`, which has the alias `d`. */
export const outdated = (source: string): string => `outdated AS MATERIALIZED (
  SELECT d.run_id FROM ${source}
  WHERE (
    SELECT w.published IS NOT DISTINCT FROM d.workflow_version
      AND (w.published IS NOT NULL OR w.revision = d.workflow_revision)
    FROM workflows w
    WHERE w.id = d.workflow_id AND ${Rows.isOf("w.account_id", "d.account_id")}
  ) IS NOT TRUE
)`

/** The condition that the run with this identifier has no unmet precondition. */
export const isMet = (id: string): string => `${id} NOT IN (SELECT run_id FROM outdated)`
