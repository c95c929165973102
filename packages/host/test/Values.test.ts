/**
 * Large values in a place of their own: what goes there, and what is read from the store of runs.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import * as Host from "@millrace/host/Host"
import * as Stores from "@millrace/memory/Stores"
import * as Builtin from "@millrace/nodes/Builtin"
import * as Outbound from "@millrace/nodes/Outbound"
import { Context, Effect, Layer, Option } from "effect"

const keyOf = (id: string) => ({
  account: AccountId.make("acc_1"),
  runId: RunId.make("run_1"),
  id,
})

/** An engine over these stores, with values elsewhere. */
const engineOver = (
  stores: Context.Context<WorkflowStore | RunStore | StoreManifest>,
  place: Context.Context<ValueStore>,
) =>
  Host.layer({
    stores: Layer.succeedContext(stores),
    values: Layer.succeedContext(place),
    nodes: Builtin.layer,
    egress: Outbound.layer(),
    webhooks: "none",
  })

/** New stores in memory. */
const fresh = Layer.build(Layer.fresh(Stores.layer))

describe("Host.layer, with a place for large values", () => {
  it.live("writes values there, and still reads those that the store has", () =>
    Effect.gen(function* () {
      const [stores, place] = [yield* fresh, yield* fresh]
      const [older, newer] = [Context.get(stores, ValueStore), Context.get(place, ValueStore)]
      yield* older.put(keyOf("val_older"), new Uint8Array([1]))
      const engine = yield* Layer.build(engineOver(stores, place))
      const values = Context.get(engine, ValueStore)
      yield* values.put(keyOf("val_newer"), new Uint8Array([2]))
      const has = (store: ValueStore["Service"], id: string) =>
        Effect.map(store.read(keyOf(id)), Option.isSome)
      assert.isTrue(yield* has(values, "val_older"))
      assert.isTrue(yield* has(values, "val_newer"))
      assert.isFalse(yield* has(older, "val_newer"))
      assert.isTrue(yield* has(newer, "val_newer"))
      assert.deepStrictEqual(
        (yield* values.list(undefined, 10)).map(({ id }) => id),
        ["val_newer"],
      )
    }),
  )

  it.live("has large values, also if its store keeps none", () =>
    Effect.gen(function* () {
      const least = Context.pick(RunStore, WorkflowStore)(yield* fresh)
      const manifest = { name: "least", ports: [] }
      const stores = Context.add(least, StoreManifest, manifest)
      const engine = yield* Layer.build(engineOver(stores, yield* fresh))
      assert.deepStrictEqual(Context.get(engine, StoreManifest).ports, ["values"])
      const values = Context.get(engine, ValueStore)
      yield* values.put(keyOf("val_1"), new Uint8Array([1]))
      assert.isTrue(Option.isSome(yield* values.read(keyOf("val_1"))))
    }),
  )
})
