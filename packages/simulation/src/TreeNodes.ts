/**
 * The node types of a simulation of child runs: a leaf that does some work, a node that starts one
 * run, and a node that starts one for each of so many items.
 *
 * Guarantees: whether a leaf fails follows from the seed and its item alone, so what a tree comes
 * to is known before it is played ({@link endOf}). A leaf that takes a signal twice, or one of
 * another run, fails, although it should not.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import {
  type ChildEnd,
  childEndOf,
  childMessage,
  signalMessage,
} from "@millrace/core/domain/Message"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { VersionChoice } from "@millrace/core/domain/WorkflowVersion"
import { Clock, Effect, Schema } from "effect"
import { diceFor } from "./SimBehavior.ts"
import type { Stage } from "./SimNodes.ts"
import { type Branch, workflowIdOf } from "./TreeScenario.ts"

/** Percent of the leaves that fail. */
export const failing = 8

/** What a leaf does with its item; some wait for a signal before, a few of them without an end. */
export const leafOf = (seed: number, item: string) => {
  const dice = diceFor(seed, `leaf ${item}`)
  const fails = dice.chance(failing)
  const millis = dice.of([0, 1, 40, 300, 2_000, 9_000])
  const limitMillis = dice.chance(25) ? dice.of([null, null, 300, 3_000, 12_000]) : undefined
  // So long after its run is stored, the signal is sent: early, at the end of the wait, and late.
  const signalMillis = dice.of([0, 0, 1, 300, 1_000, 3_000, 12_000])
  return { fails, millis, limitMillis, signalMillis }
}

/** The only signal: each leaf that waits is sent one. */
export const leafSignal = "go"

/** So long a leaf waits for a second signal, which must not come. */
const againMillis = 700

/** Waits for the signal of an item, and then for a second one. */
const waitForSignal = Effect.fnUntraced(function* (item: string, limitMillis: number | null) {
  const { message, resumed, suspend } = yield* CurrentNode
  const now = yield* Clock.currentTimeMillis
  const wait = { for: signalMessage(leafSignal) }
  if (resumed === undefined) {
    const limited = limitMillis === null ? wait : { ...wait, until: now + limitMillis }
    return yield* suspend(limited, { signals: 0 })
  }
  if (message === undefined) return undefined
  const { signals } = resumed as { readonly signals: number }
  if (signals > 0 || message.payload !== item) {
    const what = `leaf ${item} has taken ${JSON.stringify(message)} after ${signals} signals`
    return yield* new NodeError({ message: what, retryable: false })
  }
  return yield* suspend({ ...wait, until: now + againMillis }, { signals: 1 })
})

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
        const { fails, limitMillis, millis } = leafOf(seed, item)
        if (limitMillis !== undefined) yield* waitForSignal(item, limitMillis)
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
    version: Schema.optionalKey(VersionChoice),
  },
  outputs: { output: Json },
  run: ({ concurrency, count, item, onError, version, workflow }) =>
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
        const request = { workflowId: workflowIdOf(workflow), version, values, index }
        starts.push(yield* node.prepareChild(request))
      }
      if (ended < count) {
        const progress = { started: Math.max(before.started, until), ended }
        return yield* node.suspend({ for: childMessage }, progress, starts)
      }
      const output: Array<JsonValue> = []
      let page = yield* node.children(-1)
      while (page.length > 0) {
        for (const child of page) {
          output.push(child.status === "COMPLETED" ? yield* node.outputOfChild(child) : null)
        }
        page = yield* node.children(page.at(-1)!.parent!.index)
      }
      return { output }
    }),
})

/** Puts out the item of a run. */
export const request = define({
  key: "request",
  role: "request",
  inputs: { fields: Schema.optionalKey(Json) },
  outputs: { item: Json },
  run: () => Effect.map(CurrentNode, ({ values }) => ({ item: values["item"]! })),
})

/** Takes the output of a run. */
export const response = define({
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

/** A tree before it is played: the branches of each workflow, and the items that get canceled. */
export interface Planted {
  readonly seed: number
  readonly branches: ReadonlyArray<ReadonlyArray<Branch>>
  readonly canceled: ReadonlySet<string>
}

/** What a run of a workflow comes to with an item, as its parent hears of it. */
export const endOf = (planted: Planted, workflow: number, item: string): End => {
  const { branches, canceled, seed } = planted
  const outputs: Record<string, JsonValue> = {}
  if (canceled.has(item)) return "FAILED"
  if (workflow === 0) return leafOf(seed, item).fails ? "FAILED" : { output: item }
  for (const { count, nodeId, onError, workflow: next } of branches[workflow]!) {
    const ends = Array.from({ length: count }, (_, index) =>
      endOf(planted, next, itemOf(item, nodeId, index)),
    )
    if (onError === "stop" && ends.includes("FAILED")) return "FAILED"
    outputs[nodeId] = ends.map((end) => (end === "FAILED" ? null : end.output))
  }
  // A single response is the output; several are its fields.
  const [only, ...more] = Object.values(outputs)
  return { output: more.length === 0 ? only! : outputs }
}
