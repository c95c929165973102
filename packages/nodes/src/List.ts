/**
 * The list node: filters, sorts, groups, cuts, counts and sums an array by steps.
 *
 * Guarantees: see `Steps.ts`. The input is never changed.
 */
import { Json } from "@millrace/core/domain/Json"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { define, sentenceOf } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { carryOut, StepsInput } from "./Steps.ts"

/** `list`: carries out steps over an array. */
export const list = define({
  key: "list",
  name: "List",
  description: "Filters, sorts, groups, cuts, counts or sums an array.",
  category: "data",
  inputs: {
    items: Schema.Array(Json).annotate({ description: "The array to work on." }),
    steps: Schema.optionalKey(StepsInput),
  },
  outputs: {
    output: Json.annotate({ description: "The array after all steps, or the number at the end." }),
    count: Schema.Int.annotate({ description: "How many items the last array had." }),
  },
  run: ({ items, steps = [] }) =>
    Effect.try({
      try: () => carryOut(items, steps),
      catch: (error) => new NodeError({ message: sentenceOf(error), retryable: false }),
    }),
})
