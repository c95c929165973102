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
import type { Exception } from "@millrace/egress/Policy"
import type { WebhookOptions as HostOptions } from "@millrace/host/Host"
import type { MasterKeyRefused } from "@millrace/host/MasterKey"
import * as MasterKey from "@millrace/host/MasterKey"
import { InvalidRequest } from "@millrace/http/Errors"
import { isMasterKey, masterKeyForm } from "@millrace/webhooks/MasterKey"
import { Effect, Redacted } from "effect"
import { writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"
import type { Store } from "./Store.ts"

/** How webhooks are delivered. */
export interface WebhookOptions {
  /**
   * The key that seals signing secrets and the headers of webhooks: 32 bytes as base64 or as 64
   * hexadecimal digits. To replace a key, give `NEW,OLD`: the first key seals, and all of them
   * open. All engines on a database need the same.
   */
  readonly masterKey?: string
}

/**
 * A secret that signs deliveries: `whsec_` and base64, for a library of Standard Webhooks. Times
 * are ISO 8601 in UTC. The newest secret does not expire: its `expiresAt` is `null`.
 */
export type SigningSecret = typeof Wire.SigningSecret.Encoded

/** The signing secrets of the engine's account. Both calls reject if the engine has no webhooks. */
export interface Webhooks {
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
export const make = ({ call }: Runtime<Core>, account: AccountId): Webhooks => ({
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
  "this engine has no master key to seal secrets with: give createEngine({ webhooks: " +
  `{ masterKey } }), ${masterKeyForm}, the same to every engine and server on this database`

/** The message for a start with a webhook if the engine delivers none. */
export const sentenceWithout = (options: WebhookOptions | false | undefined): string =>
  options === false
    ? "webhook: this engine delivers none: leave out createEngine({ webhooks: false })"
    : `webhook: ${missing}`

/** The problems of the options, as clauses. */
export const problemsOf = (
  options: WebhookOptions | false | undefined,
  { masterKey }: Store,
): ReadonlyArray<string> => {
  if (options === undefined || options === false) return []
  if (options.masterKey === undefined) return masterKey === "given" ? [`webhooks: ${missing}`] : []
  return isMasterKey(options.masterKey) ? [] : [`webhooks: masterKey: expected ${masterKeyForm}`]
}

const otherKey =
  "webhooks: masterKey does not open the signing secrets in this store: give the key that sealed " +
  "them, or NEW,OLD while a new key replaces an old one"

/** How an engine on this store delivers webhooks; `undefined` if it does not. */
export const deliveryOf = (
  options: WebhookOptions | false | undefined,
  store: Store,
  allow: ReadonlyArray<Exception>,
): HostOptions<StorageError | InvalidRequest> | undefined => {
  const given = options === false ? undefined : options?.masterKey
  if (options === false || (given === undefined && store.masterKey === "given")) return undefined
  const folder = typeof store.masterKey === "string" ? undefined : store.masterKey.folder
  const source = { given: given === undefined ? undefined : Redacted.make(given), folder }
  const explain = ({ message }: MasterKeyRefused) => refused({ message })
  return {
    masterKey: Effect.catchTag(
      MasterKey.ensureOpens(source, otherKey),
      "MasterKeyRefused",
      explain,
    ),
    allow,
  }
}
