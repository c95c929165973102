import { layer } from "@effect/vitest"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Keys } from "@millrace/core/engine/Keys"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Layer } from "effect"
import { assert } from "vitest"
import * as StartupReport from "../src/internal/dev/StartupReport.ts"
import { hello } from "../src/internal/demo/Hello.ts"
import * as Seed from "../src/internal/dev/Seed.ts"

const Live = Engine.layerWithoutWebhooks.pipe(
  Layer.provide(NodeTypes.layer()),
  Layer.provideMerge(Stores.layer),
)

layer(Live)("Seed", (it) => {
  it.effect("makes nothing twice when a first start is taken up again", () =>
    Effect.gen(function* () {
      const account = yield* Seed.ensureAccount
      assert.deepStrictEqual(yield* Seed.ensureAccount, account)
      const workflow = yield* Seed.ensureWorkflow(account, hello)
      assert.deepStrictEqual(yield* Seed.ensureWorkflow(account, hello), workflow)
      assert.deepStrictEqual(yield* StartupReport.countOf(account), { workflows: 1, runs: 0 })
    }),
  )

  it.effect("is over once there is a key, which admits", () =>
    Effect.gen(function* () {
      const account = yield* Seed.ensureAccount
      assert.isTrue(yield* Seed.isNew(account))
      const { secret } = yield* Seed.createKey(account)
      assert.isFalse(yield* Seed.isNew(account))
      const admission = yield* (yield* Keys).admit(secret)
      assert.strictEqual(admission._tag, "Admitted")
    }),
  )
})
