/**
 * The for_each node: executes a workflow once for every item of an array, several at the same time.
 *
 * Guarantees: every item has one child run, whatever crashes, and the results have the order of the
 * items. A commit never grows with the number of items. While children execute, the node uses no
 * slot and no memory. Leaves out: trying a failed item again; nodes of the child have retries.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import { childrenAtOnce, itemsPerLoop } from "@millrace/core/domain/Limits"
import { childEndOf, childMessage } from "@millrace/core/domain/Message"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { sentenceOf, values, workflowId } from "./ChildWorkflow.ts"

/** How far the loop has come, while it waits for children. */
type Progress = {
  /** How many items have a child. */
  readonly started: number
  /** How many children have ended. */
  readonly ended: number
}

const Name = Schema.String.check(Schema.isMinLength(1))

/** An item that has no result. */
const Failure = Schema.Struct({
  index: Schema.Int,
  message: Schema.String,
  runId: Schema.String,
})

/** What the children have put out, by the order of the items. */
const resultsOf = Effect.fnUntraced(function* (onError: "stop" | "continue" | "drop") {
  const node = yield* CurrentNode
  const results: Array<JsonValue> = []
  const errors: Array<typeof Failure.Type> = []
  for (const child of yield* node.children) {
    if (child.status === "COMPLETED") results.push(yield* node.outputOfChild(child))
    else {
      const { id: runId, parent } = child
      errors.push({ index: parent!.index, message: sentenceOf({ ...child, runId }), runId })
      if (onError === "continue") results.push(null)
    }
  }
  return { results, errors }
})

/** `for_each`: puts out what the runs of a workflow put out, one for each item. */
export const forEach = define({
  key: "for_each",
  effects: "writes",
  name: "For each",
  description: "Executes a workflow for every item of an array, and puts out all outputs.",
  category: "flow",
  icon: "repeat",
  inputs: {
    items: Schema.Array(Json)
      .check(Schema.isMaxLength(itemsPerLoop))
      .annotate({ description: `The items, at most ${itemsPerLoop}; without any, nothing runs.` }),
    workflowId,
    values,
    itemAs: Schema.optionalKey(
      Name.annotate({ description: "The value of the Request node that is the item: `item`." }),
    ),
    indexAs: Schema.optionalKey(
      Name.annotate({ description: "The value that is the number of the item, from 0." }),
    ),
    concurrency: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: childrenAtOnce })).annotate({
        description: `How many items are worked on at the same time, 1 to ${childrenAtOnce}: 5.`,
      }),
    ),
    onError: Schema.optionalKey(
      Schema.Literals(["stop", "continue", "drop"]).annotate({
        description:
          "`stop`: the first item that fails fails the node, and the others are canceled. " +
          "`continue`: its result is null. `drop`: it has no result.",
      }),
    ),
  },
  outputs: {
    results: Schema.Array(Json).annotate({
      description: "The outputs, in the order of the items.",
    }),
    errors: Schema.Array(Failure).annotate({ description: "The items that failed." }),
  },
  example: {
    inputs: { items: [1, 2], workflowId: "wf_square" },
    outputs: { results: [1, 4], errors: [] },
  },
  run: (inputs) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      const { concurrency = 5, indexAs, itemAs = "item", items, onError = "stop" } = inputs
      const end = node.message === undefined ? undefined : childEndOf(node.message)
      if (end !== undefined && end.status !== "COMPLETED" && onError === "stop") {
        const message = `Item ${end.index}: ${sentenceOf(end)}`
        return yield* new NodeError({ message, retryable: false })
      }
      const before = (node.resumed ?? { started: 0, ended: 0 }) as Progress
      const ended = before.ended + (end === undefined ? 0 : 1)
      const until = Math.min(items.length, ended + concurrency)
      const starts = []
      for (let index = before.started; index < until; index++) {
        const more = indexAs === undefined ? {} : { [indexAs]: index }
        const given = { ...inputs.values, [itemAs]: items[index]!, ...more }
        starts.push(
          yield* node.prepareChild({ workflowId: inputs.workflowId, values: given, index }),
        )
      }
      if (ended === items.length) return yield* resultsOf(onError)
      const progress: Progress = { started: Math.max(before.started, until), ended }
      return yield* node.suspend({ for: childMessage }, progress, starts)
    }),
})
