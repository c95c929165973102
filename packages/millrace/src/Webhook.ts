/**
 * The webhooks of an engine: its master key, and the signing secrets with which receivers verify
 * deliveries.
 */
import * as Wire from "@millrace/api/AdminWebhookWire"
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import type { AccountId } from "@millrace/core/domain/Id"
import { overlapMillis, Webhooks as Core } from "@millrace/core/engine/Webhooks"
import type { SigningSecret as Stored } from "@millrace/core/engine/Webhooks"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { HostOptions } from "@millrace/host/Host"
import type { MasterKeyRefused } from "@millrace/host/MasterKey"
import * as MasterKey from "@millrace/host/MasterKey"
import type { Operations } from "@millrace/http/DirectTransport"
import { InvalidRequest } from "@millrace/http/Errors"
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import { Effect, Redacted } from "effect"
import { writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"
import { operatorOf } from "./OperatorCalls.ts"
import type { Store } from "./Store.ts"

/** How webhooks are delivered. */
export interface WebhookOptions {
  /** The same as the engine's option `masterKey`; one of the two is enough. */
  readonly masterKey?: string
}

/** The options that a master key comes from. */
export interface KeyOptions {
  readonly masterKey?: string
  readonly webhooks?: WebhookOptions | false
}

/**
 * A secret that signs deliveries: `whsec_` and base64, for a library of Standard Webhooks. Times
 * are ISO 8601 in UTC. The newest secret does not expire: its `expiresAt` is `null`.
 */
export type SigningSecret = typeof Wire.SigningSecret.Encoded

/** A delivery of a webhook that is to be made. */
export type SentDelivery = typeof Wire.AdminDeliveryItem.Encoded

/** Where to send a test event. */
export interface TestEvent {
  /** As in the `webhook` of a start. */
  readonly url: string
  /** Headers to send with it, by their names. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The webhooks of the account. Calls with secrets reject without a master key. */
export interface Webhooks {
  /** Sends a signed event of type `webhook.test`. Rejects with `INVALID_WEBHOOK`. */
  test(event: TestEvent): Promise<SentDelivery>
  /**
   * Sends all failed deliveries again whose events are not older than `since`: after a receiver was
   * down. Returns how many.
   */
  redeliverFailed(options: { readonly since: Date | string }): Promise<number>
  /** The secrets that sign now, oldest first. The first call makes one. */
  secrets(): Promise<ReadonlyArray<SigningSecret>>
  /** Makes a new secret. The old ones go on signing for `overlap`, 24 hours by default. */
  rotateSecret(options?: { readonly overlap?: Duration }): Promise<ReadonlyArray<SigningSecret>>
}

const writeSecret = writer(Wire.SigningSecret)

const written = (secrets: ReadonlyArray<Stored>): ReadonlyArray<SigningSecret> =>
  secrets.map((each) => writeSecret({ ...each, secret: Redacted.value(each.secret) }))

const refused = ({ message }: { readonly message: string }) =>
  Effect.fail(new InvalidRequest({ message }))

/** The webhooks of one account. */
export const make = (
  { call, ...runtime }: Runtime<Core | Operations>,
  accountId: AccountId,
): Webhooks => ({
  ...makeSending(operatorOf({ call, ...runtime }), accountId),
  ...makeSecrets(call, accountId),
})

const makeSending = (
  call: ReturnType<typeof operatorOf>,
  id: AccountId,
): Pick<Webhooks, "redeliverFailed" | "test"> => ({
  test: async (body) =>
    (await call({ operation: "webhooks.test", params: { id }, body })) as SentDelivery,
  redeliverFailed: async (options) => {
    const body = { ...options, accountId: id }
    const answer = await call({ operation: "webhooks.redeliverFailed", body })
    return (answer as typeof Wire.Redelivered.Encoded).count
  },
})

const makeSecrets = (
  call: Runtime<Core>["call"],
  account: AccountId,
): Pick<Webhooks, "rotateSecret" | "secrets"> => ({
  secrets: Effect.fnUntraced(
    function* () {
      return written(yield* (yield* Core).secrets(account))
    },
    Effect.catchTag("VaultClosed", refused),
    call,
  ),
  rotateSecret: Effect.fnUntraced(
    function* ({ overlap }: { readonly overlap?: Duration } = {}) {
      const millis = overlap === undefined ? overlapMillis : millisOf(overlap, "overlap")
      return written(yield* (yield* Core).rotate(account, millis))
    },
    Effect.catchTag("VaultClosed", refused),
    call,
  ),
})

const missing =
  "this engine has no master key to seal secrets with: give createEngine({ masterKey }), " +
  `${masterKeyForm}, the same to every engine and server on this database`

/** The message for a start with a webhook if the engine delivers none. */
export const sentenceWithout = (webhooks: WebhookOptions | false | undefined): string =>
  webhooks === false
    ? "webhook: this engine delivers none: leave out createEngine({ webhooks: false })"
    : `webhook: ${missing}`

/** The key that the options give. */
const givenKey = ({ masterKey, webhooks }: KeyOptions): string | undefined =>
  masterKey ?? (webhooks === false ? undefined : webhooks?.masterKey)

/** The problems of the options, as clauses. */
export const problemsOf = (options: KeyOptions, { masterKey }: Store): ReadonlyArray<string> => {
  const { webhooks = false } = options
  const own = webhooks === false ? undefined : webhooks.masterKey
  const places = [
    ["masterKey", options.masterKey],
    ["webhooks: masterKey", own],
  ] as const
  const malformed = places.flatMap(([place, key]) =>
    key === undefined || isMasterKey(key) ? [] : [`${place}: expected ${masterKeyForm}`],
  )
  if (malformed.length > 0) return malformed
  const given = givenKey(options)
  if (own !== undefined && own !== given) return ["webhooks: masterKey: differs from masterKey"]
  const isMissing = webhooks !== false && given === undefined && masterKey === "given"
  return isMissing ? [`webhooks: ${missing}`] : []
}

const otherKey =
  "masterKey does not open the secrets in this store: give the key that sealed them, or NEW,OLD " +
  "while a new key replaces an old one"

/** The master key of an engine on this store; `undefined` if it has none. */
export const masterKeyOf = (
  options: KeyOptions,
  store: Store,
): HostOptions<StorageError | InvalidRequest>["masterKey"] => {
  const given = givenKey(options)
  if (given === undefined && store.masterKey === "given") return undefined
  const place = typeof store.masterKey === "string" ? {} : store.masterKey
  const source = { given: given === undefined ? undefined : Redacted.make(given), ...place }
  const explain = ({ message }: MasterKeyRefused) => refused({ message })
  return Effect.catchTag(MasterKey.ensureOpens(source, otherKey), "MasterKeyRefused", explain)
}
