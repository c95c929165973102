// Runs of trivial nodes on the in-memory store: a chain, and one node that fans out to all others.
// One figure is nodes per second over enough runs to execute at least `atLeast` nodes.
import { AccountId } from "@millrace/core/domain/Id"
import { defaultLimits, CurrentLimits } from "@millrace/core/domain/Limits"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Layer, Schema } from "effect"

export type Shape = "chain" | "fan"

const step = define({
  key: "step",
  inputs: { input: Schema.optionalKey(Schema.Int) },
  outputs: { output: Schema.Int },
  run: ({ input = 0 }) => Effect.succeed({ output: input + 1 }),
})

const account = AccountId.make("acc_bench")

const edgeInto = (shape: Shape, index: number): Edge => ({
  id: `e${index}`,
  source: shape === "chain" ? `n${index - 1}` : "n0",
  target: `n${index}`,
})

const draw = (shape: Shape, size: number): { nodes: Array<Node>; edges: Array<Edge> } => ({
  nodes: Array.from({ length: size }, (_, index) => ({
    id: `n${index}`,
    type: "step",
    position: { x: index, y: 0 },
  })),
  edges: Array.from({ length: size - 1 }, (_, index) => edgeInto(shape, index + 1)),
})

const limits = { ...defaultLimits, nodesPerWorkflow: 20_000, edgesPerWorkflow: 40_000 }

const environment = Engine.layerWithoutWebhooks.pipe(
  Layer.provide(NodeTypes.layer(step)),
  Layer.provide(Memory.layer),
  Layer.provideMerge(Layer.succeed(CurrentLimits, limits)),
)

const atLeast = 20_000

/** Nodes per second of one shape and size. */
export const measure = (shape: Shape, size: number): Promise<number> =>
  Effect.gen(function* () {
    const workflows = yield* Workflows
    const runs = yield* Runs
    const content = { name: shape, description: null, thumbnailUrl: null, ...draw(shape, size) }
    const { id: workflowId } = yield* workflows.create(account, content)
    const count = Math.ceil(atLeast / size)
    const begin = performance.now()
    for (let index = 0; index < count; index++) {
      const { id } = yield* runs.start(account, { workflowId })
      const { run } = yield* runs.wait(account, id)
      if (run.status !== "COMPLETED") return yield* Effect.die(new Error(String(run.error)))
    }
    return (count * size) / ((performance.now() - begin) / 1_000)
  }).pipe(Effect.provide(environment), Effect.runPromise)
