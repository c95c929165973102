/**
 * The transform node: makes a new value out of its input and the run's values, by a template.
 *
 * Guarantees: see `Template.ts`. Leaves out: computing; there are nodes for that.
 */
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define, sentenceOf } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { fill, TemplateInput } from "./Template.ts"

/** `transform`: fills a template. */
export const transform = define({
  key: "transform",
  name: "Transform",
  description: "Makes a new value by filling {{ paths }} into a template.",
  category: "data",
  inputs: {
    template: TemplateInput,
    input: Schema.optionalKey(Json.annotate({ description: "What {{ input }} stands for." })),
  },
  outputs: { output: Json.annotate({ description: "The filled template." }) },
  run: ({ input, template }) =>
    Effect.gen(function* () {
      const { values } = yield* CurrentNode
      const output = yield* Effect.try({
        try: () => fill(template, input === undefined ? { values } : { values, input }),
        catch: (error) => new NodeError({ message: sentenceOf(error), retryable: false }),
      })
      return { output }
    }),
})
