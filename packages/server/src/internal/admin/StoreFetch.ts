/**
 * The interface for operators on stores that this process opens itself. It answers what a server
 * would answer.
 *
 * Guarantees: this process opens no port, executes no run and sends no delivery. The servers on the
 * same data do that. Only the modules that a command uses are loaded.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Quarantine } from "@millrace/core/engine/Quarantine"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { Secrets } from "@millrace/core/engine/Secrets"
import { Sessions } from "@millrace/core/engine/Sessions"
import { StoreClock } from "@millrace/core/engine/StoreClock"
import { TypesInUse } from "@millrace/core/engine/TypesInUse"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { Vault, VaultClosed } from "@millrace/core/ports/Vault"
import type { WebhookTarget } from "@millrace/core/ports/WebhookTargets"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import * as AdminHandler from "@millrace/http/AdminHandler"
import type { Context, Redacted, Scope } from "effect"
import { Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import { existsSync } from "node:fs"
import { CommandFailed } from "../../CommandFailed.ts"
import type { LocalTarget } from "../config/ConfigTarget.ts"
import * as KeySettings from "../serve/KeySettings.ts"
import * as PublicUrl from "../serve/PublicUrl.ts"

/** A folder belongs to the server that runs on it. The command can ask that server instead. */
const inUse = ({ folder, pid }: { readonly folder: string; readonly pid: number }) =>
  CommandFailed.failed(
    `The data folder ${folder} is in use by process ${pid}: stop that process, or replace ` +
      "--data by the --url and --admin-token that millrace dev printed",
  )

const openFolder = Effect.fnUntraced(function* (data: string) {
  if (!existsSync(data)) {
    return yield* CommandFailed.failed(`There is no folder ${data}; millrace dev makes one`)
  }
  const storage = yield* Effect.promise(() => import("../serve/Storage.ts"))
  return yield* Effect.mapError(Layer.build(storage.layer({ data, memory: false })), (problem) =>
    problem._tag === "DataFolderLocked" ? inUse(problem) : CommandFailed.failed(problem.message),
  )
})

const openStores = Effect.fnUntraced(function* (
  target: LocalTarget,
): Effect.fn.Return<Context.Context<Stores>, CommandFailed, Scope.Scope> {
  if (target._tag === "Folder") return yield* openFolder(target.data)
  const database = yield* Effect.promise(() => import("../serve/Database.ts"))
  return yield* database.open(target.settings)
})

const noKey =
  "MILLRACE_MASTER_KEY: expected the key of the servers on this database; it decrypts the secrets"

/** Opens the vault. A folder holds its own master key; a database's key comes from the operator. */
const openVault = Effect.fnUntraced(
  function* (target: LocalTarget) {
    const { masterKey } = target.hooks
    if (target._tag === "Database" && masterKey === null) return yield* CommandFailed.failed(noKey)
    const [vault, keys] = yield* Effect.promise(() =>
      Promise.all([import("@millrace/webhooks/MasterVault"), import("../serve/MasterKey.ts")]),
    )
    const where = { data: target._tag === "Folder" ? target.data : "", masterKey, memory: false }
    return vault.make(yield* keys.ensure(where))
  },
  Effect.mapError(({ message }) => new VaultClosed({ message })),
)

/** The vault, opened when the first secret is sealed or opened. */
const layerVault = (target: LocalTarget) =>
  Layer.effect(
    Vault,
    Effect.map(Effect.cached(openVault(target)), (vault) => ({
      seal: (purpose, text) => Effect.flatMap(vault, (open) => open.seal(purpose, text)),
      open: (purpose, sealed) => Effect.flatMap(vault, (open) => open.open(purpose, sealed)),
      sign: (purpose, text) => Effect.flatMap(vault, (open) => open.sign(purpose, text)),
    })),
  )

/** Judges addresses as the servers do. The judge is loaded at its first use. */
const layerTargets = ({ hooks }: LocalTarget) =>
  Layer.succeed(WebhookTargets, {
    accept: Effect.fnUntraced(function* (wanted: WebhookTarget) {
      const [targets, { webhookGuard }] = yield* Effect.promise(() =>
        Promise.all([import("@millrace/webhooks/Targets"), import("@millrace/host/Host")]),
      )
      const accepted = Effect.flatMap(WebhookTargets, ({ accept }) => accept(wanted))
      return yield* Effect.provide(
        accepted,
        Layer.provide(targets.layer, webhookGuard(hooks.egressAllow)),
      )
    }),
  })

/** The services of the operations, on the store's clock. None of them executes a run. */
const servicesOver = (stores: Context.Context<Stores>, target: LocalTarget) =>
  Layer.mergeAll(
    Keys.layer,
    Accounting.layer,
    Quarantine.layer,
    // This process has no node types: `millrace nodes usage` asks a server.
    Layer.provide(TypesInUse.layer, NodeTypes.layer()),
    Secrets.layer,
    Sessions.layer,
    Webhooks.layer,
  ).pipe(
    Layer.provide([layerVault(target), layerTargets(target), Digest.layerWebCrypto]),
    Layer.provide([Ids.layer, RunNotifier.layer, StoreClock.layerClock]),
    Layer.provideMerge(StoreClock.layer),
    Layer.provideMerge(Layer.succeedContext(stores)),
    Layer.provide(KeySettings.layer(target._tag === "Folder" ? target : target.settings)),
  )

/** Answers requests that bring this token, for as long as the scope lasts. */
export const open = Effect.fnUntraced(function* (
  target: LocalTarget,
  token: Redacted.Redacted,
): Effect.fn.Return<typeof globalThis.fetch, CommandFailed, Scope.Scope> {
  const services = servicesOver(yield* openStores(target), target)
  const handler = yield* AdminHandler.make(token).pipe(
    Effect.provide(PublicUrl.layer(target.hooks)),
    Effect.provideContext(
      yield* Effect.mapError(Layer.build(services), ({ message }) => CommandFailed.failed(message)),
    ),
  )
  return (input, init) => handler(new Request(input, init))
})
