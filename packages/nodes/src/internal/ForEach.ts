/**
 * The for_each node: executes the nodes that lie in it, or a workflow, once for every item of an
 * array, several at the same time.
 *
 * Guarantees: every item has one child run, whatever crashes, and the results have the order of the
 * items. A commit never grows with the number of items: those that end at once are stored by turns,
 * and the node ends when all are stored. While children execute, the node uses no slot and no
 * memory. Leaves out: trying a failed item again; nodes of the child have retries.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import {
  childrenAtOnce,
  failuresPerLoop,
  itemsPerChild,
  itemsPerLoop,
  resultsBytes,
} from "@millrace/core/domain/Limits"
import { childEndOf, childMessage } from "@millrace/core/domain/Message"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import type { ChildRun } from "@millrace/core/engine/CurrentNode"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Clock, Effect, Result, Schema } from "effect"
import { checked, issue } from "./Checked.ts"
import { sentenceOf, values, workflowId, workflowVersion } from "./ChildWorkflow.ts"

/** How far the loop has come, while it waits for children. */
type Progress = {
  /** How many children were started. */
  readonly started: number
  /** How many of them have ended. */
  readonly ended: number
  /** The item with which the loop fails, once that is stored. */
  readonly failed?: number
}

const Name = Schema.String.check(Schema.isMinLength(1))

const upTo = (most: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: most }))

// Items are not looked at one by one: the handler is called once for every item.
const items = checked<ReadonlyArray<JsonValue>>(
  (value) => {
    if (!Array.isArray(value)) return issue("expected an array")
    const { length } = value
    if (length <= itemsPerLoop) return []
    return issue(`there are ${length} items, and a loop takes at most ${itemsPerLoop}`)
  },
  {
    description: `The items, at most ${itemsPerLoop}; without any, nothing runs.`,
    jsonSchema: { type: "array" },
  },
)

const twoBodies = "nodes lie in the loop already; remove them, or the workflow"
const noBody = "a workflow is required, or nodes that lie in the loop: their parentId names it"
const idle = "it is for a workflow; nodes in the loop see the item by themselves"

const problemsOfInputs = ({ hasBody, mayHave }: KnownInputs) => {
  if (hasBody === mayHave("workflowId")) {
    return [["workflowId", hasBody ? twoBodies : noBody] as const]
  }
  const unused = hasBody ? ["workflowVersion", "values", "itemAs", "indexAs"].filter(mayHave) : []
  return unused.map((port) => [port, idle] as const)
}

/** An item that has no result. */
const Failure = Schema.Struct({
  index: Schema.Int,
  message: Schema.String,
  runId: Schema.String,
})

/** What a loop puts out. */
interface Collected {
  readonly results?: ReadonlyArray<JsonValue>
  readonly count: number
  readonly errors: ReadonlyArray<typeof Failure.Type>
  readonly failed: number
}

const tooLarge = (nodeId: string) =>
  `The results have more than ${resultsBytes} bytes, so they are not put out; ` +
  `read them by pages: GET /v1/runs/{id}/nodes/${nodeId}/items`

/** What the children have put out, by the order of the items, read by pages. */
const resultsOf = Effect.fnUntraced(function* (onError: "stop" | "continue" | "drop") {
  const node = yield* CurrentNode
  let results: Array<JsonValue> | undefined = []
  let [bytes, count, failed] = [0, 0, 0]
  const errors: Array<typeof Failure.Type> = []
  const add = (result: JsonValue) => {
    count += 1
    bytes += Buffer.byteLength(JSON.stringify(result))
    if (bytes > resultsBytes) results = undefined
    results?.push(result)
  }
  let page = yield* node.children(-1)
  while (page.length > 0) {
    for (const child of page) {
      if (child.status === "COMPLETED") {
        // What is not put out need not be read.
        if (results === undefined) count += 1
        else add(yield* node.outputOfChild(child))
        continue
      }
      const { id: runId, parent } = child
      failed += 1
      if (errors.length < failuresPerLoop) {
        errors.push({ index: parent!.index, message: sentenceOf({ ...child, runId }), runId })
      }
      if (onError === "continue") add(null)
    }
    page = yield* node.children(page.at(-1)!.parent!.index)
  }
  if (results === undefined) node.log("warn", tooLarge(node.nodeId))
  const collected: Collected = { count, errors, failed }
  return results === undefined ? collected : { ...collected, results }
})

/** Fails the loop with an item that is stored. */
const failWith = Effect.fnUntraced(function* (index: number) {
  const node = yield* CurrentNode
  const [child] = yield* node.children(index - 1)
  const message = `Item ${index}: ${sentenceOf({ ...child!, runId: child!.id })}`
  return yield* new NodeError({ message, retryable: false })
})

