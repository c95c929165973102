/**
 * A node that waits for a message: an approval, for three days at most. While it waits, no process
 * holds anything of its run. Everything is kept in memory and is gone when the script ends.
 */
import { AccountId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Memory from "@millrace/memory/Stores"
import { Clock, Effect, Layer, Schema } from "effect"

const threeDays = 3 * 24 * 60 * 60 * 1_000

const approval = define({
  key: "approval",
  inputs: { title: Schema.String },
  outputs: { decided: Schema.optionalKey(Json), expired: Schema.optionalKey(Schema.String) },
  run: Effect.fnUntraced(function* ({ title }) {
    const node = yield* CurrentNode
    if (node.message !== undefined) return { decided: node.message.payload }
    if (node.resumed !== undefined) return { expired: title }
    const until = (yield* Clock.currentTimeMillis) + threeDays
    return yield* node.suspend({ for: "decision", until }, null)
  }),
})

const account = AccountId.make("acc_example")

const program = Effect.gen(function* () {
  const runs = yield* Runs
  const workflows = yield* Workflows
  const { id: workflowId } = yield* workflows.create(account, {
    name: "Approve an order",
    description: null,
    thumbnailUrl: null,
    nodes: [
      { id: "a", type: "approval", position: { x: 0, y: 0 }, data: { inputs: { title: "Order" } } },
    ],
    edges: [],
    settings: {},
  })
  const { id } = yield* runs.start(account, { workflowId })
  const decision = { id: "decision of ada", name: "decision", payload: { by: "ada", yes: true } }
  // The second one is the same message, because it has the same id.
  console.log("message", yield* runs.send(account, id, decision))
  console.log("message", yield* runs.send(account, id, decision))
  const { nodeRuns, run } = yield* runs.wait(account, id)
  console.log(run.status, nodeRuns[0]?.output)
})

const layer = Engine.layerWithoutWebhooks.pipe(
  Layer.provide(Layer.merge(Memory.layer, NodeTypes.layer(approval))),
)
await Effect.runPromise(Effect.provide(program, layer))
