/**
 * The sub_workflow node: executes another workflow as a child run, and puts out its output.
 *
 * Guarantees: the child is started once, whatever crashes. While it executes, the node uses no slot
 * and no memory. A child whose parent ends is canceled. Leaves out: trying a failed child again;
 * nodes of the child have retries of their own.
 */
import { Json } from "@millrace/core/domain/Json"
import { childEndOf, childMessage } from "@millrace/core/domain/Message"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { sentenceOf, values, workflowId, workflowVersion } from "./ChildWorkflow.ts"

/** `sub_workflow`: puts out what a run of another workflow puts out. */
export const subWorkflow = define({
  key: "sub_workflow",
  effects: "writes",
  name: "Sub-workflow",
  description: "Executes another workflow as a run of its own, and puts out its output.",
  category: "flow",
  icon: "workflow",
  calls: { input: "workflowId", version: "workflowVersion", values: "values", times: "once" },
  inputs: { workflowId, workflowVersion, values },
  outputs: {
    output: Json.annotate({ description: "The output of the child run." }),
    runId: Schema.String.annotate({ description: "The id of the child run." }),
  },
  example: {
    inputs: { workflowId: "wf_invoice", values: { order: 12 } },
    outputs: { output: "sent", runId: "run_1" },
  },
  run: ({ values: given = {}, workflowId: id, workflowVersion: version, ...fields }) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      const end = node.message === undefined ? undefined : childEndOf(node.message)
      if (end === undefined) {
        const child = yield* node.prepareChild({
          workflowId: id,
          version,
          values: { ...given, ...fields },
          index: 0,
        })
        node.log("info", `Started run ${child.run.id}`, { runId: child.run.id })
        return yield* node.suspend({ for: childMessage }, null, [child])
      }
      if (end.status !== "COMPLETED") {
        return yield* new NodeError({ message: sentenceOf(end), retryable: false })
      }
      const child = (yield* node.children(-1)).find(({ id: runId }) => runId === end.runId)!
      return { output: yield* node.outputOfChild(child), runId: end.runId }
    }),
})
