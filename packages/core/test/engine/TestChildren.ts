// Nodes that start runs, on an engine whose nodes may, for the tests of this folder.
import { Json, JsonObject } from "@millrace/core/domain/Json"
import { childEndOf, childMessage } from "@millrace/core/domain/Message"
import type { RunId } from "@millrace/core/domain/Id"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { layerWithoutWebhooks } from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Layer, Schema } from "effect"
import { account, Gates, types } from "./TestEngine.ts"
import { spend } from "./TestCredits.ts"

/** Starts one run of a workflow, and puts out what that puts out. */
export const call = define({
  key: "call",
  calls: { input: "workflowId", values: "values", times: "once" },
  inputs: { workflowId: Schema.String, values: Schema.optionalKey(JsonObject) },
  outputs: { output: Json },
  run: Effect.fnUntraced(function* ({ values = {}, workflowId }) {
    const node = yield* CurrentNode
    const end = node.message === undefined ? undefined : childEndOf(node.message)
    if (end === undefined) {
      const child = yield* node.prepareChild({ workflowId, values, index: 0 })
      return yield* node.suspend({ for: childMessage }, null, [child])
    }
    if (end.status !== "COMPLETED") return yield* new NodeError({ message: String(end.error) })
    const [child] = yield* node.children(-1)
    return { output: yield* node.outputOfChild(child!) }
  }),
})

/** Executes its body for one item after the other, and puts out what each puts out. */
const each = define({
  key: "each",
  inputs: { items: Schema.Array(Json) },
  body: { item: Json },
  outputs: { results: Json },
  run: Effect.fnUntraced(function* ({ items }) {
    const node = yield* CurrentNode
    const end = node.message === undefined ? undefined : childEndOf(node.message)
    if (end !== undefined && end.status !== "COMPLETED") {
      return yield* new NodeError({ message: String(end.error) })
    }
    const index = typeof node.resumed === "number" ? node.resumed : 0
    if (index < items.length) {
      const child = yield* node.prepareChild({ body: { item: items[index]! }, index })
      return yield* node.suspend({ for: childMessage }, index + 1, [child])
    }
    const children = yield* node.children(-1)
    return { results: yield* Effect.forEach(children, (child) => node.outputOfChild(child)) }
  }),
})

/** Puts out a text of this length. */
const long = define({
  key: "long",
  inputs: { input: Schema.Number },
  outputs: { output: Json },
  run: ({ input }) => Effect.succeed({ output: "x".repeat(input) }),
})

/** An engine whose nodes start runs, on one store in memory. */
export const engineWithChildren = (around: Layer.Layer<never, never, RunStore> = Layer.empty) =>
  layerWithoutWebhooks.pipe(
    Layer.provideMerge(around),
    Layer.provideMerge(NodeTypes.layer(...types, spend, call, each, long)),
    Layer.provideMerge(Layer.merge(Memory.layer, Gates.layer)),
  )

/** The runs that a node of a run has started. */
export const childrenOf = (parentRunId: RunId, nodeId: string) =>
  RunStore.use((store) => store.children({ account, parentRunId, nodeId, after: -1, limit: 100 }))
