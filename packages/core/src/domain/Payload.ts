/**
 * The body of a delivery (specification 2.10).
 *
 * Guarantees: an event has a delivery only if the run's webhook asks for it. The same event always
 * has the same identifier and the same text, with its keys in the same order.
 */
import type { Delivery } from "./Delivery.ts"
import { missedEvent } from "./EventType.ts"
import type { AccountId, RunId } from "./Id.ts"
import { DeliveryId } from "./Id.ts"
import type { JsonObject } from "./Json.ts"
import type { ParentRun } from "./Run.ts"
import type { RunEvent } from "./RunEvent.ts"
import { format, type Timestamp } from "./Timestamp.ts"
import type { Schedule } from "./Trigger.ts"
import type { Webhook } from "./Webhook.ts"

/** The fields of a run that its deliveries need. */
export interface Notifying {
  readonly id: RunId
  readonly accountId: AccountId
  readonly webhook: Webhook | null
  /** Absent: as `null`. */
  readonly parent?: Pick<ParentRun, "runId" | "rootRunId"> | null
}

/**
 * The body of a request (specification 2.10): `success` is true exactly when `error` is `null`. The
 * keys come in the order of the specification.
 */
export const payloadOf = (
  event: Omit<RunEvent, "type" | "sequence" | "runId"> & {
    readonly type: string
    readonly runId: RunId | null
  },
  metadata: JsonObject | null,
): string =>
  JSON.stringify({
    success: event.error === null,
    type: event.type,
    runId: event.runId,
    workflowId: event.workflowId,
    data: event.data,
    metadata,
    error: event.error,
    createdAt: format(event.at),
  })

/** Wide enough that the identifiers of a run's deliveries sort in the order of its events. */
const sequenceDigits = 6

/** The one identifier that the delivery of an event of a run, or of a trigger, can have. */
export const deliveryIdOf = (source: string, sequence: number): DeliveryId =>
  DeliveryId.make(
    `msg_${source.replace(/^run_/, "")}_${String(sequence).padStart(sequenceDigits, "0")}`,
  )

/** The event of a child says in its data to which tree it belongs. */
const withParent = ({ parent }: Notifying, event: RunEvent): RunEvent => {
  if (parent === undefined || parent === null) return event
  const { rootRunId, runId: parentRunId } = parent
  return { ...event, data: { ...event.data, parentRunId, rootRunId } }
}

/** The delivery of an event; `undefined` if the run's webhook does not ask for it. */
export const deliveryOf = (run: Notifying, event: RunEvent): Delivery | undefined => {
  const { webhook } = run
  if (webhook === null) return undefined
  if (webhook.events !== null && !webhook.events.includes(event.type)) return undefined
  return {
    id: deliveryIdOf(run.id, event.sequence),
    accountId: run.accountId,
    runId: run.id,
    sequence: event.sequence,
    type: event.type,
    url: webhook.url,
    origin: webhook.origin,
    headers: webhook.headers,
    body: payloadOf(withParent(run, event), webhook.metadata),
    createdAt: event.at,
  }
}

/**
 * The delivery that tells that so many more times of a schedule have started no run; `undefined` if
 * nobody is to be told. It has the same id however often a claim is recorded.
 */
export const missedDeliveryOf = (
  schedule: Schedule,
  missed: number,
  at: Timestamp,
): Delivery | undefined => {
  const { accountId, fence, id, lastError, lastMissedAt, webhook, workflowId } = schedule
  if (missed === 0 || webhook === null || lastMissedAt === null) return undefined
  if (webhook.events !== null && !webhook.events.includes(missedEvent)) return undefined
  const data = { triggerId: id, missed, lastMissedAt: format(lastMissedAt) }
  const event = { type: missedEvent, runId: null, workflowId, data, error: lastError, at }
  return {
    id: deliveryIdOf(id, fence),
    accountId,
    runId: null,
    sequence: null,
    type: missedEvent,
    url: webhook.url,
    origin: webhook.origin,
    headers: webhook.headers,
    body: payloadOf(event, webhook.metadata),
    createdAt: at,
  }
}
