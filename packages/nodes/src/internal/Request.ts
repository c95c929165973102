/**
 * The request node: gives a run's values to the graph (specification 4.4, "the Request node").
 *
 * Guarantees: each declared field has an output, which is taken if the run has a value for it. The
 * output `values` has all of them. Leaves out: checking values and applying defaults; the start of
 * a run does both.
 */
import type { Json } from "@millrace/core/domain/Json"
import { JsonObject } from "@millrace/core/domain/Json"
import type { NodeSettings } from "@millrace/core/domain/Workflow"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { fieldsOf, problemsOfFields } from "@millrace/core/graph/Request"
import { Effect, Schema } from "effect"
import { checked } from "./Checked.ts"

const settingsWith = (fields: unknown): NodeSettings => ({
  inputs: { fields: fields as Json },
  mode: undefined,
  version: undefined,
  label: undefined,
  disabled: false,
})

const FieldsInput = checked<Json>(
  (fields) => problemsOfFields(settingsWith(fields)).map((issue) => ({ path: [], issue })),
  {
    description: "The values that a run takes. Each field is also an output of this node.",
    jsonSchema: {
      type: "array",
      items: {
        type: "object",
        required: ["name"],
        properties: {
          name: { type: "string" },
          type: { enum: ["string", "number", "boolean", "object", "array", "any"] },
          required: { type: "boolean" },
          default: {},
          description: { type: "string" },
        },
      },
    },
  },
)

/** `request`: where a run's values enter the graph. At most one in a workflow. */
export const request = define({
  key: "request",
  effects: "none",
  name: "Request",
  description: "Hands the values that a run was started with to the graph.",
  category: "flow",
  icon: "log-in",
  role: "request",
  inputs: { fields: Schema.optionalKey(FieldsInput) },
  // The engine reads it before anything is computed.
  raw: { fields: () => [] },
  outputs: { values: JsonObject.annotate({ description: "All values of the run." }) },
  ports: (settings) => ({ outputs: fieldsOf(settings).map(({ name }) => name) }),
  example: {
    inputs: { fields: [{ name: "city", type: "string" }] },
    outputs: { values: {} },
  },
  run: ({ fields = [] }) =>
    Effect.gen(function* () {
      const { values } = yield* CurrentNode
      const taken = fieldsOf(settingsWith(fields)).filter(({ name }) => Object.hasOwn(values, name))
      return {
        ...Object.fromEntries(taken.map(({ name }) => [name, values[name] ?? null])),
        values,
      }
    }),
})
