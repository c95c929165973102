// A store that leaves ports out: what needs one of them is refused in a sentence, and nothing else.
import { AccountId } from "@millrace/core/domain/Id"
import * as OptionalPorts from "@millrace/core/engine/OptionalPorts"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { SecretStore } from "@millrace/core/ports/SecretStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { OptionalPort } from "@millrace/core/ports/StoreManifest"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import * as Memory from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"

const over = (...ports: ReadonlyArray<OptionalPort>) =>
  Layer.provide(OptionalPorts.layer, Layer.succeed(StoreManifest, { name: "small", ports }))

/** Every member of a port, called where it has to be. */
const failuresOf = Effect.fnUntraced(function* (port: object) {
  const failures: Array<readonly [string, StorageError]> = []
  for (const [name, member] of Object.entries(port)) {
    const called = (typeof member === "function" ? (member as () => unknown)() : member) as unknown
    failures.push([name, yield* Effect.flip(called as Effect.Effect<unknown, StorageError>)])
  }
  return failures
})

describe("OptionalPorts.layer", () => {
  it.effect("refuses every operation of the ports that the store does not have", () =>
    Effect.gen(function* () {
      const own = yield* Effect.provide(
        Effect.all([KeyStore, LedgerStore, WebhookStore, SecretStore]),
        Memory.layer,
      )
      const ports = [
        yield* KeyStore,
        yield* LedgerStore,
        yield* WebhookStore,
        yield* SecretStore,
      ] as const
      const kept = [
        "API keys and accounts",
        "credits",
        "deliveries of webhooks",
        "secrets of accounts",
      ]
      for (const [index, port] of ports.entries()) {
        const failures = yield* failuresOf(port)
        for (const [name, member] of Object.entries(own[index]!)) {
          assert.strictEqual(typeof (port as Record<string, unknown>)[name], typeof member)
        }
        assert.deepStrictEqual(
          failures.map(([name]) => name).toSorted((a, b) => a.localeCompare(b)),
          Object.keys(own[index]!).toSorted((a, b) => a.localeCompare(b)),
        )
        for (const [name, { cause, operation }] of failures) {
          assert.strictEqual(operation, name)
          assert.strictEqual(
            (cause as Error).message,
            `The store "small" keeps no ${kept[index]!}: use a store that does, or do without them`,
          )
        }
      }
    }).pipe(Effect.provide(over())),
  )

  it.effect("hands on the ports that it has, and refuses the others", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      assert.deepStrictEqual(yield* keys.listAccounts, [])
      const ledger = yield* LedgerStore
      const refused = yield* Effect.flip(ledger.find(AccountId.make("acc_1")))
      assert.strictEqual(refused._tag, "StorageError")
    }).pipe(Effect.provide(Layer.provide(over("keys"), Memory.layer))),
  )

  it.effect("cannot be built where the store names a port that is not there", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.scoped(Layer.build(over("ledger"))))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        const message = 'The manifest of the store "small" names ledger, but its layer has none'
        assert.include(Cause.pretty(exit.cause), message)
      }
    }),
  )
})
