/**
 * The list node: filters, sorts, groups, cuts, reshapes, counts and sums an array by steps.
 *
 * Guarantees: see `Steps.ts`. The input is never changed.
 */
import { Json } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Schema } from "effect"
import { carryOut, StepsInput } from "../Steps.ts"
import { carriedOut } from "./ComputePermit.ts"

/** `list`: performs steps over an array. */
export const list = define({
  key: "list",
  effects: "none",
  name: "List",
  description: "Filters, sorts, groups, cuts, reshapes, counts or sums an array.",
  category: "data",
  icon: "filter",
  inputs: {
    items: Schema.Array(Json).annotate({ description: "The array to work on." }),
    steps: Schema.optionalKey(StepsInput),
  },
  outputs: {
    output: Json.annotate({ description: "The array after all steps, or the value at the end." }),
    count: Schema.Int.annotate({ description: "How many items the last array had." }),
  },
  example: {
    inputs: {
      items: [{ city: "Bern" }, { city: "Basel" }, { city: "Bern" }],
      steps: [{ op: "map", path: "city" }, { op: "distinct" }, { op: "join", separator: ", " }],
    },
    outputs: { output: "Bern, Basel", count: 2 },
  },
  run: ({ items, steps = [] }) => carriedOut((work) => carryOut(items, steps, work)),
})
