/**
 * What an engine says over a store that lacks a port: one sentence, whoever asks for it.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { Manifest, OptionalPort } from "@millrace/core/ports/StoreManifest"
import { optionalPorts, Unsupported } from "@millrace/core/ports/StoreManifest"
import { SecretStore } from "@millrace/core/ports/SecretStore"
import { SessionStore } from "@millrace/core/ports/SessionStore"
import { TriggerStore } from "@millrace/core/ports/TriggerStore"
import { ValueStore } from "@millrace/core/ports/ValueStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import * as Samples from "../Samples.ts"

type Ports =
  | KeyStore
  | LedgerStore
  | WebhookStore
  | SecretStore
  | ValueStore
  | SessionStore
  | TriggerStore

/** Something to ask of each port. */
const asked: { readonly [P in OptionalPort]: Effect.Effect<unknown, StorageError, Ports> } = {
  keys: KeyStore.use((store) => store.listAccounts),
  ledger: Effect.gen(function* () {
    const { account } = yield* Samples.make
    return yield* (yield* LedgerStore).find(account)
  }),
  webhooks: WebhookStore.use((store) => store.secretOfEachKey),
  secrets: SecretStore.use((store) => store.secretOfEachKey),
  values: ValueStore.use((store) => store.list(undefined, 1)),
  sessions: SessionStore.use((store) => store.live([])),
  triggers: TriggerStore.use((store) => store.claimDue({ limit: 0, leaseMillis: 0 })),
}

/** The tests of what is not there; none where the store has everything. */
export const absentPortSuite = (it: Vitest.MethodsNonLive<Ports>, manifest: Manifest): void => {
  const ports = Object.keys(optionalPorts) as ReadonlyArray<OptionalPort>
  const absent = ports.filter((port) => !manifest.ports.includes(port))
  if (absent.length === 0) return
  describe("A port that the store lacks", () => {
    it.effect.each(absent)("is refused in one sentence: %s", (port) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(asked[port])
        assert.instanceOf(error.cause, Unsupported)
        assert.include(error.message, `"${manifest.name}" keeps no ${optionalPorts[port]}`)
      }),
    )
  })
}
