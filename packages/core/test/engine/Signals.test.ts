// Signals to a workflow with a correlation value: what is refused, and before anything is stored.
import { assert, describe, it } from "@effect/vitest"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { CorrelatedSignal } from "@millrace/core/engine/Signals"
import { Signals } from "@millrace/core/engine/Signals"
import { Effect, Layer } from "effect"
import { account, engine, node, save } from "./TestEngine.ts"

const at = Effect.provide(Layer.provideMerge(Signals.layer, engine()))

const good: CorrelatedSignal = { name: "paid", correlation: "order 7", payload: { sum: 3 } }

describe("Signals.send", () => {
  it.effect("keeps what nobody waits for, and says that no run has taken it", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const signals = yield* Signals
      assert.deepStrictEqual(yield* signals.send(account, id, good), { runId: null })
    }).pipe(at),
  )

  it.effect("refuses a wrong name, correlation or payload, each by itself, with a sentence", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const signals = yield* Signals
      const wrong: ReadonlyArray<[Partial<CorrelatedSignal>, RegExp]> = [
        [{ name: "" }, /name/],
        [{ correlation: "" }, /correlation/],
        [{ payload: "x".repeat(2_000_000) }, /payload|message|bytes/],
      ]
      for (const [part, words] of wrong) {
        const refused = yield* Effect.flip(signals.send(account, id, { ...good, ...part }))
        assert.strictEqual(refused._tag, "InvalidMessage")
        assert.match(refused.message, words)
      }
    }).pipe(at),
  )

  it.effect("refuses one to a workflow that the account does not have, and names it", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const signals = yield* Signals
      for (const [who, workflowId] of [
        [AccountId.make("acc_stranger"), id],
        [account, WorkflowId.make("wf_none")],
      ] as const) {
        const refused = yield* Effect.flip(signals.send(who, workflowId, good))
        assert.deepInclude(refused, { _tag: "WorkflowNotFound", workflowId })
      }
    }).pipe(at),
  )

  it.effect("keeps one with an idempotency key once", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const signals = yield* Signals
      for (let n = 0; n < 200; n++) {
        const sent = yield* signals.send(account, id, { ...good, idempotencyKey: "same" })
        assert.deepStrictEqual(sent, { runId: null })
      }
    }).pipe(at),
  )
})
