/**
 * The body of a delivery (specification 2.10).
 *
 * Guarantees: an event has a delivery only if the run's webhook asks for it. The same event always
 * has the same identifier and the same text, with its keys in the same order.
 */
import type { Delivery } from "./Delivery.ts"
import type { AccountId, RunId } from "./Id.ts"
import { DeliveryId } from "./Id.ts"
import type { JsonObject } from "./Json.ts"
import type { ParentRun } from "./Run.ts"
import type { RunEvent } from "./RunEvent.ts"
import { format } from "./Timestamp.ts"
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
  event: Omit<RunEvent, "type" | "sequence"> & { readonly type: string },
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

/** The one identifier that the delivery of an event can have. */
export const deliveryIdOf = (runId: string, sequence: number): DeliveryId =>
  DeliveryId.make(
    `msg_${runId.replace(/^run_/, "")}_${String(sequence).padStart(sequenceDigits, "0")}`,
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
