/**
 * The smallest workflow that shows something: a value goes in, a sentence comes out.
 */
import type { WorkflowContent } from "@millrace/core/domain/Workflow"
import { edge, node } from "./Drawing.ts"

/** `{ "name": "Ada" }` gives `"Hello, Ada!"`. */
export const hello: WorkflowContent = {
  name: "Hello",
  description: "Greets whoever is named when the run is started.",
  thumbnailUrl: null,
  nodes: [
    node("request", "request", [0, 0], {
      fields: [{ name: "name", type: "string", default: "world", description: "Whom to greet" }],
    }),
    node("greet", "transform", [1, 0], { template: "Hello, {{ input }}!" }),
    node("response", "response", [2, 0]),
  ],
  edges: [edge("request.name", "greet.input"), edge("greet.output", "response.input")],
}
