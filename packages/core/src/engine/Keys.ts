/**
 * Accounts and their API keys: makes secrets, hashes them, and admits requests.
 *
 * Guarantees: only the call that makes a key returns its secret. A text that cannot be a secret is
 * refused without a read of the store. Leaves out: HTTP.
 */
import { Clock, Context, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { Digest } from "effect/crypto"
import type { Account } from "../domain/Account.ts"
import type { ApiKey } from "../domain/ApiKey.ts"
import {
  CurrentSecretPrefix,
  isWellFormed,
  KeyLabel,
  prefixOf,
  secretOf,
} from "../domain/ApiKey.ts"
import { AccountId, KeyId, prefixes } from "../domain/Id.ts"
import type { WorkflowId } from "../domain/Id.ts"
import { defaultQuota, Quota } from "../domain/Quota.ts"
import { plain } from "../domain/Quote.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type {
  AccountChange,
  Admission,
  KeyChange,
  LabelTaken,
  TooManyKeys,
} from "../ports/KeyStore.ts"
import { AccountNotFound, KeyStore } from "../ports/KeyStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { Ids } from "./Ids.ts"

/** The fields of a new key. Absent limits have their defaults (specification 2.8). */
export interface NewKey extends Partial<Quota> {
  readonly label: string
  readonly expiresAt?: Timestamp | undefined
}

/** A new key with its secret. */
export interface CreatedKey {
  readonly key: ApiKey
  readonly secret: Redacted.Redacted
}

/** A field of the key is outside its bounds. The message names every problem. */
export class InvalidKey extends Schema.TaggedError<InvalidKey>()("InvalidKey", {
  message: Schema.String,
}) {}

/** The account has no such key. */
export class KeyNotFound extends Schema.TaggedError<KeyNotFound>()("KeyNotFound", {
  keyId: Schema.String,
}) {
  override get message(): string {
    return `Key ${plain(this.keyId)} does not exist`
  }
}

export class Keys extends Context.Service<
  Keys,
  {
    /** Makes an account. Several accounts may have the same name. */
    readonly createAccount: (name: string) => Effect.Effect<Account, StorageError>
    /** The account that {@link ensureAccount} has made under this name, or the oldest one. */
    readonly findAccountNamed: (name: string) => Effect.Effect<Option.Option<Account>, StorageError>
    /**
     * The account of this name, which is made if missing. Its id follows from the name, so
     * processes that ask at the same time get the same account.
     */
    readonly ensureAccount: (name: string) => Effect.Effect<Account, StorageError>
    /** Sets an account's own cap of runs; servers obey it within 8 seconds. */
    readonly updateAccount: (
      id: AccountId,
      change: AccountChange,
    ) => Effect.Effect<Account, AccountNotFound | StorageError>
    /** All accounts, oldest first. */
    readonly listAccounts: Effect.Effect<ReadonlyArray<Account>, StorageError>
    /** Makes a key. Only this answer has the secret. */
    readonly create: (
      account: AccountId,
      key: NewKey,
    ) => Effect.Effect<
      CreatedKey,
      AccountNotFound | LabelTaken | TooManyKeys | InvalidKey | StorageError
    >
    /** The keys of an account, oldest first, including revoked and expired ones. */
    readonly list: (
      account: AccountId,
    ) => Effect.Effect<ReadonlyArray<ApiKey>, AccountNotFound | StorageError>
    /** Changes label or limits from the next request on. Requests made before still count. */
    readonly update: (
      account: AccountId,
      id: KeyId,
      change: KeyChange,
    ) => Effect.Effect<ApiKey, KeyNotFound | LabelTaken | InvalidKey | StorageError>
    /** Revokes a key from the next request on. A key revoked before keeps its time. */
    readonly revoke: (
      account: AccountId,
      id: KeyId,
    ) => Effect.Effect<ApiKey, KeyNotFound | StorageError>
    /**
     * Counts one request against the quota of the key with this secret. `ahead` names a workflow
     * that the request will read; the answer may contain it.
     */
    readonly admit: (
      secret: Redacted.Redacted,
      ahead?: WorkflowId,
    ) => Effect.Effect<Admission, StorageError>
  }
>()("@millrace/core/engine/Keys") {
  /**
   * Needs the key store and `Ids`. Provide the platform's `Digest` to make requests fast.
   */
  static readonly layer: Layer.Layer<Keys, never, KeyStore | Ids | Digest.Digest> = Layer.effect(
    Keys,
    Effect.suspend(() => make),
  )
}

const isLabel = Schema.is(KeyLabel)
const isPerMinute = Schema.is(Quota.fields.perMinute)
const isPerDay = Schema.is(Quota.fields.perDay)

/** The given fields, with the label as it will be stored. Fails with every problem. */
const check = <K extends KeyChange & Pick<Partial<NewKey>, "expiresAt">>(
  wanted: K,
  now: Timestamp,
): Result.Result<K, InvalidKey> => {
  const { expiresAt, perDay, perMinute } = wanted
  const label = wanted.label?.trim()
  const problems = [
    label === undefined || isLabel(label) ? [] : "label: expected 1 to 100 characters",
    perMinute === undefined || isPerMinute(perMinute) ? [] : "perMinute: expected 1 to 10000",
    perDay === undefined || isPerDay(perDay) ? [] : "perDay: expected 1 to 100000",
    expiresAt === undefined || expiresAt > now ? [] : "expiresAt: expected a time to come",
  ].flat()
  if (problems.length > 0) return Result.fail(new InvalidKey({ message: problems.join("; ") }))
  return Result.succeed({ ...wanted, label })
}

