/**
 * The operations on webhooks: admits the webhook of a start, redelivers, sends test events, and
 * manages signing secrets.
 *
 * Guarantees: headers and secrets are sealed before they reach a store. Only operators can read a
 * secret, not the holders of API keys. Leaves out: judging addresses and encryption, which are
 * ports; and sending, which is `@millrace/webhooks`.
 */
import { Clock, Context, Effect, Layer, Option, Redacted } from "effect"
import * as Base64 from "effect/encoding/Base64"
import type { Delivery, DeliveryItem } from "../domain/Delivery.ts"
import { testEvent } from "../domain/Delivery.ts"
import type { AccountId } from "../domain/Id.ts"
import { DeliveryId, RunId, WorkflowId } from "../domain/Id.ts"
import { payloadOf } from "../domain/Payload.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { ConfigOf, KeptWebhook, WebhookConfig } from "../domain/Webhook.ts"
import type { VaultClosed } from "../ports/Vault.ts"
import { Vault } from "../ports/Vault.ts"
import type { Scope, StoredSecret } from "../ports/WebhookStore.ts"
import { WebhookStore } from "../ports/WebhookStore.ts"
import { WebhookTargets } from "../ports/WebhookTargets.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { Ids } from "./Ids.ts"
import { DeliveryNotFound, InvalidWebhook } from "./Refusals.ts"

/** How long a rotated secret goes on signing beside the new one (24 hours). */
export const overlapMillis = 86_400_000

/** The first characters of a signing secret. */
export const secretPrefix = "whsec_"

/** A signing secret in the clear. */
export interface SigningSecret {
  readonly id: string
  /** `whsec_` and the base64 of 32 bytes. */
  readonly secret: Redacted.Redacted
  readonly createdAt: Timestamp
  /** `null` for the newest secret, which does not expire. */
  readonly expiresAt: Timestamp | null
}

/** The purpose with which headers of this account are sealed. */
export const headersPurpose = (account: AccountId): string => `webhook headers of ${account}`

/** The purpose with which signing secrets of this account are sealed. */
export const secretPurpose = (account: AccountId): string => `webhook secret of ${account}`

/** Checks the webhook of a start or of a trigger, and seals its headers. Stores nothing. */
export type Admit = <E extends string>(
  account: AccountId,
  config: ConfigOf<E>,
) => Effect.Effect<KeptWebhook<E>, InvalidWebhook>

const sealHeaders = (
  vault: Vault["Service"],
  account: AccountId,
  { headers = {} }: ConfigOf<string>,
) =>
  Object.keys(headers).length === 0
    ? Effect.succeed(null)
    : vault.seal(headersPurpose(account), JSON.stringify(headers))

export const makeAdmit: Effect.Effect<Admit, never, WebhookTargets | Vault> = Effect.gen(
  function* () {
    const targets = yield* WebhookTargets
    const vault = yield* Vault
    return <E extends string>(account: AccountId, config: ConfigOf<E>) =>
      Effect.gen(function* () {
        const { events, headers = {}, metadata, scope, url } = config
        const accepted = yield* targets.accept({ url, headers })
        return {
          ...accepted,
          events: events === undefined ? null : [...new Set(events)],
          ...(scope === "tree" ? { scope } : {}),
          metadata: metadata ?? null,
          headers: yield* Effect.orDie(sealHeaders(vault, account, config)),
        }
      }).pipe(Effect.mapError((message) => new InvalidWebhook({ message })))
  },
)

/** The webhook of a trigger with a change of it: the one that is stored where nothing is said. */
export const webhookWith = <E extends string>(
  admit: Admit,
  account: AccountId,
  known: KeptWebhook<E> | null,
  change: ConfigOf<E> | null | undefined,
): Effect.Effect<KeptWebhook<E> | null, InvalidWebhook> => {
  if (change === undefined) return Effect.succeed(known)
  return change === null ? Effect.succeed(null) : admit(account, change)
}

