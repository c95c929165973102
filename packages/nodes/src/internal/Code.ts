/**
 * The code node: JavaScript that an author writes, as the body of a function.
 *
 * Guarantees: it is executed in the sandbox of expressions, on threads of its own, and reaches
 * nothing but what it is given: no clock, no randomness, no network, no secrets. Its time, its
 * memory and its log are bounded. Leaves out: modules, promises and timers.
 */
import { Json } from "@millrace/core/domain/Json"
import { codeJsonLength, codeLength } from "@millrace/core/domain/Limits"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import type { Executed } from "@millrace/core/ports/Evaluator"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { Effect, Schema } from "effect"

const refuse = (message: string) => new NodeError({ message, retryable: false })

const scopeOf = (given: { readonly inputs?: Json; readonly input?: Json }) => {
  const scope = JSON.stringify(given)
  if (scope.length <= codeJsonLength) return Effect.succeed(scope)
  const most = `code takes at most ${codeJsonLength}`
  return Effect.fail(refuse(`its inputs have ${scope.length} characters as JSON; ${most}`))
}

const outputOf = ({ outcome }: Executed): Effect.Effect<Json, NodeError> => {
  if (outcome._tag === "Failed") {
    const { isRetryable: retryable, message } = outcome
    return Effect.fail(new NodeError({ message: `code: ${message}`, retryable }))
  }
  return outcome.json === undefined
    ? Effect.fail(refuse("code: it returns nothing; write return null where nothing is meant"))
    : Effect.succeed(JSON.parse(outcome.json) as Json)
}

/** `code`: executes JavaScript. */
export const code = define({
  key: "code",
  effects: "none",
  name: "Code",
  description:
    "Executes JavaScript: the body of a function that has inputs and input, and returns a value. " +
    "console.log writes to the node's log.",
  category: "data",
  icon: "code",
  inputs: {
    code: Schema.String.check(Schema.isMaxLength(codeLength)).annotate({
      description: "The body of a function. There is no clock, no randomness and no network.",
    }),
    inputs: Schema.optionalKey(
      Json.annotate({ description: "What the code has as inputs: any JSON, with expressions." }),
    ),
    input: Schema.optionalKey(
      Json.annotate({ description: "What the code has as input: what an edge brings." }),
    ),
  },
  scripts: {
    code: (text) =>
      typeof text === "string" ? { text, names: [], isBody: true, at: 0 } : undefined,
  },
  outputs: { output: Json.annotate({ description: "What the code returns." }) },
  example: {
    inputs: {
      code: "return inputs.lines.reduce((sum, line) => sum + line.quantity * line.price, 0)",
      inputs: { lines: [{ quantity: 2, price: 1.5 }] },
    },
    outputs: { output: 3 },
  },
  run: ({ code: text, ...given }) =>
    Effect.gen(function* () {
      const { accountId: account, log } = yield* CurrentNode
      const { execute } = yield* CurrentEvaluator
      const executed = yield* execute({ account, text, scope: yield* scopeOf(given) })
      for (const { level, message } of executed.logs) log(level, message)
      return { output: yield* outputOf(executed) }
    }),
})
