/**
 * What every key store must do with accounts and keys: labels, the limit on live keys, changes.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { type ApiKey } from "@millrace/core/domain/ApiKey"
import { AccountId, KeyId } from "@millrace/core/domain/Id"
import { liveKeysPerAccount } from "@millrace/core/domain/Limits"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { Clock, Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<KeyStore>

const dayMillis = 86_400_000

/** Fresh samples whose account exists. */
const make = Effect.gen(function* () {
  const samples = yield* Samples.make
  const store = yield* KeyStore
  yield* store.insertAccount(samples.accountOf())
  return samples
})

const insert = Effect.fnUntraced(function* (samples: Samples.Samples, change?: Partial<ApiKey>) {
  const store = yield* KeyStore
  const key = samples.key(change)
  yield* store.insert(key, samples.hash())
  return key
})

/** A day ago and a day ahead, on whatever clock the store has. */
const days = Effect.map(Clock.currentTimeMillis, (now) => ({
  past: now - dayMillis,
  future: now + dayMillis,
}))

const accounts = (it: Tests): void => {
  it.effect("stores accounts and lists them oldest first", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* KeyStore
      const younger = samples.accountOf({ name: "Ünï 😀" })
      const older = samples.accountOf({ id: samples.stranger, createdAt: Samples.epoch - 1 })
      yield* store.insertAccount(younger)
      yield* store.insertAccount(older)
      const all = yield* store.listAccounts
      assert.deepStrictEqual(yield* store.findAccount(younger.id), Option.some(younger))
      const unknown = AccountId.make("acc_\u0000none")
      assert.deepStrictEqual(yield* store.findAccount(unknown), Option.none())
      const mine = all.filter(({ id }) => id === younger.id || id === older.id)
      assert.deepStrictEqual(mine, [older, younger])
      const times = all.map(({ createdAt }) => createdAt)
      assert.deepStrictEqual(
        times,
        times.toSorted((a, b) => a - b),
      )
    }),
  )

  it.effect("refuses an identifier that exists and keeps what is there", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const again = samples.accountOf({ name: "Another" })
      assert.strictEqual((yield* Effect.flip(store.insertAccount(again)))._tag, "StorageError")
      const all = yield* store.listAccounts
      const mine = all.filter(({ id }) => id === samples.account)
      assert.deepStrictEqual(mine, [samples.accountOf()])
    }),
  )
}

const inserting = (it: Tests): void => {
  it.effect("gives back exactly what was stored, oldest first", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const { future } = yield* days
      const older = samples.key({ label: "Ünï 😀 '%_\\", perMinute: 1, perDay: 100_000 })
      const younger = samples.key({ expiresAt: future })
      yield* store.insert(younger, samples.hash())
      yield* store.insert(older, samples.hash())
      assert.deepStrictEqual(yield* store.list(samples.account), [older, younger])
      assert.deepStrictEqual(yield* store.list(samples.stranger), [])
    }),
  )

  it.effect("refuses an account that does not exist", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const key = samples.key({ accountId: samples.stranger })
      const error = yield* Effect.flip(store.insert(key, samples.hash()))
      assert.strictEqual(error._tag, "AccountNotFound")
      assert.deepStrictEqual(yield* store.list(samples.stranger), [])
    }),
  )

  it.effect("refuses an identifier or a hash that exists", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const hash = samples.hash()
      const key = samples.key()
      yield* store.insert(key, hash)
      const twice = [
        [samples.key(), hash],
        [{ ...samples.key(), id: key.id }, samples.hash()],
      ] as const
      for (const [other, otherHash] of twice) {
        const error = yield* Effect.flip(store.insert(other, otherHash))
        assert.strictEqual(error._tag, "StorageError")
      }
      assert.deepStrictEqual(yield* store.list(samples.account), [key])
    }),
  )
}

const labels = (it: Tests): void => {
  it.effect("refuses the label of a live key, in any case, within the account", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const key = yield* insert(samples, { label: "Ärger" })
      for (const label of ["Ärger", "äRGER"]) {
        const error = yield* Effect.flip(store.insert(samples.key({ label }), samples.hash()))
        assert.strictEqual(error._tag, "LabelTaken")
        if (error._tag === "LabelTaken") assert.strictEqual(error.label, label)
      }
      assert.deepStrictEqual(yield* store.list(samples.account), [key])
      yield* store.insertAccount(samples.accountOf({ id: samples.stranger }))
      yield* insert(samples, { accountId: samples.stranger, label: "Ärger" })
    }),
  )

  it.effect("frees the label of a key that was revoked or has expired", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const { past } = yield* days
      const key = yield* insert(samples, { label: "one" })
      yield* insert(samples, { label: "two", expiresAt: past })
      yield* store.revoke(samples.account, key.id)
      yield* insert(samples, { label: "ONE" })
      yield* insert(samples, { label: "TWO" })
    }),
  )

  it.effect("lets exactly one of many concurrent keys have a label", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, () => samples.key({ label: "same" })),
        (key) =>
          store.insert(key, samples.hash()).pipe(
            Effect.as("stored"),
            Effect.catchTag("LabelTaken", (error) => Effect.succeed(error._tag)),
          ),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter((outcome) => outcome === "stored").length, 1)
      assert.strictEqual((yield* store.list(samples.account)).length, 1)
    }),
  )
}

