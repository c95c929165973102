// A schedule of every ten minutes, for tests that move it by hand.
import { AccountId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { neverStarted } from "@millrace/core/domain/TriggerFacts"

export const minute = 60_000

export const scheduleWith = (fields: Partial<Schedule> = {}): Schedule => ({
  ...neverStarted,
  id: TriggerId.make("trg_0199d2c8-7e1f-7c3a-9d42-3f5b8a6e1c07"),
  accountId: AccountId.make("acc_1"),
  workflowId: WorkflowId.make("wf_1"),
  type: "schedule",
  cron: null,
  everySeconds: 600,
  timezone: "UTC",
  startAt: null,
  endAt: null,
  values: {},
  version: null,
  enabled: true,
  catchUp: "none",
  overlap: "allow",
  jitterSeconds: 0,
  webhook: null,
  createdAt: 0,
  updatedAt: 0,
  nextAt: 10 * minute,
  waitingAt: null,
  dueAt: 10 * minute,
  ...fields,
})
