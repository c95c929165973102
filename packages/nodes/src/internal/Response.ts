/**
 * The response node: its input becomes the run's output.
 *
 * Guarantees: it has no output port. Leaves out: building the run's output from several response
 * nodes; the engine does that.
 */
import { Json } from "@millrace/core/domain/Json"
import { outputNameLength } from "@millrace/core/domain/Limits"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"

/** `response`: its input becomes the run's output. */
export const response = define({
  key: "response",
  effects: "none",
  name: "Response",
  description: "Makes its input the output of the run.",
  category: "flow",
  icon: "log-out",
  role: "response",
  inputs: {
    input: Schema.optionalKey(Json.annotate({ description: "What the run puts out." })),
    name: Schema.optionalKey(
      Schema.String.check(Schema.isMinLength(1), Schema.isMaxCodePoints(outputNameLength)).annotate(
        {
          description: "Its name in the run's output, where there are several response nodes.",
        },
      ),
    ),
  },
  // The engine reads it as it was drawn.
  raw: { name: () => [] },
  outputs: {},
  example: { inputs: { input: "done" }, outputs: {} },
  run: () => Effect.succeed({}),
})
