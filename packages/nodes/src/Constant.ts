/**
 * The constant node: a value that is part of the workflow.
 */
import { Json } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect } from "effect"

/** `constant`: its output is its configured value. */
export const constant = define({
  key: "constant",
  effects: "none",
  name: "Constant",
  description: "Puts out a fixed value.",
  category: "data",
  icon: "variable",
  inputs: { value: Json.annotate({ description: "Any JSON." }) },
  outputs: { output: Json.annotate({ description: "The value." }) },
  example: { inputs: { value: [1, 2] }, outputs: { output: [1, 2] } },
  run: ({ value }) => Effect.succeed({ output: value }),
})
