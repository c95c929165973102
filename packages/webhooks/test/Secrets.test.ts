/**
 * What an operator can rely on about secrets: they are sealed for one account, one name and its
 * hosts; nothing repeats a value; a new master key seals them anew.
 */
import { assert, describe, it } from "@effect/vitest"
import { AccountId } from "@millrace/core/domain/Id"
import { secretsPerReseal } from "@millrace/core/domain/Limits"
import { Ids } from "@millrace/core/engine/Ids"
import { resealAll, Secrets } from "@millrace/core/engine/Secrets"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { SecretStore } from "@millrace/core/ports/SecretStore"
import { Vault } from "@millrace/core/ports/Vault"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import * as Stores from "@millrace/memory/Stores"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"

const account = AccountId.make("acc_1")
const stranger = AccountId.make("acc_2")
const value = "sk_live_51HxYz"

const keyText = (byte: number) => Buffer.alloc(32, byte).toString("base64")
const vaultOf = (text: string) => MasterVault.layer(Redacted.make(text))

const over = (vault: Layer.Layer<Vault>) =>
  // Fresh, because a vault with another key takes the place of one that was provided before.
  Layer.fresh(Layer.mergeAll(Secrets.layer, Webhooks.layer)).pipe(
    Layer.provide([WebhookTargets.layerRefusing("none"), Ids.layer]),
    Layer.provideMerge(vault),
  )

const engine = Layer.provideMerge(over(vaultOf(keyText(1))), Stores.layer)

const tokenOf = (text: string, hosts: ReadonlyArray<string> = ["api.example.com"]) => ({
  name: "token",
  value: Redacted.make(text),
  hosts,
})

describe("Secrets.set", () => {
  it.effect("seals the value, which only its own account opens, and shows it nowhere", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      const made = yield* secrets.set(account, tokenOf(value))
      assert.deepInclude(made, { name: "token", hosts: ["api.example.com"], lastUsedAt: null })
      const [sealed] = yield* (yield* SecretStore).find(account, ["token"])
      assert.notInclude(JSON.stringify([made, sealed, yield* secrets.list(account)]), value)
      const [open] = yield* secrets.open(account, ["token", "none"], [])
      assert.strictEqual(Redacted.value(open!.value), value)
      assert.deepStrictEqual(yield* secrets.open(stranger, ["token"], []), [])
    }).pipe(Effect.provide(engine)),
  )

  it.effect("refuses in one sentence what cannot be a secret, without the value", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      const name = "1 to 64 letters, digits or _, no digit first"
      const refused = yield* Effect.flip(
        secrets.set(account, { name: "no-name", value: Redacted.make("password"), hosts: [] }),
      )
      assert.strictEqual(refused._tag, "InvalidSecret")
      assert.strictEqual(
        refused.message,
        `name: expected ${name}; value: expected letters and digits, or at least 20 characters: ` +
          "words and numbers stand in records by chance; hosts: expected 1 to 20 hosts",
      )
      assert.deepStrictEqual(yield* secrets.list(account), [])
    }).pipe(Effect.provide(engine)),
  )

  it.effect("needs a master key", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip((yield* Secrets).set(account, tokenOf(value)))
      assert.strictEqual(error._tag, "VaultClosed")
    }).pipe(Effect.provide(Layer.provideMerge(over(Vault.layerClosed), Stores.layer))),
  )
})

describe("Secrets.open", () => {
  it.effect("marks the use of those that a node is given, once a minute", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      yield* secrets.set(account, tokenOf(value))
      yield* secrets.set(account, { ...tokenOf(value), name: "other" })
      const used = Effect.map(secrets.list(account), (all) =>
        all.map(({ lastUsedAt, name }) => [name, lastUsedAt]),
      )
      const names = ["token", "other"]
      yield* TestClock.setTime(1_000_000)
      yield* secrets.open(account, names, ["token"])
      assert.deepStrictEqual(yield* used, [
        ["other", null],
        ["token", 1_000_000],
      ])
      yield* TestClock.adjust("59 seconds")
      yield* secrets.open(account, names, ["token", "other"])
      assert.deepStrictEqual(yield* used, [
        ["other", 1_059_000],
        ["token", 1_000_000],
      ])
      yield* TestClock.adjust("1 second")
      yield* secrets.open(account, names, ["token"])
      assert.deepInclude(yield* used, ["token", 1_060_000])
    }).pipe(Effect.provide(engine)),
  )
})

