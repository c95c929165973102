/**
 * Makes the attempt for a claimed delivery, and records its outcome.
 *
 * Guarantees: a record that fails is retried. After the last retry, the outcome is left to the
 * dispatcher that claims the delivery next. Leaves out: claims, and deciding the outcome.
 */
import type { DeliveryOutcome } from "@millrace/core/domain/DeliveryStep"
import { signingKeysKept } from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import { headersPurpose, secretPurpose, Webhooks } from "@millrace/core/engine/Webhooks"
import { Vault } from "@millrace/core/ports/Vault"
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import { Effect, Schedule } from "effect"
import type { KeyObject } from "node:crypto"
import { createSecretKey } from "node:crypto"
import type { Headers } from "./CustomHeaders.ts"
import { keyOf } from "../Signature.ts"
import * as DeliveryAttempt from "./DeliveryAttempt.ts"

export interface DeliveryWorker {
  /** Makes an attempt. `undefined`: the delivery could not be signed, and nothing was sent. */
  readonly send: (claimed: ClaimedDelivery) => Effect.Effect<DeliveryAttempt.Sent | undefined>
  /** Records an outcome; true if the store has it. */
  readonly record: (claimed: ClaimedDelivery, outcome: DeliveryOutcome) => Effect.Effect<boolean>
}

/** How long the record of a success is retried. A success counts even if it is recorded late. */
const deliveredFor = "10 minutes"

/**
 * The pauses between retries of a record. Any other outcome than a success is retried for some
 * seconds only, because its claim may run out then.
 */
const pauses = (isDelivered: boolean) =>
  Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("5 seconds")]).pipe(
    Schedule.jittered,
    Schedule.upTo({ duration: isDelivered ? deliveredFor : "8 seconds" }),
  )

/** The keys that sign a delivery, and the headers that its client asked for. */
type Opened = Pick<DeliveryAttempt.Sending, "headers" | "keys">

const makeSeals = Effect.gen(function* () {
  const vault = yield* Vault
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

  /** The same without the vault if all keys are known, as for most; `undefined` for the others. */
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

/** A worker with this timeout for one attempt. */
export const make: (
  timeoutMillis: number,
) => Effect.Effect<DeliveryWorker, never, WebhookStore | Webhooks | Vault | Egress> =
  Effect.fnUntraced(function* (timeoutMillis) {
    const store = yield* WebhookStore
    const egress = yield* Egress
    const seals = yield* makeSeals

    const attempt = ({ delivery }: ClaimedDelivery, opened: Opened) =>
      DeliveryAttempt.attempt(egress, { delivery, ...opened, timeoutMillis })

    const openAndSend = (claimed: ClaimedDelivery) =>
      Effect.matchEffect(seals.open(claimed), {
        onSuccess: (opened) => attempt(claimed, opened),
        onFailure: (error) =>
          Effect.as(
            Effect.logError("a delivery could not be signed", claimed.id, error),
            undefined,
          ),
      })

    const record = (
      { attempt: number, fence, id }: ClaimedDelivery,
      outcome: DeliveryOutcome,
    ): Effect.Effect<boolean> => {
      const once = store.record({ ...outcome, id, fence, number })
      // Made only after a failure, because most records need no retry.
      const again = Effect.suspend(() =>
        Effect.delay(Effect.retry(once, pauses(outcome.next._tag === "Delivered")), "50 millis"),
      )
      return Effect.matchEffect(
        Effect.catch(once, () => again),
        {
          onSuccess: (isOurs) =>
            isOurs
              ? Effect.succeed(true)
              : Effect.as(Effect.logDebug("a delivery was taken by somebody else", id), false),
          onFailure: (error) =>
            Effect.as(
              Effect.logWarning("what came of a delivery could not be stored", id, error),
              false,
            ),
        },
      )
    }

    return {
      send: (claimed) => {
        const opened = seals.opened(claimed)
        return opened === undefined ? openAndSend(claimed) : attempt(claimed, opened)
      },
      record,
    }
  })
