/**
 * The transform node: makes a value from its input and the run's values by a template.
 *
 * Guarantees: see `Template.ts`. Leaves out: expressions that compute; it only inserts values.
 */
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { fill, problemsOfLiteral, TemplateInput } from "../Template.ts"
import { carriedOut } from "./ComputePermit.ts"

export const transform = define({
  key: "transform",
  effects: "none",
  name: "Transform",
  description: "Makes a new value by filling {{ paths }} into a template.",
  category: "data",
  icon: "braces",
  inputs: {
    template: TemplateInput,
    input: Schema.optionalKey(Json.annotate({ description: "What {{ input }} stands for." })),
  },
  outputs: { output: Json.annotate({ description: "The filled template." }) },
  raw: { template: problemsOfLiteral },
  example: {
    inputs: { template: { text: "Hello {{ input.name }}" }, input: { name: "Ada" } },
    outputs: { output: { text: "Hello Ada" } },
  },
  run: ({ input, template }) =>
    Effect.gen(function* () {
      const { values } = yield* CurrentNode
      const scope = input === undefined ? { values } : { values, input }
      return { output: yield* carriedOut((work) => fill(template, scope, work)) }
    }),
})
