// API keys: the secret is shown once, hashed, and admitted until it is revoked or used up.
import { CurrentSecretPrefix } from "@millrace/core/domain/ApiKey"
import { AccountId, KeyId } from "@millrace/core/domain/Id"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { Digest } from "effect/crypto"
import { TestClock } from "effect/testing"

const keys = Keys.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Memory.layer, Ids.layer, Digest.layerWebCrypto)),
)

describe("Keys.create", () => {
  it.effect("gives the secret once and stores neither it nor a part beyond the prefix", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const store = yield* KeyStore
      const account = yield* service.createAccount("Acme")
      const { key, secret } = yield* service.create(account.id, { label: "  CI  " })
      assert.strictEqual(key.label, "CI")
      assert.deepInclude(key, { perMinute: 60, perDay: 1_000, expiresAt: null, revokedAt: null })
      const listed = yield* store.list(account.id)
      assert.deepStrictEqual(listed, [key])
      assert.notInclude(JSON.stringify(listed), Redacted.value(secret).slice(12))
      assert.notInclude(String(secret), Redacted.value(secret))
    }).pipe(Effect.provide(keys)),
  )

  it.effect("refuses an empty label, a taken one and an unknown account", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const { id } = yield* service.createAccount("Acme")
      yield* service.create(id, { label: "one" })
      const empty = yield* Effect.flip(service.create(id, { label: "   " }))
      const taken = yield* Effect.flip(service.create(id, { label: "ONE" }))
      const nobody = yield* Effect.flip(service.create(AccountId.make("acc_no"), { label: "x" }))
      assert.deepStrictEqual(
        [empty._tag, taken._tag, nobody._tag],
        ["InvalidKey", "LabelTaken", "AccountNotFound"],
      )
    }).pipe(Effect.provide(keys)),
  )
})

describe("Keys.updateAccount", () => {
  it.effect("sets the cap of an account, and knows no other one", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      yield* TestClock.setTime(5_000)
      const account = yield* service.createAccount("Acme")
      assert.deepInclude(account, { name: "Acme", createdAt: 5_000, runsAtOnce: null })
      const updated = yield* service.updateAccount(account.id, { runsAtOnce: 3 })
      assert.deepStrictEqual(updated, { ...account, runsAtOnce: 3 })
      assert.deepStrictEqual(yield* service.listAccounts, [updated])
      const nobody = AccountId.make("acc_no")
      const error = yield* Effect.flip(service.updateAccount(nobody, { runsAtOnce: 3 }))
      assert.strictEqual(error.message, "Account acc_no does not exist")
    }).pipe(Effect.provide(keys)),
  )
})

describe("Keys.ensureAccount", () => {
  it.effect("makes one account of a name, however many ask for it at the same time", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const store = yield* KeyStore
      // Nobody sees another one's account before all have decided to make it.
      const late = KeyStore.of({
        ...store,
        insertAccount: (account) => Effect.andThen(Effect.yieldNow, store.insertAccount(account)),
      })
      const other = yield* Effect.provide(
        Keys,
        Layer.provide(Layer.fresh(Keys.layer), [
          Layer.succeed(KeyStore, late),
          Ids.layer,
          Digest.layerWebCrypto,
        ]),
      )
      const asked = Array.from({ length: 20 }, () => other.ensureAccount("Acme"))
      const made = yield* Effect.all(asked, { concurrency: "unbounded" })
      const accounts = yield* service.listAccounts
      assert.strictEqual(accounts.length, 1)
      assert.deepStrictEqual(new Set(made.map(({ id }) => id)), new Set([accounts[0]?.id]))
      assert.match(
        accounts[0]!.id,
        /^acc_[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/,
      )
      assert.notStrictEqual((yield* service.ensureAccount("Other")).id, accounts[0]?.id)
    }).pipe(Effect.provide(keys)),
  )

  it.effect("takes the oldest account of the name, and stays with the one that it has made", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const older = yield* service.createAccount("Acme")
      yield* TestClock.adjust("1 second")
      yield* service.createAccount("Acme")
      assert.deepStrictEqual(yield* service.ensureAccount("Acme"), older)
      const made = yield* service.ensureAccount("Beta")
      yield* TestClock.setTime(0)
      yield* service.createAccount("Beta")
      assert.deepStrictEqual(yield* service.ensureAccount("Beta"), made)
      assert.deepStrictEqual(yield* service.findAccountNamed("Gamma"), Option.none())
    }).pipe(Effect.provide(keys)),
  )
})

describe("Keys.create with bounds", () => {
  it.effect("names every problem, and stores nothing", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const { id } = yield* service.createAccount("Acme")
      yield* TestClock.adjust("1 hour")
      const wanted = { label: "x".repeat(101), perMinute: 10_001, perDay: 0, expiresAt: 3_600_000 }
      const { message } = yield* Effect.flip(service.create(id, wanted))
      assert.strictEqual(
        message,
        "label: expected 1 to 100 characters; perMinute: expected 1 to 10000; " +
          "perDay: expected 1 to 100000; expiresAt: expected a time to come",
      )
      assert.deepStrictEqual(yield* service.list(id), [])
    }).pipe(Effect.provide(keys)),
  )

  it.effect("gives new keys the prefix in force, and admits those that have another", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const { id } = yield* service.createAccount("Acme")
      const { key, secret } = yield* service.create(id, { label: "one" })
      assert.match(Redacted.value(secret), /^acme_[0-9A-Za-z]{49}$/)
      assert.strictEqual(key.prefix, Redacted.value(secret).slice(0, 12))
      assert.strictEqual((yield* service.admit(secret))._tag, "Admitted")
    }).pipe(Effect.provide(keys.pipe(Layer.provide(Layer.succeed(CurrentSecretPrefix, "acme_"))))),
  )
})

