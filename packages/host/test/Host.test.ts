/**
 * What an embedder on Effect can rely on about an engine that is put together for it, over a store
 * that has the least a store may have.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Keys } from "@millrace/core/engine/Keys"
import { Runs } from "@millrace/core/engine/Runs"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { OptionalPort } from "@millrace/core/ports/StoreManifest"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import * as Host from "@millrace/host/Host"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Context, Effect, Exit, Layer } from "effect"

const account = AccountId.make("acc_1")

/** An engine over workflows and runs, with a manifest that names these ports. */
const engine = (...ports: ReadonlyArray<OptionalPort>) => {
  const least = Layer.effectContext(
    Effect.map(Layer.build(Stores.layer), Context.pick(RunStore, WorkflowStore)),
  )
  return Host.layer({
    stores: Layer.merge(least, Layer.succeed(StoreManifest, { name: "least", ports })),
    nodes: Builtin.layer,
    egress: Outbound.layer(),
    masterKey: MasterVault.newMasterKey,
    webhooks: {},
  })
}

const graph = {
  name: "One",
  description: null,
  thumbnailUrl: null,
  nodes: [{ id: "a", type: "constant", position: { x: 0, y: 0 }, data: { inputs: { value: 1 } } }],
  edges: [],
}

describe("Host.layer, over a store of workflows and runs alone", () => {
  it.live("executes runs", () =>
    Effect.gen(function* () {
      const { id } = yield* (yield* Workflows).create(account, graph)
      const { start, wait } = yield* Runs
      const { id: runId } = yield* start(account, { workflowId: id })
      const { run } = yield* wait(account, runId)
      assert.strictEqual(run.status, "COMPLETED")
    }).pipe(Effect.provide(engine())),
  )

  it.live("refuses in one sentence what the store does not keep", () =>
    Effect.gen(function* () {
      const { id: workflowId } = yield* (yield* Workflows).create(account, graph)
      const webhook = { url: "https://example.com/hook" }
      const sentences = [
        yield* Effect.flip((yield* Runs).start(account, { workflowId, webhook })),
        yield* Effect.flip((yield* Keys).createAccount("Acme")),
        yield* Effect.flip((yield* Accounting).find(account)),
        yield* Effect.flip((yield* Webhooks).secrets(account)),
      ].map(({ message }) => message)
      const said = (what: string) =>
        `The store "least" keeps no ${what}: use a store that does, or do without them`
      assert.deepStrictEqual(sentences, [
        `webhook: ${said("deliveries of webhooks")}`,
        said("API keys and accounts"),
        said("API keys and accounts"),
        said("deliveries of webhooks"),
      ])
    }).pipe(Effect.provide(engine())),
  )

  it.live("does not start where the manifest names what is not there", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(engine("ledger"))))
      assert.isTrue(Exit.hasDies(exit))
    }),
  )
})
