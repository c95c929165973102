/**
 * Triggers for the suites of their store.
 */
import type { Vitest } from "@effect/vitest"
import { TriggerId } from "@millrace/core/domain/Id"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { neverStarted } from "@millrace/core/domain/TriggerFacts"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunStore } from "@millrace/core/ports/RunStore"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

/** What the suites of triggers need. */
export type Tests = Vitest.MethodsNonLive<
  TriggerStore | WorkflowStore | RunStore | LedgerStore | WebhookStore
>

/** Milliseconds. */
export const hour = 3_600_000

/** A workflow of an account, and triggers of it. */
export const scene = Effect.gen(function* () {
  const samples = yield* Samples.make
  const store = yield* TriggerStore
  const workflows = yield* WorkflowStore
  const { now } = yield* store.claimDue({ limit: 0, leaseMillis: 0 })
  const workflow = samples.workflow()
  yield* workflows.insert(workflow)
  let count = 0
  const trigger = (fields: Partial<Schedule> = {}): Schedule => ({
    ...neverStarted,
    id: TriggerId.make(`trg_${samples.account}_${String((count += 1)).padStart(4, "0")}`),
    accountId: samples.account,
    workflowId: workflow.id,
    type: "schedule",
    cron: "0 0 * * *",
    everySeconds: null,
    timezone: "Europe/Berlin",
    startAt: null,
    endAt: null,
    values: { text: "a\u0000b", deep: [1, null] },
    version: 3,
    enabled: true,
    catchUp: "none",
    overlap: "allow",
    jitterSeconds: 0,
    webhook: null,
    createdAt: now - hour + count,
    updatedAt: now - hour,
    nextAt: now + hour,
    waitingAt: null,
    dueAt: now + hour,
    ...fields,
  })
  const webhook = (fields: Partial<InboundWebhook> = {}): InboundWebhook => {
    const { accountId, createdAt, fence, id, updatedAt, workflowId } = trigger()
    return {
      id,
      accountId,
      workflowId,
      type: "webhook",
      methods: ["GET", "POST"],
      verify: { type: "hmac", secret: "KEY", header: "x-signature", prefix: "v1=" },
      networks: ["192.0.2.0/24"],
      respond: "output",
      into: { order: "body.order" },
      dedupeHeader: "x-id",
      dedupeBy: null,
      values: { text: "a\u0000b" },
      version: "draft",
      webhook: Samples.webhook,
      enabled: true,
      addressHash: `hash of ${id}`,
      createdAt,
      updatedAt,
      fence,
      ...fields,
    }
  }
  /** Claims until nothing of this test is left; others may have triggers, too. */
  const claim = (leaseMillis = hour) =>
    Effect.map(store.claimDue({ limit: 1_000, leaseMillis }), ({ triggers, ...rest }) => ({
      ...rest,
      triggers: triggers.filter(({ accountId }) => accountId === samples.account),
    }))
  const due = (fields: Partial<Schedule> = {}) =>
    trigger({ nextAt: now - 1_000, dueAt: now - 1_000, ...fields })
  return { samples, store, workflows, workflow, trigger, webhook, due, claim, now }
})
