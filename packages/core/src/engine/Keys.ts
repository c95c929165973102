/**
 * Accounts and their API keys: making secrets, hashing them, admitting requests.
 *
 * Guarantees: a secret leaves this module once, when it is made; text that cannot be a secret is
 * refused without asking the store. Leaves out: the HTTP form of all this.
 */
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import { Digest } from "effect/crypto"
import type { Account } from "../domain/Account.ts"
import type { ApiKey } from "../domain/ApiKey.ts"
import { isWellFormed, KeyLabel, prefixOf, secretOf } from "../domain/ApiKey.ts"
import { AccountId, KeyId } from "../domain/Id.ts"
import type { Quota } from "../domain/Quota.ts"
import { defaultQuota } from "../domain/Quota.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { AccountNotFound, Admission, LabelTaken, TooManyKeys } from "../ports/KeyStore.ts"
import { KeyStore } from "../ports/KeyStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { Ids } from "./Ids.ts"

/** What a new key is made of; limits fall back to the defaults (specification 2.8). */
export interface NewKey extends Partial<Quota> {
  readonly label: string
  readonly expiresAt?: Timestamp | undefined
}

/** A key and, this once, its secret. */
export interface CreatedKey {
  readonly key: ApiKey
  readonly secret: Redacted.Redacted
}

/** What was asked for is outside the bounds of a key. */
export class InvalidKey extends Schema.TaggedError<InvalidKey>()("InvalidKey", {
  message: Schema.String,
}) {}

export class Keys extends Context.Service<
  Keys,
  {
    readonly createAccount: (name: string) => Effect.Effect<Account, StorageError>
    /** Makes a key. The secret is in the answer and nowhere else. */
    readonly create: (
      account: AccountId,
      key: NewKey,
    ) => Effect.Effect<
      CreatedKey,
      AccountNotFound | LabelTaken | TooManyKeys | InvalidKey | StorageError
    >
    /** Takes one request out of the quota of the key with this secret. */
    readonly admit: (secret: Redacted.Redacted) => Effect.Effect<Admission, StorageError>
  }
>()("@millrace/core/engine/Keys") {
  /** Needs the key store and a source of identities. */
  static readonly layer: Layer.Layer<Keys, never, KeyStore | Ids> = Layer.effect(
    Keys,
    Effect.suspend(() => make),
  ).pipe(Layer.provide(Digest.layerWebCrypto))
}

const decodeLabel = Schema.decodeUnknownEffect(KeyLabel)

const labelOf = (text: string) =>
  Effect.mapError(
    decodeLabel(text.trim()),
    () => new InvalidKey({ message: "label: expected 1 to 100 characters" }),
  )

const make = Effect.gen(function* () {
  const store = yield* KeyStore
  const ids = yield* Ids
  const digest = yield* Digest.Digest
  const encoder = new TextEncoder()
  const hashOf = (secret: string) => digest.digest(Digest.sha256, encoder.encode(secret))

  const createAccount = Effect.fn("Keys.createAccount")(function* (name: string) {
    const account: Account = {
      id: AccountId.make(yield* ids.make("account")),
      name,
      createdAt: yield* Clock.currentTimeMillis,
    }
    yield* store.insertAccount(account)
    return account
  })

  const create = Effect.fn("Keys.create")(function* (accountId: AccountId, wanted: NewKey) {
    const secret = secretOf(yield* ids.bytes(32))
    const key: ApiKey = {
      id: KeyId.make(yield* ids.make("key")),
      accountId,
      label: yield* labelOf(wanted.label),
      prefix: prefixOf(secret),
      perMinute: wanted.perMinute ?? defaultQuota.perMinute,
      perDay: wanted.perDay ?? defaultQuota.perDay,
      expiresAt: wanted.expiresAt ?? null,
      revokedAt: null,
      createdAt: yield* Clock.currentTimeMillis,
    }
    yield* store.insert(key, yield* hashOf(secret))
    return { key, secret: Redacted.make(secret) }
  })

  const admit = Effect.fnUntraced(function* (secret: Redacted.Redacted) {
    const text = Redacted.value(secret)
    if (!isWellFormed(text)) return { _tag: "Refused" } satisfies Admission
    return yield* store.admit(yield* hashOf(text))
  })

  return Keys.of({ createAccount, create, admit })
})
