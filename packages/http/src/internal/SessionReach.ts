/**
 * Sessions that see only some workflows: before an operation, looks whether what it names belongs
 * to one of them. What does not looks exactly like what does not exist.
 */
import type { WorkflowId } from "@millrace/core/domain/Id"
import { DeliveryId, RunId } from "@millrace/core/domain/Id"
import { DeliveryNotFound, RunNotFound, WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option } from "effect"
import type { Refusal } from "../Errors.ts"
import { withoutBalance } from "../Errors.ts"
import { ruleOf } from "./ConsoleRules.ts"
import type { Caller, Operation } from "./Operation.ts"
import { seenBy } from "./SessionListing.ts"

/** What a call may name. */
interface Named extends Caller {
  readonly params?: { readonly id: string }
  readonly payload?: { readonly workflowId?: string; readonly runId?: string }
}

/** True for a call of a session that sees only some workflows, and nothing of the account. */
const isLimited = ({ session }: Named): boolean => seenBy(session) !== null

/** Fails if a call names what its session does not see. */
export type CheckReach = (
  group: string,
  name: string,
  input: object,
) => Effect.Effect<void, Refusal>

/** What looks up whose the things are. */
const makeLookups = Effect.gen(function* () {
  const runs = yield* RunStore
  const deliveries = yield* WebhookStore

  const seesRun = Effect.fnUntraced(function* ({ account, session }: Named, id: string) {
    const found = yield* runs.find(account, RunId.make(id))
    return (
      Option.isSome(found) && (session?.workflows?.includes(found.value.run.workflowId) ?? true)
    )
  })
  const checkRun = Effect.fnUntraced(function* (call: Named, id: string) {
    if (!(yield* seesRun(call, id))) return yield* new RunNotFound({ runId: id })
  })
  return {
    checkRun,
    checkDelivery: Effect.fnUntraced(function* (call: Named, id: string) {
      const deliveryId = DeliveryId.make(id)
      const found = yield* deliveries.find(call.account, deliveryId)
      const runId = Option.isSome(found) ? found.value.item.runId : null
      if (runId === null || !(yield* seesRun(call, runId))) {
        return yield* new DeliveryNotFound({ deliveryId })
      }
    }),
  }
})

/** Makes what checks the calls of sessions. */
export const make: Effect.Effect<CheckReach, never, RunStore | WebhookStore> = Effect.map(
  makeLookups,
  ({ checkDelivery, checkRun }): CheckReach => {
    const checkWorkflow = ({ session }: Named, id: string) =>
      session?.workflows?.includes(id as WorkflowId) === false
        ? Effect.fail(new WorkflowNotFound({ workflowId: id }))
        : Effect.void
    return (group, name, input) => {
      const call = input as Named
      if (!isLimited(call)) return Effect.void
      const { params = { id: "" }, payload = {} } = call
      switch (ruleOf(group, name).reach) {
        case "workflow":
          return checkWorkflow(call, params.id)
        case "run":
          return checkRun(call, params.id)
        case "delivery":
          return checkDelivery(call, params.id)
        case "start":
          return checkWorkflow(call, payload.workflowId ?? "")
        case "evaluate":
          return Effect.andThen(checkWorkflow(call, params.id), checkRun(call, payload.runId ?? ""))
        default:
          return Effect.void
      }
    }
  },
)

/** The operations, each of which checks first, and says nothing of what the account has. */
export const within = (
  check: CheckReach,
  groups: Readonly<Record<string, object>>,
): Readonly<Record<string, Readonly<Record<string, Operation>>>> =>
  Object.fromEntries(
    Object.entries(groups).map(([group, operations]) => [
      group,
      Object.fromEntries(
        Object.entries(operations as Readonly<Record<string, Operation>>).map(([name, run]) => [
          name,
          (input: never) =>
            Effect.mapError(
              Effect.andThen(check(group, name, input), run(input)),
              (refusal: Refusal) =>
                refusal._tag === "InsufficientCredits" && isLimited(input)
                  ? withoutBalance(refusal)
                  : refusal,
            ),
        ]),
      ),
    ]),
  )
