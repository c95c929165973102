/**
 * The merge node: joins branches of a graph.
 *
 * Guarantees: the values have the order of the workflow's edges, not of their arrival. Branches
 * that were not taken are left out. Leaves out: merging inner objects.
 */
import type { Json as JsonValue, JsonObject } from "@millrace/core/domain/Json"
import { isJsonObject, Json } from "@millrace/core/domain/Json"
import { NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"

type Values = ReadonlyArray<JsonValue>

/** An object with the keys of all. A later value replaces an earlier one. */
const merged = (values: Values): Effect.Effect<JsonObject, NodeError> => {
  const odd = values.findIndex((each) => !isJsonObject(each))
  if (odd < 0) {
    const objects = values as ReadonlyArray<JsonObject>
    return Effect.succeed(Object.fromEntries(objects.flatMap((each) => Object.entries(each))))
  }
  const message = `input "inputs": [${odd}]: expected an object`
  return Effect.fail(new NodeError({ message, retryable: false }))
}

const combine = (values: Values, mode: "array" | "first" | "object") => {
  switch (mode) {
    case "first":
      return Effect.succeed<JsonValue>(values[0] ?? null)
    case "object":
      return merged(values)
    default:
      return Effect.succeed<JsonValue>(values)
  }
}

/** `merge`: all values that arrive, as an array, as one object, or only the first. */
export const merge = define({
  key: "merge",
  effects: "none",
  name: "Merge",
  description:
    "Brings several edges together: all values as an array, the first of them, or one object " +
    "with the keys of all.",
  category: "flow",
  icon: "merge",
  inputs: {
    inputs: Schema.optionalKey(
      Schema.Array(Json).annotate({ description: "Any number of edges, in their order." }),
    ),
  },
  outputs: { output: Json.annotate({ description: "The values together." }) },
  multiple: ["inputs"],
  modes: ["array", "first", "object"],
  example: {
    inputs: { inputs: [{ a: 1 }, { b: 2 }] },
    mode: "object",
    outputs: { output: { a: 1, b: 2 } },
  },
  run: ({ inputs = [] }, mode) => Effect.map(combine(inputs, mode), (output) => ({ output })),
})
