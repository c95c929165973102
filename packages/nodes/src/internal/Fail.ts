/**
 * The fail node: ends its branch with a failure, on purpose.
 */
import { Json } from "@millrace/core/domain/Json"
import { failMessageLength } from "@millrace/core/domain/Limits"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"

/** `fail`: always fails with its message. */
export const fail = define({
  key: "fail",
  effects: "none",
  name: "Fail",
  description: "Fails with a message, on purpose.",
  category: "flow",
  icon: "circle-x",
  inputs: {
    message: Schema.optionalKey(
      Schema.String.check(
        Schema.isMinLength(1),
        Schema.isMaxCodePoints(failMessageLength),
      ).annotate({
        description: "What the failure says.",
        default: "failed on purpose",
      }),
    ),
    input: Schema.optionalKey(
      Json.annotate({ description: "Anything: so that an edge can end here." }),
    ),
  },
  outputs: {},
  example: { inputs: { message: "there is no stock" }, outputs: {} },
  run: ({ message = "failed on purpose" }) =>
    Effect.fail(new NodeError({ message, retryable: false })),
})
