/**
 * The node types of a simulation of child runs: a leaf that does some work, a node that starts one
 * run, and a node that starts one for each of so many items.
 *
 * Guarantees: whether a leaf fails follows from the seed and its item alone, so what a tree comes
 * to is known before it is played ({@link endOf}).
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import { type ChildEnd, childEndOf, childMessage } from "@millrace/core/domain/Message"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Effect, Schema } from "effect"
import { diceFor } from "./SimBehavior.ts"
import type { Stage } from "./SimNodes.ts"
import { type Branch, workflowIdOf } from "./TreeScenario.ts"

/** Percent of the leaves that fail. */
export const failing = 8

/** What a leaf does with its item. */
export const leafOf = (seed: number, item: string) => {
  const dice = diceFor(seed, `leaf ${item}`)
  return { fails: dice.chance(failing), millis: dice.of([0, 1, 40, 300, 2_000, 9_000]) }
}

/** The item of a child of a node. */
export const itemOf = (item: string, nodeId: string, index: number): string =>
  `${item}/${nodeId}.${index}`

const failed = ({ error, index, status }: ChildEnd) =>
  new NodeError({ message: `child ${index}: ${status} ${error}`, retryable: false })

const leaf = (seed: number) =>
  define({
    key: "leaf",
    inputs: { item: Schema.String },
    outputs: { output: Json },
    credits: 1,
    run: ({ item }) =>
      Effect.gen(function* () {
        const { fails, millis } = leafOf(seed, item)
        yield* Effect.sleep(millis)
        if (fails) return yield* new NodeError({ message: `leaf ${item}`, retryable: false })
        return { output: item }
      }),
  })

/** Starts so many runs, `concurrency` of them at once. */
const branch = define({
  key: "branch",
  inputs: {
    item: Schema.String,
    workflow: Schema.Int,
    count: Schema.Int,
    concurrency: Schema.Int,
    onError: Schema.Literals(["stop", "continue"]),
  },
  outputs: { output: Json },
  run: ({ concurrency, count, item, onError, workflow }) =>
    Effect.gen(function* () {
      const node = yield* CurrentNode
      const end = node.message === undefined ? undefined : childEndOf(node.message)
      if (end !== undefined && end.status !== "COMPLETED" && onError === "stop") {
        return yield* failed(end)
      }
      const before = (node.resumed ?? { started: 0, ended: 0 }) as {
        readonly started: number
        readonly ended: number
      }
      const ended = before.ended + (end === undefined ? 0 : 1)
      const until = Math.min(count, ended + concurrency)
      const starts = []
      for (let index = before.started; index < until; index++) {
        const values = { item: itemOf(item, node.nodeId, index) }
        const request = { workflowId: workflowIdOf(workflow), values, index }
        starts.push(yield* node.prepareChild(request))
      }
      if (ended < count) {
        const progress = { started: Math.max(before.started, until), ended }
        return yield* node.suspend({ for: childMessage }, progress, starts)
      }
      const output: Array<JsonValue> = []
      for (const child of yield* node.children) {
        output.push(child.status === "COMPLETED" ? yield* node.outputOfChild(child) : null)
      }
      return { output }
    }),
})

const request = define({
  key: "request",
  role: "request",
  inputs: { fields: Schema.optionalKey(Json) },
  outputs: { item: Json },
  run: () => Effect.map(CurrentNode, ({ values }) => ({ item: values["item"]! })),
})

const response = define({
  key: "response",
  role: "response",
  inputs: { input: Schema.optionalKey(Json), name: Schema.optionalKey(Schema.String) },
  outputs: {},
  run: () => Effect.succeed({}),
})

/** The types of a seed. */
export const typesOf = (seed: number): ReadonlyArray<Executable<Stage>> => [
  request,
  response,
  leaf(seed),
  branch,
]

/** What a run comes to that nobody cancels. */
export type End = { readonly output: JsonValue } | "FAILED"

/** What a run of a workflow comes to with an item; `branches` are those of each workflow. */
export const endOf = (
  seed: number,
  branches: ReadonlyArray<ReadonlyArray<Branch>>,
  workflow: number,
  item: string,
): End => {
  const outputs: Record<string, JsonValue> = {}
  if (workflow === 0) return leafOf(seed, item).fails ? "FAILED" : { output: item }
  for (const { count, nodeId, onError, workflow: next } of branches[workflow]!) {
    const ends = Array.from({ length: count }, (_, index) =>
      endOf(seed, branches, next, itemOf(item, nodeId, index)),
    )
    if (onError === "stop" && ends.includes("FAILED")) return "FAILED"
    outputs[nodeId] = ends.map((end) => (end === "FAILED" ? null : end.output))
  }
  // A single response is the output; several are its fields.
  const [only, ...more] = Object.values(outputs)
  return { output: more.length === 0 ? only! : outputs }
}