const limits = (it: Tests): void => {
  it.effect("holds ten live keys, exactly, also under a race", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 50 }, () => samples.key()),
        (key) =>
          store.insert(key, samples.hash()).pipe(
            Effect.as("stored"),
            Effect.catchTag("TooManyKeys", ({ _tag, limit }) => Effect.succeed(`${_tag} ${limit}`)),
          ),
        { concurrency: "unbounded" },
      )
      const stored = outcomes.filter((outcome) => outcome === "stored")
      assert.strictEqual(stored.length, liveKeysPerAccount)
      const refused = outcomes.filter((outcome) => outcome === `TooManyKeys ${liveKeysPerAccount}`)
      assert.strictEqual(refused.length, 50 - liveKeysPerAccount)
      assert.strictEqual((yield* store.list(samples.account)).length, liveKeysPerAccount)
    }),
  )

  it.effect("counts neither revoked nor expired keys", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const { past } = yield* days
      for (let n = 0; n < 3; n++) yield* insert(samples, { expiresAt: past })
      const keys: Array<ApiKey> = []
      for (let n = 0; n < liveKeysPerAccount; n++) keys.push(yield* insert(samples))
      const full = yield* Effect.flip(store.insert(samples.key(), samples.hash()))
      assert.strictEqual(full._tag, "TooManyKeys")
      yield* store.revoke(samples.account, keys[0]!.id)
      yield* insert(samples)
      const again = yield* Effect.flip(store.insert(samples.key(), samples.hash()))
      assert.strictEqual(again._tag, "TooManyKeys")
    }),
  )
}

const update = (it: Tests): void => {
  it.effect("changes what is given and keeps the rest", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const key = yield* insert(samples)
      const changes = [{ label: "New" }, { perMinute: 7 }, { perDay: 8 }, { label: "NEW" }, {}]
      let expected = key
      for (const change of changes) {
        expected = { ...expected, ...change }
        const updated = yield* store.update(samples.account, key.id, change)
        assert.deepStrictEqual(Option.getOrUndefined(updated), expected)
      }
      assert.deepStrictEqual(yield* store.list(samples.account), [expected])
    }),
  )

  it.effect("refuses the label of another live key and changes nothing", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const { past } = yield* days
      yield* insert(samples, { label: "taken" })
      yield* insert(samples, { label: "expired", expiresAt: past })
      const key = yield* insert(samples)
      const change = { label: "TAKEN", perMinute: 9 }
      const error = yield* Effect.flip(store.update(samples.account, key.id, change))
      assert.strictEqual(error._tag, "LabelTaken")
      const kept = (yield* store.list(samples.account)).find(({ id }) => id === key.id)
      assert.deepStrictEqual(kept, key)
      const free = yield* store.update(samples.account, key.id, { label: "EXPIRED" })
      assert.strictEqual(Option.getOrUndefined(free)?.label, "EXPIRED")
    }),
  )

  it.effect("lets exactly one of many concurrent keys take a label", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const keys: Array<ApiKey> = []
      for (let n = 0; n < 8; n++) keys.push(yield* insert(samples))
      const outcomes = yield* Effect.forEach(
        keys,
        (key) => Effect.option(store.update(samples.account, key.id, { label: "same" })),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter(Option.isSome).length, 1)
    }),
  )

  it.effect("knows neither unknown nor foreign keys", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const key = yield* insert(samples)
      const unknown = KeyId.make("key_\u0000unknown")
      const { account, stranger } = samples
      assert.isTrue(Option.isNone(yield* store.update(stranger, key.id, { label: "x" })))
      assert.isTrue(Option.isNone(yield* store.update(account, unknown, { label: "x" })))
      assert.isTrue(Option.isNone(yield* store.revoke(stranger, key.id)))
      assert.isTrue(Option.isNone(yield* store.revoke(account, unknown)))
      assert.deepStrictEqual(yield* store.list(account), [key])
    }),
  )
}

const revoke = (it: Tests): void => {
  it.effect("tells when a key was revoked, and keeps the first time", () =>
    Effect.gen(function* () {
      const samples = yield* make
      const store = yield* KeyStore
      const key = yield* insert(samples)
      const first = Option.getOrThrow(yield* store.revoke(samples.account, key.id))
      assert.isNotNull(first.revokedAt)
      assert.deepStrictEqual(first, { ...key, revokedAt: first.revokedAt })
      assert.deepStrictEqual(yield* store.list(samples.account), [first])
      const { past } = yield* days
      const long = yield* insert(samples, { revokedAt: past })
      const again = Option.getOrThrow(yield* store.revoke(samples.account, long.id))
      assert.deepStrictEqual(again, long)
    }),
  )
}

/** Registers the tests of accounts and keys; admission has a suite of its own. */
export const keyStoreSuite = (it: Tests): void => {
  describe("KeyStore.insertAccount", () => {
    accounts(it)
  })
  describe("KeyStore.insert", () => {
    inserting(it)
    labels(it)
    limits(it)
  })
  describe("KeyStore.update", () => {
    update(it)
  })
  describe("KeyStore.revoke", () => {
    revoke(it)
  })
}
