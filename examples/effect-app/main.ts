/**
 * An application on Effect: a node type that needs a service, the engine as a layer among the
 * application's layers, and a run as an effect. Everything is kept in memory.
 */
import { Keys } from "@millrace/core/engine/Keys"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import * as Host from "@millrace/host/Host"
import * as Memory from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import { Context, Effect, Layer, Schema } from "effect"

/** A service of the application. */
class Stock extends Context.Service<
  Stock,
  { readonly take: (article: string, pieces: number) => Effect.Effect<number, OutOfStock> }
>()("shop/Stock") {
  static readonly layer = Layer.sync(Stock, () => {
    const pieces = new Map([["mill", 3]])
    const take = Effect.fn("Stock.take")(function* (article: string, wanted: number) {
      const left = (pieces.get(article) ?? 0) - wanted
      if (left < 0) return yield* new OutOfStock({ article })
      pieces.set(article, left)
      return left
    })
    return Stock.of({ take })
  })
}

class OutOfStock extends Schema.TaggedError<OutOfStock>()("OutOfStock", {
  article: Schema.String,
}) {
  override get message() {
    return `there is not enough of ${this.article}`
  }
}

// The handler needs `Stock`, so the layer of node types below does.
const takeFromStock = define({
  key: "shop.take",
  inputs: { article: Schema.String, pieces: Schema.Int },
  outputs: { left: Schema.Int },
  run: Effect.fnUntraced(function* ({ article, pieces }) {
    return { left: yield* (yield* Stock).take(article, pieces) }
  }),
})

const engine = Host.layer({
  stores: Memory.layer,
  nodes: NodeTypes.layer(...Builtin.builtin, takeFromStock).pipe(
    Layer.provide([Builtin.layerServices, Stock.layer]),
  ),
  egress: Outbound.layer(),
  webhooks: "this application has no webhooks",
})

const program = Effect.gen(function* () {
  const account = yield* Keys.use((keys) => keys.createAccount("shop"))
  const workflow = yield* Workflows.use((workflows) =>
    workflows.create(account.id, {
      name: "Order",
      description: null,
      thumbnailUrl: null,
      nodes: [
        {
          id: "take",
          type: "shop.take",
          position: { x: 0, y: 0 },
          data: { inputs: { article: "mill", pieces: "{{ values.pieces }}" } },
        },
      ],
      edges: [],
    }),
  )
  const runs = yield* Runs
  for (const pieces of [2, 2]) {
    const { id } = yield* runs.start(account.id, { workflowId: workflow.id, values: { pieces } })
    const { nodeRuns, run } = yield* runs.wait(account.id, id)
    console.log(run.status, nodeRuns[0]?.output ?? nodeRuns[0]?.error)
  }
})

await Effect.runPromise(Effect.provide(program, engine))
