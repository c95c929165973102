// API keys: the secret is shown once, hashed, and admitted until it is revoked or used up.
import { AccountId } from "@millrace/core/domain/Id"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"

const keys = Keys.layer.pipe(Layer.provideMerge(Layer.mergeAll(Memory.layer, Ids.layer)))

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
