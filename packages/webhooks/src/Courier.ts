/**
 * One claimed delivery from its claim to its settlement.
 *
 * Guarantees: an attempt is made only while the claim is fresh, so that it is over before anybody
 * else may take the delivery; whatever came of it is settled, through trouble with the store, or
 * left to be taken again: an outcome that nobody knows is retried. Leaves out: claiming.
 */
import type { DeliveryAttempt } from "@millrace/core/domain/Delivery"
import type { Next } from "@millrace/core/domain/DeliverySchedule"
import { settle, withheld } from "@millrace/core/domain/DeliverySchedule"
import { headersPurpose, secretPurpose, Webhooks } from "@millrace/core/engine/Webhooks"
import { CurrentVault } from "@millrace/core/ports/Vault"
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import { Clock, Effect, Random, Schedule } from "effect"
import type { Headers } from "./CustomHeaders.ts"
import type { DispatcherOptions } from "./DispatcherOptions.ts"
import { keyOf } from "./Signature.ts"
import * as Transport from "./Transport.ts"

/** Brings a claimed delivery on its way. `claimedAt` is monotonic, from before the claim. */
export type Courier = (claimed: ClaimedDelivery, claimedAtNanos: bigint) => Effect.Effect<void>

/** What cannot be signed now is looked at again after this time. */
const sealedMillis = 60_000

/** A few seconds of trouble with the store are waited out; after that the claim may run out. */
const patience = Schedule.exponential("50 millis").pipe(
  Schedule.jittered,
  Schedule.upTo({ duration: "8 seconds" }),
)

/** Opened keys by their seals; a seal never changes its meaning. */
const mostKeys = 1_000

const makeKeys = Effect.gen(function* () {
  const vault = yield* CurrentVault
  const webhooks = yield* Webhooks
  const known = new Map<string, Uint8Array>()

  const keyBehind = Effect.fnUntraced(function* (purpose: string, sealed: string) {
    const found = known.get(sealed)
    if (found !== undefined) return found
    const key = keyOf(yield* vault.open(purpose, sealed))
    if (known.size >= mostKeys) known.clear()
    known.set(sealed, key)
    return key
  })

  return Effect.fnUntraced(function* ({ delivery: { accountId }, secrets }: ClaimedDelivery) {
    const ensured = secrets.length > 0 ? [] : yield* webhooks.ensureSecrets(accountId)
    const seals = secrets.length > 0 ? secrets : ensured.map(({ sealed }) => sealed)
    return yield* Effect.forEach(seals, (each) => keyBehind(secretPurpose(accountId), each))
  })
})

/** The way of deliveries, with these options. */
export const make: (
  options: DispatcherOptions,
) => Effect.Effect<Courier, never, WebhookStore | Webhooks | Egress> = Effect.fnUntraced(
  function* ({ freshMillis, schedule, timeoutMillis }) {
    const store = yield* WebhookStore
    const egress = yield* Egress
    const vault = yield* CurrentVault
    const clock = yield* Clock.Clock
    const keysOf = yield* makeKeys

    const conclude = (
      { delivery: { id }, fence }: ClaimedDelivery,
      attempt: Omit<DeliveryAttempt, "number" | "nextAt"> | null,
      next: Next,
    ) =>
      store.settle({ id, fence, attempt, next }).pipe(
        Effect.retry(patience),
        Effect.flatMap((isOurs) =>
          isOurs ? Effect.void : Effect.logDebug("a delivery was taken by somebody else", id),
        ),
        Effect.catchTag("StorageError", (error) =>
          Effect.logWarning("what came of a delivery could not be stored", id, error),
        ),
      )

    const headersOf = Effect.fnUntraced(function* ({
      accountId,
      headers,
    }: ClaimedDelivery["delivery"]) {
      if (headers === null) return {}
      return JSON.parse(yield* vault.open(headersPurpose(accountId), headers)) as Headers
    })

    const send = Effect.fnUntraced(function* (claimed: ClaimedDelivery) {
      const { delivery } = claimed
      const keys = yield* keysOf(claimed)
      const headers = yield* headersOf(delivery)
      const sending = { delivery, headers, keys, timeoutMillis }
      const { answer, attempt } = yield* Transport.attempt(sending)
      const dice = yield* Random.nextBetween(-1, 1)
      const now = clock.currentTimeMillisUnsafe()
      yield* conclude(claimed, attempt, settle(schedule, claimed, answer, now, dice))
    })

    return Effect.fnUntraced(
      function* (claimed, claimedAtNanos) {
        const waited = Number((clock.monotonicTimeNanosUnsafe() - claimedAtNanos) / 1_000_000n)
        if (waited > freshMillis)
          return yield* conclude(claimed, null, { _tag: "Retry", delayMillis: 0 })
        const end = withheld(schedule, claimed, clock.currentTimeMillisUnsafe())
        if (end !== undefined) return yield* conclude(claimed, null, end)
        yield* Effect.catch(send(claimed), (error) =>
          Effect.andThen(
            Effect.logError("a delivery could not be signed", claimed.delivery.id, error),
            conclude(claimed, null, { _tag: "Retry", delayMillis: sealedMillis }),
          ),
        )
      },
      Effect.provideService(Egress, egress),
    )
  },
)