const refused: Admission = { _tag: "Refused" }

const makeSecrets = Effect.gen(function* () {
  const { digest } = yield* Digest.Digest
  const encoder = new TextEncoder()
  const ids = yield* Ids
  const prefix = yield* CurrentSecretPrefix
  return {
    hashOf: (text: string) => digest(Digest.sha256, encoder.encode(text)),
    next: Effect.map(ids.bytes(32), (random) => secretOf(random, prefix)),
  }
})

/** The id that follows from an account's name: a UUID of version 8. */
const idOf = (hash: Uint8Array): AccountId => {
  const hex = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("")
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  return AccountId.make(`${prefixes.account}_${parts.join("-")}-${hex.slice(20, 32)}`)
}

/** Accounts that are found, and made, by their names. */
const makeNamedAccounts = Effect.gen(function* () {
  const store = yield* KeyStore
  const clock = yield* Clock.Clock
  const { hashOf } = yield* makeSecrets
  const idOfName = (name: string) => Effect.map(hashOf(`account:${name}`), idOf)
  const find = Effect.fn("Keys.findAccountNamed")(function* (name: string) {
    const made = yield* store.findAccount(yield* idOfName(name))
    if (Option.isSome(made)) return made
    const accounts = yield* store.listAccounts
    return Option.fromUndefinedOr(accounts.find((each) => each.name === name))
  })
  return {
    findAccountNamed: find,
    ensureAccount: Effect.fn("Keys.ensureAccount")(function* (name: string) {
      const known = yield* find(name)
      if (Option.isSome(known)) return known.value
      const id = yield* idOfName(name)
      const createdAt = clock.currentTimeMillisUnsafe()
      const account: Account = { id, name, createdAt, runsAtOnce: null }
      // Another process may have stored it meanwhile: the store refuses a second one of this id.
      const other = (error: StorageError) =>
        Effect.flatMap(
          store.findAccount(id),
          Option.match({ onNone: () => Effect.fail(error), onSome: Effect.succeed }),
        )
      return yield* Effect.catch(Effect.as(store.insertAccount(account), account), other)
    }),
  }
})

const makeAccounts = Effect.gen(function* () {
  const store = yield* KeyStore
  const ids = yield* Ids
  const clock = yield* Clock.Clock
  return {
    ...(yield* makeNamedAccounts),
    listAccounts: store.listAccounts,
    createAccount: Effect.fn("Keys.createAccount")(function* (name: string) {
      const account: Account = {
        id: AccountId.make(yield* ids.make("account")),
        name,
        createdAt: clock.currentTimeMillisUnsafe(),
        runsAtOnce: null,
      }
      yield* store.insertAccount(account)
      return account
    }),
    updateAccount: Effect.fn("Keys.updateAccount")(function* (
      id: AccountId,
      change: AccountChange,
    ) {
      const account = yield* store.updateAccount(id, change)
      return Option.isSome(account) ? account.value : yield* new AccountNotFound({ accountId: id })
    }),
  }
})

const makeCreate = Effect.gen(function* () {
  const store = yield* KeyStore
  const ids = yield* Ids
  const clock = yield* Clock.Clock
  const { hashOf, next } = yield* makeSecrets
  return Effect.fn("Keys.create")(function* (accountId: AccountId, asked: NewKey) {
    const now = clock.currentTimeMillisUnsafe()
    const wanted = yield* Effect.fromResult(check(asked, now))
    const secret = yield* next
    const key: ApiKey = {
      id: KeyId.make(yield* ids.make("key")),
      accountId,
      label: wanted.label,
      prefix: prefixOf(secret),
      perMinute: wanted.perMinute ?? defaultQuota.perMinute,
      perDay: wanted.perDay ?? defaultQuota.perDay,
      expiresAt: wanted.expiresAt ?? null,
      revokedAt: null,
      createdAt: now,
      lastUsedAt: null,
    }
    yield* store.insert(key, yield* hashOf(secret))
    return { key, secret: Redacted.make(secret) }
  })
})

const known = (id: KeyId) => (key: Option.Option<ApiKey>) =>
  Option.isSome(key) ? Effect.succeed(key.value) : Effect.fail(new KeyNotFound({ keyId: id }))

const make = Effect.gen(function* () {
  const store = yield* KeyStore
  const clock = yield* Clock.Clock
  const { hashOf } = yield* makeSecrets
  return Keys.of({
    ...(yield* makeAccounts),
    create: yield* makeCreate,
    list: Effect.fn("Keys.list")(function* (accountId) {
      const account = yield* store.findAccount(accountId)
      if (Option.isNone(account)) return yield* new AccountNotFound({ accountId })
      return yield* store.list(accountId)
    }),
    update: Effect.fn("Keys.update")(function* (accountId, id, asked) {
      const change = yield* Effect.fromResult(check(asked, clock.currentTimeMillisUnsafe()))
      return yield* Effect.flatMap(store.update(accountId, id, change), known(id))
    }),
    revoke: Effect.fn("Keys.revoke")((accountId, id) =>
      Effect.flatMap(store.revoke(accountId, id), known(id)),
    ),
    admit: (secret, ahead) => {
      const text = Redacted.value(secret)
      if (!isWellFormed(text)) return Effect.succeed(refused)
      return Effect.flatMap(hashOf(text), (hash) => store.admit(hash, ahead))
    },
  })
})
