/**
 * From a start to the receiver: every event once, verified, and nothing that did not happen.
 */
import { assert, describe, it } from "@effect/vitest"
import { deliveryIdOf } from "@millrace/core/domain/Payload"
import { Effect } from "effect"
import { tell } from "./Verified.ts"

describe("Dispatcher.layer, of an engine's runs", () => {
  it.live("tells each event once, in words of its own, through three rotations", () =>
    Effect.gen(function* () {
      const { events, received, signatures, unverified } = yield* tell(64)
      assert.deepStrictEqual(unverified, [])
      assert.strictEqual(signatures, 4)
      const ids = events.map((event) => deliveryIdOf(event.runId, event.sequence))
      assert.deepStrictEqual(received.map(({ id }) => id).toSorted(), ids.toSorted())
      // Each run: started, one node well, one not, failed.
      assert.strictEqual(events.length, 64 * 4)
      const byId = new Map(received.map(({ body, id }) => [id, JSON.parse(body)]))
      for (const event of events) {
        const payload = byId.get(deliveryIdOf(event.runId, event.sequence))
        const { data, error, runId, type, workflowId } = event
        assert.deepInclude(payload, { runId, workflowId, type, data, error })
        assert.strictEqual(payload.success, error === null)
        assert.strictEqual(payload.createdAt, new Date(event.at).toISOString())
        assert.strictEqual(payload.metadata.text, "😀 \u0000 \ud800")
      }
    }),
  )
})
