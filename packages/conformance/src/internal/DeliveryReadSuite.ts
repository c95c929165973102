/**
 * What every webhook store must show of deliveries, and when it forgets them.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { DeliveryId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { DeliveryQuery } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option } from "effect"
import { claimOne, failed as hasFailed, recordNext } from "./DeliveryScenes.ts"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<WebhookStore | RunStore>

const hour = 3_600_000

const listed = Effect.fnUntraced(function* (query: Omit<DeliveryQuery, "limit">) {
  const store = yield* WebhookStore
  const page = yield* store.list({ limit: 20, ...query })
  return page.items.map(({ id }) => id)
})

const reads = (it: Tests): void => {
  it.effect("finds a delivery of the account, and none of another one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const delivery = samples.delivery({ headers: "sealed" })
      yield* store.insert(delivery)
      const record = Option.getOrThrow(yield* store.find(samples.account, delivery.id))
      const { nextAttemptAt, ...item } = record.item
      const { body: _body, headers: _headers, origin: _origin, ...head } = delivery
      assert.deepStrictEqual(item, { ...head, state: "PENDING", attempts: 0, settledAt: null })
      assert.isNotNull(nextAttemptAt)
      assert.deepStrictEqual([record.body, record.attempts], [delivery.body, []])
      assert.isTrue(Option.isSome(yield* store.find(null, delivery.id)))
      assert.isTrue(Option.isNone(yield* store.find(samples.stranger, delivery.id)))
      const strange = DeliveryId.make("msg_a\u0000b\ud800'%")
      assert.isTrue(Option.isNone(yield* store.find(samples.account, strange)))
    }),
  )

  it.effect("lists newest first, by run and by state, page by page", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const { account, stranger } = samples
      const runId = RunId.make(`run-of-${account}`)
      const [a, b, c] = [
        samples.delivery({ runId, sequence: 1, type: "run.started" }),
        samples.delivery(),
        samples.delivery({ runId, sequence: 2, type: "run.failed" }),
      ]
      const foreign = samples.delivery({ accountId: stranger, runId })
      for (const each of [c, a, foreign, b]) yield* store.insert(each)
      for (const { attempt: number, fence, id } of yield* store.claim([a.id, c.id], hour)) {
        const next =
          id === a.id
            ? ({ _tag: "Delivered" } as const)
            : ({ _tag: "Failed", isGone: false } as const)
        yield* store.record({ id, fence, number, attempt: Samples.attempted, next })
      }
      assert.deepStrictEqual(yield* listed({ account }), [c.id, b.id, a.id])
      assert.deepStrictEqual(yield* listed({ account, runId }), [c.id, a.id])
      assert.deepStrictEqual(yield* listed({ account: null, runId }), [foreign.id, c.id, a.id])
      assert.deepStrictEqual(yield* listed({ account, state: "PENDING" }), [b.id])
      assert.deepStrictEqual(yield* listed({ account, state: "FAILED" }), [c.id])
      assert.deepStrictEqual(yield* listed({ account, runId, state: "DELIVERED" }), [a.id])
      const first = yield* store.list({ account, limit: 2 })
      assert.deepStrictEqual(
        first.items.map(({ id }) => id),
        [c.id, b.id],
      )
      assert.deepStrictEqual(yield* listed({ account, after: first.next }), [a.id])
      assert.deepStrictEqual(yield* listed({ account, skip: 2 }), [a.id])
    }),
  )
}

const forgets = (it: Tests): void => {
  it.effect("forgets what ended long enough ago, and nothing that is on its way", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WebhookStore
      const [done, failed] = [samples.delivery(), samples.delivery()]
      const [again, open] = [samples.delivery(), samples.delivery()]
      for (const each of [done, failed, again, open]) yield* store.insert(each)
      const delivered = { _tag: "Delivered" } as const
      const attempt = Samples.attempted
      for (const { attempt: number, fence, id } of yield* store.claim([done.id, again.id], hour)) {
        yield* store.record({ id, fence, number, attempt, next: delivered })
      }
      for (const { attempt: number, fence, id } of yield* store.claim([failed.id], hour)) {
        yield* store.record({
          id,
          fence,
          number,
          attempt: null,
          next: { _tag: "Failed", isGone: false },
        })
      }
      yield* store.redeliver(samples.account, again.id)
      const { account } = samples
      yield* store.forget(hour, 10_000)
      const everything = [open.id, again.id, failed.id, done.id]
      assert.deepStrictEqual(yield* listed({ account }), everything)
      // A second from now counts as long ago here.
      assert.isAtLeast(yield* store.forget(-1_000, 10_000), 2)
      assert.deepStrictEqual(yield* listed({ account }), [open.id, again.id])
      assert.isTrue(Option.isNone(yield* store.find(account, done.id)))
      assert.strictEqual(yield* store.forget(-1_000, 10_000), 0)
    }),
  )
}

const ofWorkflows = (it: Tests): void => {
  it.effect("lists, and sends again, what belongs to runs of some workflows", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, store] = [yield* RunStore, yield* WebhookStore]
      const { account } = samples
      const names = ["mine", "other", "third"]
      const workflows = names.map((name) => WorkflowId.make(`${account}-${name}`))
      const sent = workflows.map((workflowId) => {
        const run = samples.run({ workflowId })
        const delivery = samples.delivery({ runId: run.id, sequence: 1 })
        return { run, delivery }
      })
      const ofNoRun = samples.delivery()
      for (const { delivery, run } of sent) {
        yield* runs.commit(Samples.newRun(run, { deliveries: [delivery] }))
      }
      yield* store.insert(ofNoRun)
      const [mine, other, third] = sent.map(({ delivery }) => delivery.id)
      for (const id of [mine!, other!, ofNoRun.id])
        yield* recordNext(yield* claimOne(id), hasFailed)
      const seen = [workflows[0]!, workflows[2]!]
      assert.deepStrictEqual(yield* listed({ account, workflows: seen }), [third, mine])
      assert.deepStrictEqual(yield* listed({ account, workflows: seen, state: "FAILED" }), [mine])
      assert.deepStrictEqual(
        yield* listed({ account, workflows: seen, runId: sent[1]!.run.id }),
        [],
      )
      assert.deepStrictEqual(yield* listed({ account, workflows: [] }), [])
      assert.strictEqual(yield* store.redeliverFailed(account, 0, [workflows[2]!]), 0)
      assert.strictEqual(yield* store.redeliverFailed(account, 0, seen), 1)
      assert.deepStrictEqual(yield* listed({ account, workflows: seen, state: "FAILED" }), [])
      assert.sameMembers(yield* listed({ account, state: "FAILED" }), [other!, ofNoRun.id])
    }),
  )
}

/** Registers the tests. */
export const deliveryReadSuite = (it: Tests): void => {
  describe("WebhookStore.list", () => {
    reads(it)
    ofWorkflows(it)
  })
  describe("WebhookStore.forget", () => {
    forgets(it)
  })
}
