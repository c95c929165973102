/**
 * Which runs a listing has.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunQuery } from "@millrace/core/ports/RunStore"

/** Says of a run of the account whether it is one of those that are asked for. */
export const runFilter = (query: RunQuery): ((run: Run) => boolean) => {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query
  const search = query.search
  const part = search?.toLowerCase() ?? ""
  const found = (run: Run): boolean =>
    search === undefined ||
    run.workflowName.toLowerCase().includes(part) ||
    (run.error !== null && run.error.toLowerCase().includes(part)) ||
    run.id.startsWith(search)
  return (run) =>
    (query.workflowId === undefined || run.workflowId === query.workflowId) &&
    (query.status === undefined || run.status === query.status) &&
    (query.source === undefined || run.source === query.source) &&
    (query.triggerId === undefined || run.triggerId === query.triggerId) &&
    (query.parentRunId === undefined || run.parent?.runId === query.parentRunId) &&
    (query.isRoot !== true || run.parent === null) &&
    run.createdAt >= from &&
    run.createdAt < to &&
    found(run)
}
