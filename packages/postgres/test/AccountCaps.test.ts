/**
 * The cap of an account over two engines on one Postgres, while runs of another one go on.
 */
import { assert, describe, it } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import type { AccountId } from "@millrace/core/domain/Id"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, type Redacted } from "effect"
import * as TestPostgres from "./TestPostgres.ts"

/** How many nodes are in progress now, and were at most, by the id of their node. */
class Progress {
  readonly now = new Map<string, number>()
  readonly most = new Map<string, number>()

  add(id: string, change: number): void {
    const now = (this.now.get(id) ?? 0) + change
    this.now.set(id, now)
    this.most.set(id, Math.max(now, this.most.get(id) ?? 0))
  }
}

/** A node that takes a moment, and counts itself meanwhile. */
const slow = (progress: Progress) =>
  define({
    key: "slow",
    inputs: {},
    outputs: {},
    run: Effect.fnUntraced(function* () {
      const { nodeId } = yield* CurrentNode
      progress.add(nodeId, 1)
      yield* Effect.ensuring(
        Effect.sleep("50 millis"),
        Effect.sync(() => progress.add(nodeId, -1)),
      )
      return {}
    }),
  })

const engine = (url: Redacted.Redacted, progress: Progress) =>
  Layer.build(
    Layer.fresh(
      Engine.layerWithoutWebhooks.pipe(
        Layer.provide(NodeTypes.layer(slow(progress))),
        Layer.provideMerge(Layer.provide(Stores.layer, Postgres.layer({ url, maxConnections: 4 }))),
      ),
    ),
  )

const draw = Effect.fnUntraced(function* (account: AccountId, id: string) {
  const nodes = [{ id, type: "slow", position: { x: 0, y: 0 } }]
  const content = { name: id, description: null, thumbnailUrl: null, nodes, edges: [] }
  return (yield* (yield* Workflows).create(account, content)).id
})

describe("Two engines on one Postgres", () => {
  it.live("never have more runs of an account in progress than its cap, others do", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const samples = yield* Samples.make
      const progress = new Progress()
      yield* Effect.gen(function* () {
        const keys = yield* KeyStore
        yield* keys.insertAccount(samples.accountOf({ runsAtOnce: 2 }))
      }).pipe(Effect.provide(Layer.provide(Stores.layer, Postgres.layer({ url }))))
      const engines = [yield* engine(url, progress), yield* engine(url, progress)]
      const { account, stranger } = samples
      const [capped, free] = yield* Effect.all([
        draw(account, "capped"),
        draw(stranger, "free"),
      ]).pipe(Effect.provideContext(engines[0]!))
      const startAll = (owner: AccountId, workflowId: typeof capped) =>
        Effect.forEach(
          Array.from({ length: 12 }, (_, n) => Context.get(engines[n % 2]!, Runs)),
          (runs) =>
            Effect.flatMap(runs.start(owner, { workflowId }), ({ id }) => runs.wait(owner, id)),
          { concurrency: "unbounded" },
        )
      const ended = yield* Effect.all([startAll(account, capped), startAll(stranger, free)], {
        concurrency: "unbounded",
      })
      assert.isTrue(ended.flat().every(({ run }) => run.status === "COMPLETED"))
      assert.strictEqual(progress.most.get("capped"), 2)
      assert.isAbove(progress.most.get("free")!, 2)
    }).pipe(Effect.scoped),
  )
})
