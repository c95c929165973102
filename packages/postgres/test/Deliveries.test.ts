/**
 * What happens to a delivery on Postgres when somebody sends it again at the very moment at which
 * it ends, or is about to be forgotten.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import type { Delivery } from "@millrace/core/domain/Delivery"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

const layerDatabase = Stores.layer.pipe(
  Layer.provideMerge(
    Layer.unwrap(Effect.map(TestPostgres.url, (url) => Postgres.layer({ url, maxConnections: 4 }))),
  ),
)

const hour = 3_600_000

const stored = Effect.gen(function* () {
  const samples = yield* Samples.make
  const delivery = samples.delivery()
  yield* (yield* WebhookStore).insert(delivery)
  return delivery
})

/** Takes it and settles it as delivered; false when it could not be taken. */
const deliver = Effect.fnUntraced(function* ({ id }: Delivery) {
  const store = yield* WebhookStore
  const [claim] = yield* store.claim([id], hour)
  if (claim === undefined) return false
  const { attempt: number, fence } = claim
  const next = { _tag: "Delivered" } as const
  return yield* store.record({ id, fence, number, attempt: Samples.attempted, next })
})

const numbersOf = Effect.fnUntraced(function* ({ id }: Delivery) {
  const { attempts } = Option.getOrThrow(yield* (yield* WebhookStore).find(null, id))
  return attempts.map(({ number }) => number)
})

/** Holds `first` back before it is committed, until `meanwhile` lets it go. */
const during = Effect.fnUntraced(function* <A, E, R, B, E2, R2>(
  first: Effect.Effect<A, E, R>,
  meanwhile: (letGo: Effect.Effect<unknown>) => Effect.Effect<B, E2, R2>,
) {
  const sql = yield* SqlClient
  const [done, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const letGo = Deferred.succeed(go, undefined)
  const held = Effect.andThen(
    first,
    Effect.andThen(Deferred.succeed(done, undefined), Deferred.await(go)),
  )
  const fiber = yield* Effect.forkChild(sql.withTransaction(held))
  yield* Deferred.await(done)
  yield* meanwhile(letGo)
  yield* letGo
  yield* Fiber.join(fiber)
})

layer(layerDatabase, { excludeTestServices: true, timeout: 60_000 })("a delivery", (it) => {
  describe("WebhookStore.redeliver", () => {
    it.effect("goes on from the attempt that has just delivered it", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const delivery = yield* stored
        yield* during(
          deliver(delivery),
          Effect.fnUntraced(function* (letGo) {
            const fiber = yield* Effect.forkChild(store.redeliver(null, delivery.id))
            yield* Effect.andThen(TestPostgres.untilBlocked, letGo)
            yield* Fiber.join(fiber)
          }),
        )
        assert.isTrue(yield* deliver(delivery))
        assert.deepStrictEqual(yield* numbersOf(delivery), [1, 2])
      }),
    )
  })

  describe("WebhookStore.redeliver, of a run whose receiver was gone", () => {
    it.effect("does it for all of them at once, one by one and together", () =>
      Effect.gen(function* () {
        const samples = yield* Samples.make
        const store = yield* WebhookStore
        const { account } = samples
        const { id: runId } = samples.run()
        const all = Array.from({ length: 6 }, () => samples.delivery({ runId }))
        yield* Effect.forEach(all, store.insert)
        const ids = all.map(({ id }) => id)
        for (let round = 0; round < 20; round++) {
          for (const { attempt: number, fence, id } of yield* store.claim(ids, hour)) {
            const next = { _tag: "Failed", isGone: true } as const
            yield* store.record({ id, fence, number, attempt: Samples.attempted, next })
          }
          const each = ids.map((id) => Effect.asVoid(store.redeliver(account, id)))
          const together = Effect.asVoid(store.redeliverFailed(account, 0))
          yield* Effect.all([together, ...each], { concurrency: "unbounded", discard: true })
          const { items } = yield* store.list({ account, limit: 10 })
          assert.deepStrictEqual(
            items.map(({ state }) => state),
            Array.from(ids, () => "PENDING"),
          )
        }
        const claims = yield* store.claim(ids, hour)
        assert.strictEqual(claims.filter(({ isGone }) => !isGone).length, ids.length)
      }),
    )
  })

  describe("WebhookStore.forget", () => {
    it.effect("leaves what somebody is sending again", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const delivery = yield* stored
        yield* deliver(delivery)
        yield* during(store.redeliver(null, delivery.id), () => store.forget(-hour, 1_000))
        assert.deepStrictEqual(yield* numbersOf(delivery), [1])
        assert.isTrue(yield* deliver(delivery))
      }),
    )
  })
})