describe("A sealed secret", () => {
  it.effect("does not open for another account, name or host, whoever moved it there", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      const store = yield* SecretStore
      yield* secrets.set(account, tokenOf(value))
      const [sealed] = yield* store.find(account, ["token"])
      const moved = [
        { ...sealed!, accountId: stranger },
        { ...sealed!, name: "other" },
        { ...sealed!, hosts: ["evil.example"] },
        { ...sealed!, hosts: ["api.example.com", "evil.example"] },
      ]
      for (const each of moved) {
        yield* store.put(each)
        const error = yield* Effect.flip(secrets.open(each.accountId, [each.name], []))
        assert.strictEqual(error._tag, "VaultClosed")
      }
    }).pipe(Effect.provide(engine)),
  )
})

describe("Secrets.remove", () => {
  it.effect("removes, says what it was, and knows nothing of other accounts", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      yield* secrets.set(account, tokenOf(value))
      const foreign = yield* Effect.flip(secrets.remove(stranger, "token"))
      assert.strictEqual(foreign.message, "Secret token does not exist")
      const removed = yield* secrets.remove(account, "token")
      assert.deepInclude(removed, { name: "token", usedBy: [] })
      assert.strictEqual(
        (yield* Effect.flip(secrets.remove(account, "token")))._tag,
        "SecretNotFound",
      )
    }).pipe(Effect.provide(engine)),
  )
})

describe("Secrets.resealAll", () => {
  const keysOf = Effect.gen(function* () {
    const [secret] = yield* (yield* SecretStore).find(account, ["token"])
    const [signing] = yield* (yield* WebhookStore).secrets(account)
    return [secret!.sealed, signing!.sealed].map((text) => text.split(".")[1])
  })

  it.effect("seals what an older key has sealed with the newest one, once", () =>
    Effect.gen(function* () {
      yield* (yield* Secrets).set(account, tokenOf(value))
      const [signing] = yield* (yield* Webhooks).secrets(account)
      const before = yield* keysOf
      const both = over(vaultOf(`${keyText(2)},${keyText(1)}`))
      assert.deepStrictEqual(yield* Effect.provide(resealAll, both), 2)
      assert.deepStrictEqual(yield* Effect.provide(resealAll, both), 0)
      for (const [index, key] of (yield* keysOf).entries())
        assert.notStrictEqual(key, before[index])
      yield* Effect.gen(function* () {
        const [open] = yield* (yield* Secrets).open(account, ["token"], [])
        assert.strictEqual(Redacted.value(open!.value), value)
        const [after] = yield* (yield* Webhooks).secrets(account)
        assert.deepStrictEqual(after, signing)
      }).pipe(Effect.provide(over(vaultOf(keyText(2)))))
    }).pipe(Effect.provide(engine)),
  )

  it.effect("passes over those that do not open, however many there are", () =>
    Effect.gen(function* () {
      const store = yield* SecretStore
      const secrets = yield* Secrets
      yield* secrets.set(account, tokenOf(value))
      const [sealed] = yield* store.find(account, ["token"])
      for (let number = 0; number <= secretsPerReseal; number++) {
        yield* store.put({ ...sealed!, name: `broken_${number}` })
      }
      yield* secrets.set(stranger, tokenOf(value))
      const both = over(vaultOf(`${keyText(2)},${keyText(1)}`))
      assert.strictEqual(yield* Effect.provide(resealAll, both), 2)
      assert.strictEqual(yield* Effect.provide(resealAll, both), 0)
    }).pipe(Effect.provide(engine)),
  )
})