describe("Keys.list, update and revoke", () => {
  it.effect("change what is asked for, trimmed, and end a key for good", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const { id } = yield* service.createAccount("Acme")
      const { key, secret } = yield* service.create(id, { label: "one" })
      const updated = yield* service.update(id, key.id, { label: " two ", perMinute: 1 })
      assert.deepStrictEqual(updated, { ...key, label: "two", perMinute: 1 })
      assert.strictEqual((yield* service.admit(secret))._tag, "Admitted")
      assert.strictEqual((yield* service.admit(secret))._tag, "Limited")
      yield* TestClock.adjust("2 seconds")
      const revoked = yield* service.revoke(id, key.id)
      assert.deepStrictEqual(revoked, { ...updated, lastUsedAt: 0, revokedAt: 2_000 })
      assert.strictEqual((yield* service.admit(secret))._tag, "Refused")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* service.revoke(id, key.id), revoked)
      assert.deepStrictEqual(yield* service.list(id), [revoked])
    }).pipe(Effect.provide(keys)),
  )

  it.effect("refuse what is out of bounds, taken or not there", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const { id } = yield* service.createAccount("Acme")
      const stranger = yield* service.createAccount("Other")
      const { key } = yield* service.create(id, { label: "one" })
      yield* service.create(id, { label: "two" })
      const nobody = AccountId.make("acc_no")
      const refusals = yield* Effect.all([
        Effect.flip(service.update(id, key.id, { label: " " })),
        Effect.flip(service.update(id, key.id, { perDay: 100_001 })),
        Effect.flip(service.update(id, key.id, { label: "TWO" })),
        Effect.flip(service.update(stranger.id, key.id, {})),
        Effect.flip(service.revoke(id, KeyId.make("key_no"))),
        Effect.flip(service.list(nobody)),
      ])
      assert.deepStrictEqual(
        refusals.map(({ _tag }) => _tag),
        ["InvalidKey", "InvalidKey", "LabelTaken", "KeyNotFound", "KeyNotFound", "AccountNotFound"],
      )
      assert.strictEqual(refusals[4].message, "Key key_no does not exist")
      assert.deepStrictEqual((yield* service.list(id))[0], key)
    }).pipe(Effect.provide(keys)),
  )
})

describe("Keys.admit", () => {
  it.effect("admits a live key, counts down, limits and admits again in the next minute", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const { id } = yield* service.createAccount("Acme")
      const { key, secret } = yield* service.create(id, { label: "one", perMinute: 2 })
      const first = yield* service.admit(secret)
      const second = yield* service.admit(secret)
      const third = yield* service.admit(secret)
      assert.deepInclude(first, { _tag: "Admitted", accountId: id, keyId: key.id })
      assert.deepStrictEqual(
        [first, second].map((each) => (each._tag === "Admitted" ? each.window.remaining : -1)),
        [1, 0],
      )
      assert.strictEqual(third._tag, "Limited")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* service.admit(secret))._tag, "Admitted")
    }).pipe(Effect.provide(keys)),
  )

  it.effect("asks the store for nothing that cannot be a secret", () =>
    Effect.gen(function* () {
      const store = yield* KeyStore
      let asked = 0
      const admit: typeof store.admit = (...given) =>
        Effect.suspend(() => {
          asked += 1
          return store.admit(...given)
        })
      const service = yield* Effect.provide(Keys, Layer.fresh(Keys.layer)).pipe(
        Effect.provideService(KeyStore, { ...store, admit }),
      )
      yield* service.admit(Redacted.make("mr_junk"))
      assert.strictEqual(asked, 0)
      const { id } = yield* service.createAccount("Acme")
      yield* service.admit((yield* service.create(id, { label: "one" })).secret)
      assert.strictEqual(asked, 1)
    }).pipe(Effect.provide(keys)),
  )

  it.effect("refuses junk, a foreign secret, and a key revoked or expired", () =>
    Effect.gen(function* () {
      const service = yield* Keys
      const store = yield* KeyStore
      const { id } = yield* service.createAccount("Acme")
      const revoked = yield* service.create(id, { label: "revoked" })
      const expired = yield* service.create(id, { label: "expired", expiresAt: 1_000 })
      yield* store.revoke(id, revoked.key.id)
      yield* TestClock.adjust("1 second")
      for (const secret of [
        Redacted.make(""),
        Redacted.make("mr_junk"),
        revoked.secret,
        expired.secret,
      ]) {
        assert.strictEqual((yield* service.admit(secret))._tag, "Refused")
      }
    }).pipe(Effect.provide(keys)),
  )
})
