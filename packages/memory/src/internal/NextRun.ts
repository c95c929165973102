/**
 * What a commit makes of the row of a run.
 */
import type { Run } from "@millrace/core/domain/Run"

/** The run after a commit. The commit cannot change the fields that are taken from `run`. */
export const advance = (run: Run, next: Run, clearsLosses: boolean): Run => ({
  ...run,
  status: next.status,
  startedAt: next.startedAt,
  finishedAt: next.finishedAt,
  error: next.error,
  output: next.output,
  largeValues: next.largeValues,
  heldCredits: next.heldCredits,
  actualCredits: next.actualCredits,
  childCredits: next.childCredits,
  nodeRunCount: next.nodeRunCount,
  attempts: next.attempts,
  active: next.active,
  waiting: next.waiting,
  dueAt: next.dueAt,
  owner: next.dueAt === null ? run.owner : null,
  losses: clearsLosses ? [] : run.losses,
  sequence: next.sequence,
  revision: next.revision,
})
