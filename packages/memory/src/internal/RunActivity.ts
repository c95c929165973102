/**
 * What has become of the runs of workflows lately, in memory.
 *
 * Guarantees: pure. Leaves out: whose runs they are.
 */
import type { WorkflowId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { ActivityQuery, WorkflowActivity } from "@millrace/core/ports/RunStore"

/** The activity of workflows, from the account's runs, oldest first. */
export const activityOf = (
  runs: ReadonlyArray<{ readonly run: Run }>,
  { failuresRead, since, workflowIds }: ActivityQuery,
): ReadonlyMap<WorkflowId, WorkflowActivity> => {
  const wanted = new Set(workflowIds)
  const found = new Map<WorkflowId, WorkflowActivity>()
  let failures = 0
  for (const { run } of runs.toReversed()) {
    const isCounted = run.createdAt >= since
    const isFailure = isCounted && run.status === "FAILED" && ++failures <= failuresRead
    if (!wanted.has(run.workflowId)) continue
    const known = found.get(run.workflowId) ?? { lastRun: run, runs: 0, failed: 0 }
    found.set(run.workflowId, {
      lastRun: known.lastRun.mode === "item" ? run : known.lastRun,
      runs: known.runs + (isCounted ? 1 : 0),
      failed: known.failed + (isFailure ? 1 : 0),
    })
  }
  return found
}
