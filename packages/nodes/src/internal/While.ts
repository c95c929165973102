/**
 * The while node: executes the nodes that lie in it again and again, until a rule holds for what
 * they put out.
 *
 * Guarantees: one iteration after the other, each as one child run, whatever crashes; a commit
 * never grows with their number. While one executes, the node uses no slot and no memory. Leaves
 * out: trying a failed iteration again; nodes of the body have retries.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import { defaultIterations, iterationsPerLoop } from "@millrace/core/domain/Limits"
import { childEndOf, childMessage } from "@millrace/core/domain/Message"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import type { Rule } from "@millrace/core/domain/Rule"
import { compileRule, isHeldBy } from "@millrace/core/domain/Rule"
import { RuleInput } from "../Rules.ts"
import { sentenceOf } from "./ChildWorkflow.ts"
import type { Job } from "@millrace/core/domain/Work"
import { carriedOut } from "./ComputePermit.ts"

const noBody = "nodes have to lie in the loop: their parentId names it"

const holds = (rule: Rule, value: JsonValue) =>
  carriedOut(function* (work): Job<boolean> {
    return yield* isHeldBy(compileRule(rule), value, work)
  })

/** Begins an iteration, and waits for its end. */
const iterate = Effect.fnUntraced(function* (index: number, last: JsonValue) {
  const node = yield* CurrentNode
  const child = yield* node.prepareChild({ body: { last, index }, index })
  return yield* node.suspend({ for: childMessage }, null, [child])
})

/** `while`: puts out what the last iteration of its body did. */
export const whileLoop = define({
  key: "while",
  effects: "writes",
  name: "While",
  description: "Executes the nodes that lie in it again and again, until a rule holds.",
  category: "flow",
  icon: "refresh-cw",
  inputs: {
    until: RuleInput,
    input: Schema.optionalKey(
      Json.annotate({ description: "What the first iteration begins with." }),
    ),
    maxIterations: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: iterationsPerLoop })).annotate({
        description:
          `How many iterations there may be, 1 to ${iterationsPerLoop}: ${defaultIterations}. ` +
          "The node fails if the rule does not hold after them.",
      }),
    ),
  },
  body: {
    last: Json.annotate({
      description: "The result of the iteration before; for the first one, the input of the loop.",
    }),
    index: Schema.Int.annotate({ description: "The number of the iteration, from 0." }),
  },
  problemsOfInputs: ({ hasBody }) => (hasBody ? [] : [["until", noBody]]),
  outputs: {
    output: Json.annotate({ description: "The result of the last iteration." }),
    iterations: Schema.Int.annotate({ description: "How many there were." }),
  },
  example: {
    inputs: { until: { path: "status", op: "equals", value: "done" } },
    outputs: { output: { status: "done" }, iterations: 3 },
  },
  run: ({ input = null, maxIterations = defaultIterations, until }) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      const end = node.message === undefined ? undefined : childEndOf(node.message)
      if (end === undefined) return yield* iterate(0, input)
      if (end.status !== "COMPLETED") {
        const message = `Iteration ${end.index}: ${sentenceOf(end)}`
        return yield* new NodeError({ message, retryable: false })
      }
      const [child] = yield* node.children(end.index - 1)
      const output = yield* node.outputOfChild(child!)
      const iterations = end.index + 1
      if (yield* holds(until, output)) return { output, iterations }
      if (iterations < maxIterations) return yield* iterate(iterations, output)
      const message = `The rule of "until" does not hold after ${iterations} iterations`
      return yield* new NodeError({ message, retryable: false })
    }),
})
