/**
 * The key store in memory.
 *
 * Guarantees: every method is one synchronous step; windows and expiry follow Effect's clock.
 * Leaves out: durability.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { hasLabel, isLive } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import { liveKeysPerAccount } from "@millrace/core/domain/Limits"
import type { QuotaUsage } from "@millrace/core/domain/Quota"
import * as Quota from "@millrace/core/domain/Quota"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Admission, KeyChange } from "@millrace/core/ports/KeyStore"
import { AccountNotFound, KeyStore, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Effect, Layer, Option } from "effect"
import { Accounts } from "./Accounts.ts"
import { compare } from "./Timeline.ts"

interface Entry {
  key: ApiKey
  usage: QuotaUsage
}

const failure = (operation: string, message: string): StorageError =>
  new StorageError({ operation, cause: new Error(message) })

/** A hash as a key of a `Map`: one character per byte. */
const textOf = (hash: Uint8Array): string => String.fromCharCode(...hash)

const changed = (key: ApiKey, change: KeyChange): ApiKey => ({
  ...key,
  label: change.label ?? key.label,
  perMinute: change.perMinute ?? key.perMinute,
  perDay: change.perDay ?? key.perDay,
})

/** All accounts and keys of one store. */
class Keys {
  readonly accounts: Map<AccountId, Account>
  readonly entries = new Map<KeyId, Entry>()
  readonly byHash = new Map<string, Entry>()

  constructor(accounts: Map<AccountId, Account>) {
    this.accounts = accounts
  }

  find(account: AccountId, id: KeyId): Entry | undefined {
    const entry = this.entries.get(id)
    return entry?.key.accountId === account ? entry : undefined
  }

  list(account: AccountId): ReadonlyArray<ApiKey> {
    const keys = Array.from(this.entries.values(), ({ key }) => key)
    return keys.filter(({ accountId }) => accountId === account).toSorted(compare)
  }

  live(account: AccountId, now: Timestamp): ReadonlyArray<ApiKey> {
    return this.list(account).filter((key) => isLive(key, now))
  }

  admit(hash: Uint8Array, now: Timestamp): Admission {
    const entry = this.byHash.get(textOf(hash))
    if (entry === undefined || !isLive(entry.key, now)) return { _tag: "Refused" }
    const { admitted, usage, window } = Quota.take(entry.key, entry.usage, now)
    if (!admitted) {
      return { _tag: "Limited", window, retryAfterMillis: Math.max(0, window.resetAt - now) }
    }
    entry.usage = usage
    entry.key = { ...entry.key, lastUsedAt: now }
    return { _tag: "Admitted", accountId: entry.key.accountId, keyId: entry.key.id, window }
  }

  /** Why a key cannot be stored; `undefined` if it can. */
  problemOf(key: ApiKey, hash: Uint8Array, now: Timestamp) {
    const { accountId, id, label } = key
    if (!this.accounts.has(accountId)) return new AccountNotFound({ accountId })
    const live = this.live(accountId, now)
    if (hasLabel(live, label)) return new LabelTaken({ label })
    if (live.length >= liveKeysPerAccount) return new TooManyKeys({ limit: liveKeysPerAccount })
    return this.entries.has(id) || this.byHash.has(textOf(hash))
      ? failure("KeyStore.insert", `Key ${id} or its hash exists already`)
      : undefined
  }

  insert(key: ApiKey, hash: Uint8Array): void {
    const entry = { key, usage: Quota.unused }
    this.entries.set(key.id, entry)
    this.byHash.set(textOf(hash), entry)
  }

  update(account: AccountId, id: KeyId, change: KeyChange, now: Timestamp) {
    const entry = this.find(account, id)
    if (entry === undefined) return undefined
    const { label } = change
    const others = this.live(account, now).filter((key) => key.id !== id)
    if (label !== undefined && hasLabel(others, label)) return new LabelTaken({ label })
    entry.key = changed(entry.key, change)
    return entry.key
  }

  revoke(account: AccountId, id: KeyId, now: Timestamp): ApiKey | undefined {
    const entry = this.find(account, id)
    if (entry === undefined) return undefined
    entry.key = { ...entry.key, revokedAt: entry.key.revokedAt ?? now }
    return entry.key
  }
}

const make = (accounts: Map<AccountId, Account>) => {
  const keys = new Keys(accounts)
  const now = Clock.currentTimeMillis
  return KeyStore.of({
    admit: (hash) => Effect.map(now, (millis) => keys.admit(hash, millis)),
    insert: (key, hash) =>
      Effect.flatMap(now, (millis) => {
        const problem = keys.problemOf(key, hash, millis)
        if (problem !== undefined) return Effect.fail(problem)
        keys.insert(key, hash)
        return Effect.void
      }),
    update: (account, id, change) =>
      Effect.flatMap(now, (millis) => {
        const updated = keys.update(account, id, change, millis)
        return updated instanceof LabelTaken
          ? Effect.fail(updated)
          : Effect.succeed(Option.fromUndefinedOr(updated))
      }),
    revoke: (account, id) =>
      Effect.map(now, (millis) => Option.fromUndefinedOr(keys.revoke(account, id, millis))),
    list: (account) => Effect.sync(() => keys.list(account)),
    insertAccount: (account) =>
      Effect.suspend(() => {
        if (keys.accounts.has(account.id)) {
          return failure("KeyStore.insertAccount", `Account ${account.id} exists already`)
        }
        keys.accounts.set(account.id, account)
        return Effect.void
      }),
    findAccount: (id) => Effect.sync(() => Option.fromUndefinedOr(keys.accounts.get(id))),
    updateAccount: (id, { runsAtOnce }) =>
      Effect.sync(() => {
        const known = keys.accounts.get(id)
        if (known === undefined) return Option.none()
        const next = { ...known, runsAtOnce }
        keys.accounts.set(id, next)
        return Option.some(next)
      }),
    listAccounts: Effect.sync(() => [...keys.accounts.values()].toSorted(compare)),
  })
}

/** A key store. The run store reads the same accounts. */
export const layer: Layer.Layer<KeyStore, never, Accounts> = Layer.effect(
  KeyStore,
  Effect.map(Accounts, make),
)
