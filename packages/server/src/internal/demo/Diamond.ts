/**
 * A workflow that branches and joins: of two arms one is taken, and the other one is skipped.
 */
import type { WorkflowContent } from "@millrace/core/domain/Workflow"
import { edge, node } from "./Drawing.ts"

/** `{ "amount": 250 }` takes the left arm, `{ "amount": 20 }` the right one. */
export const diamond: WorkflowContent = {
  name: "Diamond",
  description: "A condition sends an amount down one of two arms; the other arm is skipped.",
  thumbnailUrl: null,
  nodes: [
    node("request", "request", [0, 0], {
      fields: [
        { name: "amount", type: "number", default: 120, description: "What to decide about" },
      ],
    }),
    node("is_large", "condition", [1, 0], { rule: { op: "greaterOrEqual", value: 100 } }),
    node("large", "transform", [2, 0], { template: "{{ input }} needs a second pair of eyes" }),
    node("small", "transform", [2, 1], { template: "{{ input }} is fine as it is" }),
    node("either", "merge", [3, 0], {}, "first"),
    node("response", "response", [4, 0]),
  ],
  edges: [
    edge("request.amount", "is_large.input"),
    edge("is_large.true", "large.input"),
    edge("is_large.false", "small.input"),
    edge("large.output", "either.inputs"),
    edge("small.output", "either.inputs"),
    edge("either.output", "response.input"),
  ],
}
