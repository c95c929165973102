/**
 * What tests of deliveries on their way are made of: the steps of a dispatcher, and how they end.
 */
import { assert } from "@effect/vitest"
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { Next } from "@millrace/core/domain/DeliverySchedule"
import type { DeliveryId } from "@millrace/core/domain/Id"
import type { Claim, AttemptRecord } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

export const hour = 3_600_000

export const retry = (delayMillis: number) => ({ _tag: "Retry", delayMillis }) as const
export const failed = { _tag: "Failed", isGone: false } as const
export const delivered = { _tag: "Delivered" } as const

export const insertAll = (deliveries: ReadonlyArray<Delivery>) =>
  WebhookStore.use((store) => Effect.forEach(deliveries, store.insert, { discard: true }))

export const claimOne = Effect.fnUntraced(function* (
  id: DeliveryId,
  visibilityMillis: number = hour,
) {
  const store = yield* WebhookStore
  const [claim] = yield* store.claim([id], visibilityMillis)
  if (claim === undefined) throw new Error(`${id} could not be claimed`)
  return claim
})

export const recordAttempt = (record: AttemptRecord) =>
  WebhookStore.use((store) => store.record(record))

/** An attempt that delivered. */
export const arrived = { ...Samples.attempted, status: 204, error: null }

export const recordNext = ({ attempt: number, fence, id }: Claim, next: Next) =>
  recordAttempt({
    id,
    fence,
    number,
    attempt: next._tag === "Delivered" ? arrived : Samples.attempted,
    next,
  })

/** An attempt of which nobody knows how it ended. */
export const unknown = {
  at: Samples.epoch,
  durationMillis: null,
  status: null,
  error: "unknown",
  answer: null,
} as const

/** Records an attempt whose claim has run out. */
export const loseOne = Effect.fnUntraced(function* (id: DeliveryId, next: Next) {
  const { attempt: number, fence, lostAt } = yield* claimOne(id)
  assert.isNotNull(lostAt)
  yield* recordAttempt({ id, fence, number, attempt: { ...unknown, at: lostAt }, next })
})

export const recordOf = Effect.fnUntraced(function* ({ accountId, id }: Delivery) {
  const store = yield* WebhookStore
  return Option.getOrThrow(yield* store.find(accountId, id))
})
