/**
 * What a killed process leaves of large values, and what becomes of it.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as Samples from "@millrace/conformance/Samples"
import type { Run } from "@millrace/core/domain/Run"
import { Ids } from "@millrace/core/engine/Ids"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { RunStore } from "@millrace/core/ports/RunStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { Stores } from "@millrace/memory"
import { FolderValues } from "@millrace/values"
import { Context, Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { runWriter } from "./RunWriter.ts"
import { temporaryFolder } from "./TemporaryFolder.ts"

class Folder extends Context.Service<Folder, string>()("test/Folder") {}

const values = Layer.unwrap(Effect.map(Folder, FolderValues.layer))

const engine = LargeValues.layer.pipe(
  Layer.provideMerge(values),
  Layer.provideMerge(Stores.layer),
  Layer.provideMerge(Layer.effect(Folder, temporaryFolder)),
  Layer.provide(Ids.layerSequential),
)

/** The time of files is that of the machine: no test lasts until then. */
const later = 4_102_444_800_000

const keyOf = (run: Run, id: string) => ({ account: run.accountId, runId: run.id, id })

layer(engine)("a process that is killed", (it) => {
  describe("while it writes large values into a folder", () => {
    it.effect("leaves none that is not whole, and what no commit names is swept", () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const folder = yield* Folder
        const named = { ...Samples.placedValue("/output"), id: "val_named" }
        const run = samples.run({ status: "COMPLETED", largeValues: [named] })
        yield* (yield* RunStore).commit(Samples.newRun(run))
        const store = yield* ValueStore
        yield* store.put(keyOf(run, "val_named"), new Uint8Array(100_000))

        const killed = runWriter({ folder, key: keyOf(run, "val_lost"), next: "die" })
        assert.strictEqual(killed.signal, "SIGKILL")
        const dying = runWriter({ folder, key: keyOf(run, "val_half"), next: "die in the middle" })
        assert.strictEqual(dying.signal, "SIGKILL")

        const has = (id: string) => Effect.map(store.read(keyOf(run, id)), Option.isSome)
        assert.deepStrictEqual(
          yield* Effect.all([has("val_named"), has("val_lost"), has("val_half")]),
          [true, true, false],
        )
        const unfinished = () => readdirSync(join(folder, ".unfinished"))
        assert.lengthOf(unfinished(), 1)

        const { sweep } = yield* LargeValues
        assert.strictEqual(yield* sweep, 0)
        yield* TestClock.setTime(later)
        yield* sweep
        assert.deepStrictEqual(yield* Effect.all([has("val_named"), has("val_lost")]), [
          true,
          false,
        ])
        assert.lengthOf(unfinished(), 0)
      }),
    )
  })
})
