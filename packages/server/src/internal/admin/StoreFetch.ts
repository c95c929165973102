/**
 * The interface for operators over stores that this process opens: what a server would answer,
 * without a server.
 *
 * Guarantees: nothing is listened to, executed or sent. What is due is executed and sent by the
 * servers on the same data, or by the next one. Only what is used is loaded.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import { Accounting } from "@millrace/core/engine/Accounting"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { Quarantine } from "@millrace/core/engine/Quarantine"
import { StoreClock } from "@millrace/core/engine/StoreClock"
import { Webhooks } from "@millrace/core/engine/Webhooks"
import { CurrentVault, VaultClosed } from "@millrace/core/ports/Vault"
import type { Target as Wanted } from "@millrace/core/ports/WebhookTargets"
import { CurrentWebhookTargets } from "@millrace/core/ports/WebhookTargets"
import * as AdminHandler from "@millrace/http/AdminHandler"
import type { Context, Redacted, Scope } from "effect"
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import { CommandFailed } from "../../CommandFailed.ts"
import type { LocalTarget } from "../config/ConfigTarget.ts"
import * as KeySettings from "../serve/KeySettings.ts"

const refused = (message: string) => new CommandFailed({ message, reason: "failed" })

/** A folder belongs to the server that runs on it; whatever that serves can be asked of it. */
const inUse = ({ folder, pid }: { readonly folder: string; readonly pid: number }) =>
  refused(
    `The data folder ${folder} is in use by process ${pid}: in place of --data, name that ` +
      "server with --url and --admin-token as millrace dev prints them, or stop it first",
  )

const openFolder = Effect.fnUntraced(function* (data: string) {
  if (!existsSync(data)) {
    return yield* refused(`There is no folder ${data}; millrace dev makes one`)
  }
  const storage = yield* Effect.promise(() => import("../serve/Storage.ts"))
  return yield* Effect.mapError(Layer.build(storage.layer({ data, memory: false })), (problem) =>
    problem._tag === "DataFolderLocked" ? inUse(problem) : refused(problem.message),
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
  "MILLRACE_MASTER_KEY: expected the key that the servers of this database have: it opens secrets"

/** The key of a folder is in it; that of a database comes from whoever operates it. */
const openVault = Effect.fnUntraced(
  function* (target: LocalTarget) {
    const { masterKey } = target.hooks
    if (target._tag === "Database" && masterKey === null) return yield* refused(noKey)
    const [vault, keys] = yield* Effect.promise(() =>
      Promise.all([import("@millrace/webhooks/MasterVault"), import("../serve/MasterKey.ts")]),
    )
    const where = { data: target._tag === "Folder" ? target.data : "", masterKey, memory: false }
    return vault.make(yield* keys.ensure(where))
  },
  Effect.mapError(({ message }) => new VaultClosed({ message })),
)

/** Opened when the first secret is wanted. */
const layerVault = (target: LocalTarget) =>
  Layer.effect(
    CurrentVault,
    Effect.map(Effect.cached(openVault(target)), (vault) => ({
      seal: (purpose, text) => Effect.flatMap(vault, (open) => open.seal(purpose, text)),
      open: (purpose, sealed) => Effect.flatMap(vault, (open) => open.open(purpose, sealed)),
    })),
  )

/** Judges addresses as the servers do, once one is to be judged. */
const layerTargets = ({ hooks }: LocalTarget) =>
  Layer.succeed(CurrentWebhookTargets, {
    accept: Effect.fnUntraced(function* (wanted: Wanted) {
      const [targets, { webhookGuard }] = yield* Effect.promise(() =>
        Promise.all([import("@millrace/webhooks/Targets"), import("@millrace/host/Host")]),
      )
      const accepted = Effect.flatMap(CurrentWebhookTargets, ({ accept }) => accept(wanted))
      return yield* Effect.provide(
        accepted,
        Layer.provide(targets.layer, webhookGuard(hooks.egressAllow)),
      )
    }),
  })

/** What the operations are made of, by the store's clock; nothing of it executes a run. */
const servicesOver = (stores: Context.Context<Stores>, target: LocalTarget) =>
  Layer.mergeAll(Keys.layer, Accounting.layer, Quarantine.layer, Webhooks.layer).pipe(
    Layer.provide([Ids.layer, StoreClock.layerClock, layerVault(target), layerTargets(target)]),
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
    Effect.provideContext(
      yield* Effect.mapError(Layer.build(services), ({ message }) => refused(message)),
    ),
  )
  return (input, init) => handler(new Request(input, init))
})