/** Starts the children that there is room for, and waits: for some of them, or until now. */
const goOn = Effect.fnUntraced(function* (
  before: Progress,
  { atOnce, isStopping, total }: { atOnce: number; isStopping: boolean; total: number },
  requestOf: (index: number) => Parameters<CurrentNode["Service"]["prepareChild"]>[0],
) {
  const node = yield* CurrentNode
  const starts: Array<ChildRun> = []
  let { ended, started } = before
  const waitUntil = Effect.fnUntraced(function* (until: number | undefined, failed?: number) {
    const progress: Progress = { started, ended, ...(failed === undefined ? {} : { failed }) }
    const wait = { for: childMessage, together: true, until }
    return yield* node.suspend(wait, progress, starts)
  })
  const now = yield* Clock.currentTimeMillis
  while (started < total && started - ended < atOnce) {
    if (node.isTurnOver) return yield* waitUntil(now)
    const prepared = yield* Effect.result(node.prepareChild(requestOf(started)))
    if (Result.isFailure(prepared)) {
      // What was computed before is stored first.
      if (ended > before.ended) return yield* waitUntil(now)
      return yield* prepared.failure
    }
    const { run } = prepared.success
    starts.push(prepared.success)
    started += 1
    if (run.finishedAt === null) continue
    ended += 1
    if (isStopping && run.status !== "COMPLETED") return yield* waitUntil(now, started - 1)
  }
  return yield* waitUntil(ended === total ? now : undefined)
})

/** `for_each`: puts out what its body or the runs of a workflow put out, one for each item. */
export const forEach = define({
  key: "for_each",
  effects: "writes",
  name: "For each",
  description:
    "Executes the nodes that lie in it, or a workflow, for every item of an array, and puts out " +
    "all results.",
  category: "flow",
  calls: { input: "workflowId", version: "workflowVersion", values: "values", times: "each" },
  icon: "repeat",
  inputs: {
    items,
    workflowId: Schema.optionalKey(workflowId),
    workflowVersion,
    values,
    itemAs: Schema.optionalKey(
      Name.annotate({ description: "The value of the Request node that is the item: `item`." }),
    ),
    indexAs: Schema.optionalKey(
      Name.annotate({ description: "The value that is the number of the item, from 0." }),
    ),
    concurrency: Schema.optionalKey(
      upTo(childrenAtOnce).annotate({
        description: `How many items are worked on at the same time, 1 to ${childrenAtOnce}: 5.`,
      }),
    ),
    batch: Schema.optionalKey(
      upTo(itemsPerChild).annotate({
        description:
          `How many items are worked on together, 1 to ${itemsPerChild}. The item is then an ` +
          "array of them, and there is one result for each array.",
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
  body: {
    item: Json.annotate({ description: "The item, or an array of items." }),
    index: Schema.Int.annotate({ description: "The number of the item, or of the array, from 0." }),
  },
  problemsOfInputs,
  outputs: {
    results: Schema.optionalKey(
      Schema.Array(Json).annotate({
        description:
          "The results, in the order of the items. Nothing, if they have more than " +
          `${resultsBytes} bytes together: then read them by pages.`,
      }),
    ),
    count: Schema.Int.annotate({ description: "How many results there are." }),
    errors: Schema.Array(Failure).annotate({
      description: `The items that failed, the first ${failuresPerLoop} of them.`,
    }),
    failed: Schema.Int.annotate({ description: "How many items failed." }),
  },
  example: {
    inputs: { items: [1, 2], workflowId: "wf_square" },
    outputs: { results: [1, 4], count: 2, errors: [], failed: 0 },
  },
  run: (inputs) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      const { batch, concurrency = 5, indexAs, itemAs = "item", onError = "stop" } = inputs
      const isStopping = onError === "stop"
      const end = node.message === undefined ? undefined : childEndOf(node.message)
      if (end !== undefined && end.status !== "COMPLETED" && isStopping) {
        const message = `Item ${end.index}: ${sentenceOf(end)}`
        return yield* new NodeError({ message, retryable: false })
      }
      const before = (node.resumed ?? { started: 0, ended: 0 }) as Progress
      if (before.failed !== undefined) return yield* failWith(before.failed)
      const ended = before.started - node.openChildren
      const total = Math.ceil(inputs.items.length / (batch ?? 1))
      if (ended === total) return yield* resultsOf(onError)
      const itemAt = (index: number): JsonValue =>
        batch === undefined
          ? inputs.items[index]!
          : inputs.items.slice(index * batch, (index + 1) * batch)
      const requestOf = (index: number) => {
        const item = itemAt(index)
        if (node.hasBody) return { body: { item, index }, index }
        const more = indexAs === undefined ? {} : { [indexAs]: index }
        const given = { ...inputs.values, [itemAs]: item, ...more }
        const { workflowId: called, workflowVersion: version } = inputs
        return { workflowId: called!, version, values: given, index }
      }
      const limits = { atOnce: concurrency, isStopping, total }
      return yield* goOn({ started: before.started, ended }, limits, requestOf)
    }),
})
