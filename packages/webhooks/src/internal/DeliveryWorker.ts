/**
 * One claimed delivery from its claim to its record.
 *
 * Guarantees: an attempt is made only while the claim is fresh, so that it is over before anybody
 * else may take the delivery; whatever came of it is recorded, through trouble with the store, or
 * left to whoever claims it next: an outcome that nobody knows counts as a failure, and the next
 * attempt follows after the usual pause. Leaves out: claiming.
 */
import type { DeliveryOutcome } from "@millrace/core/domain/DeliveryStep"
import { givenBack, outcomeOf, outcomeWithoutAttempt } from "@millrace/core/domain/DeliveryStep"
import { signingKeysKept } from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import { headersPurpose, secretPurpose, Webhooks } from "@millrace/core/engine/Webhooks"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { CurrentVault } from "@millrace/core/ports/Vault"
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import { Clock, Effect, Random, Schedule } from "effect"
import type { KeyObject } from "node:crypto"
import { createSecretKey } from "node:crypto"
import type { Prefetched } from "./Prefetch.ts"
import type { Headers } from "./CustomHeaders.ts"
import type { DispatcherOptions } from "../DispatcherOptions.ts"
import { keyOf } from "../Signature.ts"
import * as DeliveryAttempt from "./DeliveryAttempt.ts"

/** A claimed delivery, to be brought on its way. */
export interface Job extends Prefetched {
  /** Hears how long it took, while what came of it is still to be stored. */
  readonly onSent: (tookMillis: number | null) => void
}

export interface DeliveryWorker {
  /** Brings a claimed delivery on its way. */
  readonly carry: (job: Job) => Effect.Effect<void>
  /**
   * Leaves a claimed delivery to whoever claims it next, as if it had not been claimed. What was
   * claimed for recording a lost attempt is recorded.
   */
  readonly giveBack: (claimed: ClaimedDelivery) => Effect.Effect<void>
}

/** How long a delivery that was made is tried to be noted: that may be told late. */
const deliveredFor = "10 minutes"

/** What cannot be signed now is looked at again after this time. */
const sealedMillis = 60_000

/**
 * Tries again what has just failed: a few seconds of trouble with the store are waited out; after
 * that the claim may run out. That a delivery was made is worth more patience.
 */
const persist = <A>(
  recording: Effect.Effect<A, StorageError>,
  isDelivered: boolean,
): Effect.Effect<A, StorageError> =>
  recording.pipe(
    Effect.retry(
      Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(
        Schedule.jittered,
        Schedule.upTo({ duration: isDelivered ? deliveredFor : "8 seconds" }),
      ),
    ),
    Effect.delay("50 millis"),
  )

/** What a delivery is signed with, and the headers it is to have. */
type Opened = Pick<DeliveryAttempt.Sending, "headers" | "keys">

const makeSeals = Effect.gen(function* () {
  const vault = yield* CurrentVault
  const webhooks = yield* Webhooks
  const known = new BoundedMap<string, KeyObject>(signingKeysKept)

  const keyBehind = Effect.fnUntraced(function* (purpose: string, sealed: string) {
    const found = known.get(sealed)
    if (found !== undefined) return found
    const key = createSecretKey(keyOf(yield* vault.open(purpose, sealed)))
    known.set(sealed, key)
    return key
  })

  const open = Effect.fnUntraced(function* ({ delivery, secrets }: ClaimedDelivery) {
    const { accountId, headers } = delivery
    const ensured = secrets.length > 0 ? [] : yield* webhooks.ensureSecrets(accountId)
    const seals = secrets.length > 0 ? secrets : ensured.map(({ sealed }) => sealed)
    const keys = yield* Effect.forEach(seals, (each) => keyBehind(secretPurpose(accountId), each))
    if (headers === null) return { headers, keys }
    const text = yield* vault.open(headersPurpose(accountId), headers)
    return { headers: JSON.parse(text) as Headers, keys }
  })

  /** The same where nothing has to be opened any more, as for most; nothing for the others. */
  const opened = ({ delivery, secrets }: ClaimedDelivery): Opened | undefined => {
    if (delivery.headers !== null || secrets.length === 0) return undefined
    const keys: Array<KeyObject> = []
    for (const sealed of secrets) {
      const key = known.get(sealed)
      if (key === undefined) return undefined
      keys.push(key)
    }
    return { headers: null, keys }
  }

  return { open, opened }
})

