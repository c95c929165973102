/**
 * One claimed delivery from its claim to its settlement.
 *
 * Guarantees: an attempt is made only while the claim is fresh, so that it is over before anybody
 * else may take the delivery; whatever came of it is settled, through trouble with the store, or
 * left to be taken again: an outcome that nobody knows is retried. Leaves out: claiming.
 */
import { settle, withheld } from "@millrace/core/domain/DeliverySchedule"
import { headersPurpose, secretPurpose, Webhooks } from "@millrace/core/engine/Webhooks"
import type { Vault } from "@millrace/core/ports/Vault"
import { CurrentVault } from "@millrace/core/ports/Vault"
import type { ClaimedDelivery, Outcome } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import { Clock, Effect, Random, Schedule } from "effect"
import type { KeyObject } from "node:crypto"
import { createSecretKey } from "node:crypto"
import type { Waiting } from "./Ahead.ts"
import type { Headers } from "./CustomHeaders.ts"
import type { DispatcherOptions } from "./DispatcherOptions.ts"
import { keyOf } from "./Signature.ts"
import * as Transport from "./Transport.ts"

/** A claimed delivery, to be brought on its way. */
export interface Errand extends Waiting {
  /** Hears how long it took, while what came of it is still to be stored. */
  readonly onSent: (tookMillis: number | null) => void
}

export interface Courier {
  /** Brings a claimed delivery on its way. */
  readonly carry: (errand: Errand) => Effect.Effect<void>
  /** Leaves a claimed delivery to whoever claims it next, as if it had not been claimed. */
  readonly giveBack: (claimed: ClaimedDelivery) => Effect.Effect<void>
}

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
  const known = new Map<string, KeyObject>()

  const keyBehind = Effect.fnUntraced(function* (purpose: string, sealed: string) {
    const found = known.get(sealed)
    if (found !== undefined) return found
    const key = createSecretKey(keyOf(yield* vault.open(purpose, sealed)))
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

/** What a courier works with. */
interface Services {
  readonly store: WebhookStore["Service"]
  readonly egress: Egress["Service"]
  readonly vault: Vault
  readonly clock: Clock.Clock
  readonly keysOf: Effect.Success<typeof makeKeys>
  readonly options: DispatcherOptions
  /** Hears how long a retry waits that was stored. */
  readonly onRetry: (delayMillis: number) => void
}

/** Settles a claim, whatever it takes within reason. */
const conclude = (
  { onRetry, store }: Services,
  { fence, id }: ClaimedDelivery,
  outcome: Outcome,
): Effect.Effect<void> =>
  store.settle({ ...outcome, id, fence }).pipe(
    Effect.retry(patience),
    Effect.flatMap((isOurs) => {
      if (!isOurs) return Effect.logDebug("a delivery was taken by somebody else", id)
      if (outcome.next._tag === "Retry") onRetry(outcome.next.delayMillis)
      return Effect.void
    }),
    Effect.catchTag("StorageError", (error) =>
      Effect.logWarning("what came of a delivery could not be stored", id, error),
    ),
  )

const headersOf = Effect.fnUntraced(function* (
  { vault }: Services,
  { accountId, headers }: ClaimedDelivery["delivery"],
) {
  if (headers === null) return {}
  return JSON.parse(yield* vault.open(headersPurpose(accountId), headers)) as Headers
})

/** Makes an attempt and settles what came of it. */
const send = Effect.fnUntraced(function* (services: Services, { claimed, onSent }: Errand) {
  const { clock, egress, keysOf, options } = services
  const { delivery } = claimed
  const keys = yield* keysOf(claimed)
  const headers = yield* headersOf(services, delivery)
  const sending = { delivery, headers, keys, timeoutMillis: options.timeoutMillis }
  const { answer, attempt } = yield* Transport.attempt(egress, sending)
  onSent(attempt.durationMillis)
  const dice = yield* Random.nextBetween(-1, 1)
  const now = clock.currentTimeMillisUnsafe()
  const next = settle(options.schedule, claimed, answer, now, dice)
  yield* conclude(services, claimed, { attempt, next })
})

/** Nothing was sent, and will be looked at again in so long. */
const retryIn = (delayMillis: number): Outcome => ({
  attempt: null,
  next: { _tag: "Retry", delayMillis },
})

/** The way of deliveries, with these options. `onRetry` hears how long each retry waits. */
export const make: (
  options: DispatcherOptions,
  onRetry: (delayMillis: number) => void,
) => Effect.Effect<Courier, never, WebhookStore | Webhooks | Egress> = Effect.fnUntraced(
  function* (options, onRetry) {
    const clock = yield* Clock.Clock
    const services: Services = {
      store: yield* WebhookStore,
      egress: yield* Egress,
      vault: yield* CurrentVault,
      keysOf: yield* makeKeys,
      clock,
      options,
      onRetry,
    }
    const giveBack = (claimed: ClaimedDelivery) => conclude(services, claimed, retryIn(0))
    const carry = Effect.fnUntraced(function* (errand: Errand) {
      const { claimed, claimedAtNanos } = errand
      const waited = Number((clock.monotonicTimeNanosUnsafe() - claimedAtNanos) / 1_000_000n)
      if (waited > options.freshMillis) return yield* giveBack(claimed)
      const end = withheld(options.schedule, claimed, clock.currentTimeMillisUnsafe())
      if (end !== undefined) return yield* conclude(services, claimed, { attempt: null, next: end })
      yield* Effect.catch(send(services, errand), (error) =>
        Effect.andThen(
          Effect.logError("a delivery could not be signed", claimed.delivery.id, error),
          conclude(services, claimed, retryIn(sealedMillis)),
        ),
      )
    })
    return { carry, giveBack }
  },
)
