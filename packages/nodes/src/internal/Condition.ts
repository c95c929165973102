/**
 * The condition node: passes its input on at one of two ports.
 *
 * Guarantees: exactly one of `true` and `false` is taken. Leaves out: more than two ports; see
 * the switch node.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Schema } from "effect"
import { compileRule, isHeldBy } from "@millrace/core/domain/Rule"
import type { Job } from "@millrace/core/domain/Work"
import { RuleInput } from "../Rules.ts"
import { carriedOut } from "./ComputePermit.ts"

interface Ways {
  readonly true?: JsonValue
  readonly false?: JsonValue
}

/** `condition`: passes the input on at `true` or at `false`. */
export const condition = define({
  key: "condition",
  effects: "none",
  name: "Condition",
  description: "Lets its input out on true or on false, as a rule says.",
  category: "flow",
  icon: "split",
  inputs: {
    input: Schema.optionalKey(Json.annotate({ description: "What is judged and passed on." })),
    rule: RuleInput,
  },
  outputs: {
    true: Schema.optionalKey(Json.annotate({ description: "The input, when the rule holds." })),
    false: Schema.optionalKey(Json.annotate({ description: "The input, when it does not." })),
  },
  example: {
    inputs: { input: { total: 120 }, rule: { path: "total", op: "greaterThan", value: 100 } },
    outputs: { true: { total: 120 } },
  },
  run: ({ input = null, rule }) =>
    carriedOut(function* (work): Job<Ways> {
      const holds = yield* isHeldBy(compileRule(rule), input, work)
      return holds ? { true: input } : { false: input }
    }),
})
