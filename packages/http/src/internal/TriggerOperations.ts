/**
 * The operations on the triggers of workflows.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { Triggers } from "@millrace/core/engine/Triggers"
import { Effect } from "effect"
import { triggerAddress } from "../Addresses.ts"
import type { OperationsOf } from "./Operation.ts"

/** Which trigger a call names. */
const keyOf = (
  accountId: AccountId,
  { id, triggerId }: { readonly id: string; readonly triggerId: string },
) => ({ accountId, workflowId: WorkflowId.make(id), id: TriggerId.make(triggerId) })

/** The operations of the group `triggers`. */
export const make = Effect.map(
  Triggers,
  (triggers) =>
    ({
      list: ({ account, params }) =>
        Effect.map(triggers.list(account, WorkflowId.make(params.id)), (items) => ({
          value: { items },
        })),
      create: Effect.fnUntraced(function* ({ account, params, payload }) {
        const { type: _, ...settings } = payload
        const value = yield* triggers.create(account, WorkflowId.make(params.id), settings)
        return { value, location: triggerAddress(value) }
      }),
      get: ({ account, params }) =>
        Effect.map(triggers.get(keyOf(account, params)), (value) => ({ value })),
      update: ({ account, params, payload }) =>
        Effect.map(triggers.update(keyOf(account, params), payload), (value) => ({ value })),
      remove: ({ account, params }) =>
        Effect.map(triggers.remove(keyOf(account, params)), (value) => ({ value })),
    }) satisfies OperationsOf<"triggers">,
)
