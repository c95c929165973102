/**
 * The operations on the triggers of workflows.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import { WebhookSettings } from "@millrace/core/domain/InboundWebhook"
import { Timing } from "@millrace/core/domain/Trigger"
import type { AddressedWebhook } from "@millrace/core/engine/InboundWebhooks"
import { InboundWebhooks } from "@millrace/core/engine/InboundWebhooks"
import type { ShownSchedule } from "@millrace/core/engine/Triggers"
import { InvalidTrigger, Triggers } from "@millrace/core/engine/Triggers"
import { Effect, Redacted } from "effect"
import { hookAddress, triggerAddress } from "../Addresses.ts"
import type { OperationsOf } from "./Operation.ts"

/** Which trigger a call names. */
const keyOf = (
  accountId: AccountId,
  { id, triggerId }: { readonly id: string; readonly triggerId: string },
) => ({ accountId, workflowId: WorkflowId.make(id), id: TriggerId.make(triggerId) })

/** A trigger without what is for the engine only. */
const itemOf = (trigger: ShownSchedule | InboundWebhook) => {
  if (trigger.type === "schedule") return trigger
  const { addressHash: _, ...rest } = trigger
  return rest
}

/** A webhook with its address, which is shown once. */
const addressedOf = ({ token, webhook }: AddressedWebhook) => {
  const { addressHash: _, ...rest } = webhook
  return { ...rest, path: hookAddress(Redacted.value(token)) }
}

/** The names of the fields that only triggers of one type have. */
const fieldsOf = {
  schedule: [...Object.keys(Timing.fields), "catchUp", "overlap", "jitterSeconds"],
  webhook: Object.keys(WebhookSettings.fields).filter(
    (name) => name !== "values" && name !== "enabled",
  ),
}

/** The change of a trigger of this type; fails with fields that only the other type has. */
const changeOf = <C extends object>(payload: C, type: keyof typeof fieldsOf) => {
  const other = fieldsOf[type === "schedule" ? "webhook" : "schedule"]
  const wrong = Object.keys(payload).filter((name) => other.includes(name))
  const clauses = wrong.map((name) => `${name}: a ${type} has no such field`)
  return wrong.length === 0
    ? Effect.succeed(payload)
    : Effect.fail(new InvalidTrigger({ message: clauses.join("; ") }))
}

/** The operations of the group `triggers`. */
export const make = Effect.gen(function* () {
  const triggers = yield* Triggers
  const webhooks = yield* InboundWebhooks
  return {
    list: ({ account, params }) =>
      Effect.map(triggers.list(account, WorkflowId.make(params.id)), (items) => ({
        value: { items: items.map((each) => itemOf(each as ShownSchedule | InboundWebhook)) },
      })),
    create: Effect.fnUntraced(function* ({ account, params, payload }) {
      const id = WorkflowId.make(params.id)
      if (payload.type === "webhook") {
        const made = yield* webhooks.create(account, id, payload)
        return { value: addressedOf(made), location: triggerAddress(made.webhook) }
      }
      const { type: _, ...settings } = payload
      const value = yield* triggers.create(account, id, settings)
      return { value, location: triggerAddress(value) }
    }),
    get: ({ account, params }) =>
      Effect.map(triggers.get(keyOf(account, params)), (found) => ({ value: itemOf(found) })),
    update: Effect.fnUntraced(function* ({ account, params, payload }) {
      const key = keyOf(account, params)
      const { type } = yield* triggers.get(key)
      const change = yield* changeOf(payload, type)
      const { update } = type === "schedule" ? triggers : webhooks
      return { value: itemOf(yield* update(key, change)) }
    }),
    readdress: ({ account, params }) =>
      Effect.map(webhooks.readdress(keyOf(account, params)), (made) => ({
        value: addressedOf(made),
      })),
    remove: ({ account, params }) =>
      Effect.map(triggers.remove(keyOf(account, params)), (value) => ({ value })),
  } satisfies OperationsOf<"triggers">
})
