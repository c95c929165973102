/**
 * Two thousand requests by chance; the full size is a suite of its own.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { fuzz } from "./Fuzz.ts"
import { Harness } from "./Harness.ts"
import { served } from "./Operations.ts"

layer(Harness.layer)("fuzzing", (it) => {
  describe("the interface", () => {
    it.effect("answers two thousand odd requests as the document says, and never with 5xx", () =>
      Effect.gen(function* () {
        const { handler, tenant } = yield* Harness
        const tenants = yield* Effect.forEach([1, 2], () => tenant())
        const target = {
          origin: "http://localhost",
          send: handler,
          keys: tenants.map(({ key }) => key),
        }
        const nodeTypes = ["echo", "measure", "broken"]
        const options = { count: 2_000, seed: 3, nodeTypes }
        const document = yield* served
        const report = yield* Effect.promise(() => fuzz(document, target, options))
        assert.deepStrictEqual(report.complaints, [])
        for (const status of [200, 201, 204, 400, 401, 404, 405, 412, 415]) {
          assert.isAbove(report.statuses.get(status) ?? 0, 0, `no ${status}`)
        }
      }),
    )
  })
})