/** What a delivery worker works with. */
interface WorkerServices {
  readonly store: WebhookStore["Service"]
  readonly egress: Egress["Service"]
  readonly clock: Clock.Clock
  readonly random: Random.Random
  readonly seals: Effect.Success<typeof makeSeals>
  readonly options: DispatcherOptions
  /** Hears how long a retry waits that was stored. */
  readonly onRetry: (delayMillis: number) => void
}

/** Records a claim, whatever it takes within reason. */
const conclude = (
  { onRetry, store }: WorkerServices,
  { attempt: number, fence, id }: ClaimedDelivery,
  outcome: DeliveryOutcome,
): Effect.Effect<void> => {
  const recording = store.record({ ...outcome, id, fence, number })
  const onSuccess = (isOurs: boolean) => {
    if (!isOurs) return Effect.logDebug("a delivery was taken by somebody else", id)
    if (outcome.next._tag === "Retry") onRetry(outcome.next.delayMillis)
    return Effect.void
  }
  return Effect.matchEffect(recording, {
    onSuccess,
    // Only here, because most never need it.
    onFailure: () =>
      Effect.matchEffect(persist(recording, outcome.next._tag === "Delivered"), {
        onSuccess,
        onFailure: (error) =>
          Effect.logWarning("what came of a delivery could not be stored", id, error),
      }),
  })
}

const diceOf = (random: Random.Random): number => 2 * random.nextDoubleUnsafe() - 1

/** Makes an attempt and records what came of it. */
const send = (services: WorkerServices, { claimed, onSent }: Job, opened: Opened) => {
  const { clock, egress, options, random } = services
  const { headers, keys } = opened
  const { delivery } = claimed
  const sending = { delivery, headers, keys, timeoutMillis: options.timeoutMillis }
  return Effect.flatMap(DeliveryAttempt.attempt(egress, sending), (sent) => {
    onSent(sent.attempt.durationMillis)
    const now = clock.currentTimeMillisUnsafe()
    return conclude(
      services,
      claimed,
      outcomeOf(options.schedule, claimed, sent, now, diceOf(random)),
    )
  })
}

/** The same once all that it takes is opened. */
const openAndSend = (services: WorkerServices, job: Job): Effect.Effect<void> =>
  Effect.matchEffect(services.seals.open(job.claimed), {
    onSuccess: (opened) => send(services, job, opened),
    onFailure: (error) =>
      Effect.andThen(
        Effect.logError("a delivery could not be signed", job.claimed.delivery.id, error),
        conclude(services, job.claimed, givenBack(sealedMillis)),
      ),
  })

/** The way of deliveries, with these options. `onRetry` hears how long each retry waits. */
export const make: (
  options: DispatcherOptions,
  onRetry: (delayMillis: number) => void,
) => Effect.Effect<DeliveryWorker, never, WebhookStore | Webhooks | Egress> = Effect.fnUntraced(
  function* (options, onRetry) {
    const clock = yield* Clock.Clock
    const services: WorkerServices = {
      store: yield* WebhookStore,
      egress: yield* Egress,
      random: yield* Random.Random,
      seals: yield* makeSeals,
      clock,
      options,
      onRetry,
    }
    const unsent = (claimed: ClaimedDelivery) =>
      outcomeWithoutAttempt(
        options.schedule,
        claimed,
        clock.currentTimeMillisUnsafe(),
        diceOf(services.random),
      )
    const giveBack = (claimed: ClaimedDelivery) =>
      conclude(
        services,
        claimed,
        (claimed.lostAt === null ? null : unsent(claimed)) ?? givenBack(0),
      )
    const carry = (job: Job) =>
      Effect.suspend(() => {
        const { claimed, claimedAtNanos } = job
        const waited = Number((clock.monotonicTimeNanosUnsafe() - claimedAtNanos) / 1_000_000n)
        if (waited > options.freshMillis) return giveBack(claimed)
        const outcome = unsent(claimed)
        if (outcome !== undefined) return conclude(services, claimed, outcome)
        const opened = services.seals.opened(claimed)
        return opened === undefined ? openAndSend(services, job) : send(services, job, opened)
      })
    return { carry, giveBack }
  },
)
