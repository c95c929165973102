/**
 * Every operation without HTTP. The HTTP handlers call them, and so does the transport of an engine
 * in the same process.
 *
 * Leaves out: who may call.
 */
import { WorkflowId } from "@millrace/core/domain/Id"
import { Context, Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import * as AdminOperations from "./AdminOperations.ts"
import * as ApprovalOperations from "./ApprovalOperations.ts"
import { Cursors } from "./Cursor.ts"
import * as DeliveryOperations from "./DeliveryOperations.ts"
import * as NodeTypeOperations from "./NodeTypeOperations.ts"
import * as OpenWorkflows from "./OpenWorkflows.ts"
import type { GroupName, Input, OperationsOf } from "./Operation.ts"
import * as RunOperations from "./RunOperations.ts"
import * as TriggerOperations from "./TriggerOperations.ts"
import * as UsageOperations from "./UsageOperations.ts"
import * as VersionOperations from "./VersionOperations.ts"
import * as WorkflowOperations from "./WorkflowOperations.ts"

const make = Effect.gen(function* () {
  const { follow, live, operations, wait } = yield* RunOperations.make
  const opened = yield* OpenWorkflows.make
  const open = (call: Input<"workflows", "live">) =>
    opened.open(call, WorkflowId.make(call.params.id))
  const groups: { readonly [G in GroupName]: OperationsOf<G> } = {
    workflows: {
      ...(yield* WorkflowOperations.make(opened)),
      ...(yield* VersionOperations.make(opened)),
    },
    triggers: yield* TriggerOperations.make,
    runs: operations,
    approvals: yield* ApprovalOperations.make,
    deliveries: yield* DeliveryOperations.make,
    nodeTypes: yield* NodeTypeOperations.make,
    usage: yield* UsageOperations.make,
  }
  return { groups, follow, live, open, wait, admin: yield* AdminOperations.make }
})

/**
 * The operations by group and name, following a run, watching runs, having a workflow open, waiting
 * for a run, and the operations of operators.
 */
export class Operations extends Context.Service<Operations, Effect.Success<typeof make>>()(
  "@millrace/http/Operations",
) {
  static readonly layer = Layer.effect(Operations, make).pipe(
    Layer.provide([Cursors.layer, Digest.layerWebCrypto]),
  )
}