export class Webhooks extends Context.Service<
  Webhooks,
  {
    /** Sends a delivery again, whatever its state. */
    readonly redeliver: (
      account: Scope,
      id: DeliveryId,
    ) => Effect.Effect<DeliveryItem, DeliveryNotFound | StorageError>
    /** Sends a test event to an address. The event belongs to no run. */
    readonly test: (
      account: AccountId,
      target: Pick<WebhookConfig, "url" | "headers">,
    ) => Effect.Effect<Delivery, InvalidWebhook | StorageError>
    /** The account's live secrets, sealed, oldest first. Makes one if there is none. */
    readonly ensureSecrets: (
      account: AccountId,
    ) => Effect.Effect<ReadonlyArray<StoredSecret>, VaultClosed | StorageError>
    /** The same in the clear. */
    readonly secrets: (
      account: AccountId,
    ) => Effect.Effect<ReadonlyArray<SigningSecret>, VaultClosed | StorageError>
    /** Makes a new secret. The old ones go on signing for at most `overlapMillis`. */
    readonly rotate: (
      account: AccountId,
      overlapMillis: number,
    ) => Effect.Effect<ReadonlyArray<SigningSecret>, VaultClosed | StorageError>
  }
>()("@millrace/core/engine/Webhooks") {
  static readonly layer: Layer.Layer<Webhooks, never, WebhookStore | WebhookTargets | Vault | Ids> =
    Layer.effect(
      Webhooks,
      Effect.suspend(() => make),
    )
}

/** The body of a test event. It has the form of any event, and names a run that does not exist. */
const testBody = (at: Timestamp): string =>
  payloadOf(
    {
      runId: RunId.make("run_test"),
      workflowId: WorkflowId.make("wf_test"),
      type: testEvent,
      at,
      error: null,
      data: { status: "TEST" },
    },
    null,
  )

/** The services of all operations. */
const servicesOf = Effect.all({
  store: WebhookStore,
  ids: Ids,
  clock: Clock.Clock,
  vault: Vault,
  admit: makeAdmit,
})
type Services = Effect.Success<typeof servicesOf>

const redeliver = ({ store }: Services): Webhooks["Service"]["redeliver"] =>
  Effect.fn("Webhooks.redeliver")(function* (account, id) {
    const found = yield* store.redeliver(account, id)
    if (Option.isNone(found)) return yield* new DeliveryNotFound({ deliveryId: id })
    return found.value
  })

const test = ({ admit, clock, ids, store }: Services): Webhooks["Service"]["test"] =>
  Effect.fn("Webhooks.test")(function* (accountId, target) {
    const { headers, origin, url } = yield* admit(accountId, target)
    const createdAt = clock.currentTimeMillisUnsafe()
    const delivery: Delivery = {
      id: DeliveryId.make(yield* ids.make("message")),
      accountId,
      runId: null,
      sequence: null,
      type: testEvent,
      url,
      origin,
      headers,
      body: testBody(createdAt),
      createdAt,
    }
    yield* store.insert(delivery)
    return delivery
  })

/** A secret that nobody has seen yet. */
const freshSecret = Effect.fnUntraced(function* (
  { clock, ids, vault }: Services,
  account: AccountId,
) {
  const text = secretPrefix + Base64.encode(yield* ids.bytes(32))
  return {
    id: yield* ids.make("secret"),
    accountId: account,
    sealed: yield* vault.seal(secretPurpose(account), text),
    createdAt: clock.currentTimeMillisUnsafe(),
    expiresAt: null,
  } satisfies StoredSecret
})

const ensureSecrets = (services: Services): Webhooks["Service"]["ensureSecrets"] =>
  Effect.fnUntraced(function* (account) {
    const live = yield* services.store.secrets(account)
    if (live.length > 0) return live
    return yield* services.store.ensureSecret(yield* freshSecret(services, account))
  })

const opened = ({ vault }: Services, secrets: ReadonlyArray<StoredSecret>) =>
  Effect.forEach(secrets, ({ accountId, createdAt, expiresAt, id, sealed }) =>
    Effect.map(vault.open(secretPurpose(accountId), sealed), (text) => ({
      id,
      secret: Redacted.make(text),
      createdAt,
      expiresAt,
    })),
  )

const rotate = (services: Services): Webhooks["Service"]["rotate"] =>
  Effect.fn("Webhooks.rotate")(function* (account, overlap) {
    const fresh = yield* freshSecret(services, account)
    return yield* opened(services, yield* services.store.rotateSecret(fresh, overlap))
  })

const make = Effect.map(servicesOf, (services) => {
  const ensure = ensureSecrets(services)
  return Webhooks.of({
    redeliver: redeliver(services),
    test: test(services),
    ensureSecrets: ensure,
    secrets: (account) => Effect.flatMap(ensure(account), (live) => opened(services, live)),
    rotate: rotate(services),
  })
})
