/**
 * The while node: executes the nodes that lie in it again and again, until a rule holds for what
 * they put out.
 *
 * Guarantees: one iteration after the other, each as one child run, whatever crashes; a commit
 * never grows with their number: those that end at once are stored by turns, and the node ends when
 * all are stored. While one executes, the node uses no slot and no memory. Leaves out: trying a
 * failed iteration again; nodes of the body have retries.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import { defaultIterations, iterationsPerLoop } from "@millrace/core/domain/Limits"
import { childEndOf, childMessage } from "@millrace/core/domain/Message"
import type { ChildRun } from "@millrace/core/engine/CurrentNode"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Clock, Effect, Result, Schema } from "effect"
import type { Rule } from "@millrace/core/domain/Rule"
import { compileRule, isHeldBy } from "@millrace/core/domain/Rule"
import { RuleInput } from "../Rules.ts"
import { sentenceOf } from "./ChildWorkflow.ts"
import type { Job } from "@millrace/core/domain/Work"
import type { ComputePermit } from "./ComputePermit.ts"
import { carriedOut } from "./ComputePermit.ts"

const noBody = "nodes have to lie in the loop: their parentId names it"

const holds = (rule: Rule, value: JsonValue) =>
  carriedOut(function* (work): Job<boolean> {
    return yield* isHeldBy(compileRule(rule), value, work)
  })

/** The last iteration that was started. */
type Progress = { readonly index: number }

/** Begins iterations: until one does not end at once, or those that have are to be stored. */
const iterate = Effect.fnUntraced(function* (
  first: number,
  input: JsonValue,
  goesOn: (index: number, output: JsonValue) => Effect.Effect<boolean, NodeError, ComputePermit>,
) {
  const node = yield* CurrentNode
  const starts: Array<ChildRun> = []
  let [index, last] = [first, input]
  let isOpen = false
  while (!isOpen) {
    const prepared = yield* Effect.result(node.prepareChild({ body: { last, index }, index }))
    if (Result.isFailure(prepared) && starts.length === 0) return yield* prepared.failure
    if (Result.isFailure(prepared)) break
    const { run } = prepared.success
    starts.push(prepared.success)
    index += 1
    isOpen = run.finishedAt === null
    if (run.status !== "COMPLETED" || node.isTurnOver) break
    last = yield* node.outputOfChild(run)
    if (!(yield* goesOn(index, last))) break
  }
  const progress: Progress = { index: index - 1 }
  const until = isOpen ? undefined : yield* Clock.currentTimeMillis
  return yield* node.suspend({ for: childMessage, until }, progress, starts)
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
      const goesOn = (index: number, output: JsonValue) =>
        Effect.map(holds(until, output), (isDone) => !isDone && index < maxIterations)
      const end = node.message === undefined ? undefined : childEndOf(node.message)
      const known = end?.index ?? (node.resumed as Progress | null | undefined)?.index
      if (known === undefined) return yield* iterate(0, input, goesOn)
      const [child] = yield* node.children(known - 1)
      if (child!.status !== "COMPLETED") {
        const message = `Iteration ${known}: ${sentenceOf({ ...child!, runId: child!.id })}`
        return yield* new NodeError({ message, retryable: false })
      }
      const output = yield* node.outputOfChild(child!)
      const iterations = known + 1
      if (yield* holds(until, output)) return { output, iterations }
      if (iterations < maxIterations) return yield* iterate(iterations, output, goesOn)
      const message = `The rule of "until" does not hold after ${iterations} iterations`
      return yield* new NodeError({ message, retryable: false })
    }),
})
