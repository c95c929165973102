/**
 * What a key store means, in the plainest way that is right: part of the model of the stores.
 *
 * Where a port leaves a choice the model makes one: a taken label is refused before a full account,
 * and both before an identifier or a hash that exists.
 *
 * Leaves out: speed. A window is counted by looking at every request that was ever admitted.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import type { Window } from "@millrace/core/domain/Quota"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Admission, KeyChange } from "@millrace/core/ports/KeyStore"
import { AccountNotFound, KeyStore, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Effect, Option } from "effect"
import { oldestFirst } from "./StoreModelPage.ts"

/** A key store, and what it holds. */
export interface KeyModel {
  readonly store: KeyStore["Service"]
  readonly keys: () => ReadonlyArray<ApiKey>
  readonly accounts: () => ReadonlyArray<Account>
}

const maxLiveKeys = 10
const minute = 60_000
const day = 24 * 60 * minute

interface Hashed {
  readonly id: KeyId
  readonly hash: string
}

interface Admitted {
  readonly id: KeyId
  readonly at: Timestamp
}

const isLive = ({ expiresAt, revokedAt }: ApiKey, now: Timestamp): boolean =>
  revokedAt === null && (expiresAt === null || now < expiresAt)

const trouble = (operation: string) =>
  new StorageError({ operation, cause: new Error("it exists already") })

/** All lists of the model, and the questions that its methods ask. */
class Lists {
  accounts: ReadonlyArray<Account> = []
  keys: ReadonlyArray<ApiKey> = []
  hashes: ReadonlyArray<Hashed> = []
  admitted: ReadonlyArray<Admitted> = []

  find(account: AccountId, id: KeyId): ApiKey | undefined {
    return this.keys.find((key) => key.accountId === account && key.id === id)
  }

  set(next: ApiKey): ApiKey {
    this.keys = this.keys.map((key) => (key.id === next.id ? next : key))
    return next
  }

  live(account: AccountId, now: Timestamp): ReadonlyArray<ApiKey> {
    return this.keys.filter((key) => key.accountId === account && isLive(key, now))
  }

  /** A window of a key: what is left of it, and when the next one begins. */
  window(id: KeyId, limit: number, length: number, now: Timestamp): Window {
    const number = Math.floor(now / length)
    const used = this.admitted.filter(
      (each) => each.id === id && Math.floor(each.at / length) === number,
    )
    return { remaining: Math.max(0, limit - used.length), resetAt: (number + 1) * length }
  }

  windows({ id, perDay, perMinute }: ApiKey, now: Timestamp) {
    return {
      ofMinute: this.window(id, perMinute, minute, now),
      ofDay: this.window(id, perDay, day, now),
    }
  }

  admit(hash: string, now: Timestamp): Admission {
    const id = this.hashes.find((each) => each.hash === hash)?.id
    const key = this.keys.find((each) => each.id === id)
    if (key === undefined || !isLive(key, now)) return { _tag: "Refused" }
    const before = this.windows(key, now)
    if (before.ofDay.remaining === 0) return limited(before.ofDay, now)
    if (before.ofMinute.remaining === 0) return limited(before.ofMinute, now)
    this.admitted = [...this.admitted, { id: key.id, at: now }]
    this.set({ ...key, lastUsedAt: now })
    const { ofDay, ofMinute } = this.windows(key, now)
    const window = ofMinute.remaining < ofDay.remaining ? ofMinute : ofDay
    return { _tag: "Admitted", accountId: key.accountId, keyId: key.id, window }
  }

  problemOf(key: ApiKey, hash: string, now: Timestamp) {
    const { accountId, label } = key
    const live = this.live(accountId, now)
    if (this.accounts.every(({ id }) => id !== accountId)) return new AccountNotFound({ accountId })
    if (hasLabel(live, label)) return new LabelTaken({ label })
    if (live.length >= maxLiveKeys) return new TooManyKeys({ limit: maxLiveKeys })
    const isKnown = this.hashes.some((each) => each.id === key.id || each.hash === hash)
    return isKnown ? trouble("insert") : undefined
  }
}

const limited = (window: Window, now: Timestamp): Admission => ({
  _tag: "Limited",
  window,
  retryAfterMillis: window.resetAt - now,
})

const hasLabel = (keys: ReadonlyArray<ApiKey>, label: string): boolean =>
  keys.some((key) => key.label.toLowerCase() === label.toLowerCase())

const changed = (key: ApiKey, { label, perDay, perMinute }: KeyChange): ApiKey => ({
  ...key,
  label: label === undefined ? key.label : label,
  perMinute: perMinute === undefined ? key.perMinute : perMinute,
  perDay: perDay === undefined ? key.perDay : perDay,
})

const withNow = <A, E>(effect: (now: Timestamp) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.flatMap(Clock.currentTimeMillis, effect)

/** What an owner does to keys. */
const owning = (lists: Lists): Pick<KeyStore["Service"], "insert" | "update" | "revoke"> => ({
  insert: (key, hash) =>
    withNow((now) => {
      const problem = lists.problemOf(key, hash.toString(), now)
      if (problem !== undefined) return Effect.fail(problem)
      lists.keys = [...lists.keys, key]
      lists.hashes = [...lists.hashes, { id: key.id, hash: hash.toString() }]
      return Effect.void
    }),
  update: (account, id, change) =>
    withNow((now) => {
      const key = lists.find(account, id)
      if (key === undefined) return Effect.succeedNone
      const { label } = change
      const others = lists.live(account, now).filter((each) => each.id !== id)
      return label !== undefined && hasLabel(others, label)
        ? Effect.fail(new LabelTaken({ label }))
        : Effect.succeedSome(lists.set(changed(key, change)))
    }),
  revoke: (account, id) =>
    withNow((now) => {
      const key = lists.find(account, id)
      if (key === undefined) return Effect.succeedNone
      if (key.revokedAt !== null) return Effect.succeedSome(key)
      return Effect.succeedSome(lists.set({ ...key, revokedAt: now }))
    }),
})

/** An empty key store. */
export const make = (): KeyModel => {
  const lists = new Lists()
  const store = KeyStore.of({
    ...owning(lists),
    admit: (hash) => withNow((now) => Effect.succeed(lists.admit(hash.toString(), now))),
    list: (account) =>
      Effect.sync(() => oldestFirst(lists.keys.filter((key) => key.accountId === account))),
    insertAccount: (account) =>
      Effect.suspend(() => {
        if (lists.accounts.some(({ id }) => id === account.id)) return trouble("insertAccount")
        lists.accounts = [...lists.accounts, account]
        return Effect.void
      }),
    findAccount: (id) =>
      Effect.sync(() => Option.fromUndefinedOr(lists.accounts.find((each) => each.id === id))),
    updateAccount: (id, { runsAtOnce }) =>
      Effect.sync(() => {
        const known = lists.accounts.find((each) => each.id === id)
        if (known === undefined) return Option.none()
        const next = { ...known, runsAtOnce }
        lists.accounts = lists.accounts.map((each) => (each === known ? next : each))
        return Option.some(next)
      }),
    listAccounts: Effect.sync(() => oldestFirst(lists.accounts)),
  })
  return { store, keys: () => lists.keys, accounts: () => lists.accounts }
}
