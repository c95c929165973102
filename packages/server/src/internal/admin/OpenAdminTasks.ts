/**
 * Opening what a command works on: in a database, in a folder, or on a running server. Only what is
 * used is loaded.
 */
import { Accounting } from "@millrace/core/engine/Accounting"
import { Quarantine } from "@millrace/core/engine/Quarantine"
import { shown } from "@millrace/http/AdminQuarantineHandlers"
import type { Stores } from "@millrace/core/engine/Engine"
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { problemOfClock, StoreClock } from "@millrace/core/engine/StoreClock"
import type { Scope } from "effect"
import { Context, Effect, Layer, Stream } from "effect"
import { existsSync } from "node:fs"
import type { LocalTarget, Target } from "../config/ConfigTarget.ts"
import * as KeySettings from "../serve/KeySettings.ts"
import type { CreditAdmin } from "./CreditAdmin.ts"
import type { QuarantineAdmin } from "./QuarantineAdmin.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { CommandFailed } from "../../CommandFailed.ts"
import type { WebhookAdmin } from "./WebhookAdmin.ts"

const refused = ({ message }: { readonly message: string }) =>
  new CommandFailed({ message, reason: "failed" })

const creditsOver = (accounting: Accounting["Service"]): CreditAdmin => ({
  find: (account) => Effect.mapError(accounting.find(account), refused),
  grant: (account, grant) => Effect.mapError(accounting.grant(account, grant), refused),
  adjust: (account, change) => Effect.mapError(accounting.adjust(account, change), refused),
  meter: (account, operation, metered) =>
    Effect.mapError(accounting.meter(account, operation, metered), refused),
  entries: (account) => Stream.mapError(accounting.entries(account), refused),
  audit: Effect.mapError(accounting.audit, refused),
})

const quarantineOver = (quarantine: Quarantine["Service"]): QuarantineAdmin => ({
  list: Effect.map(Effect.mapError(quarantine.list, refused), (all) => all.map(shown)),
  release: (id) => Effect.mapError(quarantine.release(id), refused),
  end: (id) =>
    Effect.map(Effect.mapError(quarantine.end(id), refused), ({ error, status }) => ({
      runId: id,
      status,
      error,
    })),
})

/** What the engine offers over stores that are open. */
const over = (
  stores: Context.Context<Stores>,
  target: LocalTarget,
): Effect.Effect<AdminTasks, never, Scope.Scope> =>
  Effect.map(
    Layer.build(
      Layer.mergeAll(Keys.layer, Accounting.layer, Quarantine.layer).pipe(
        Layer.provide([Ids.layer, Layer.succeedContext(stores)]),
        Layer.provide(KeySettings.layer(target._tag === "Folder" ? target : target.settings)),
      ),
    ),
    (context) => {
      const run = <A, E extends { readonly message: string }>(work: Effect.Effect<A, E, Keys>) =>
        Effect.mapError(Effect.provideContext(work, context), refused)
      return {
        listAccounts: run(Keys.use((keys) => keys.listAccounts)),
        createAccount: (name) => run(Keys.use((keys) => keys.createAccount(name))),
        updateAccount: (...change) => run(Keys.use((keys) => keys.updateAccount(...change))),
        listKeys: (account) => run(Keys.use((keys) => keys.list(account))),
        createKey: (account, key) => run(Keys.use((keys) => keys.create(account, key))),
        updateKey: (...change) => run(Keys.use((keys) => keys.update(...change))),
        credits: creditsOver(Context.get(context, Accounting)),
        quarantine: quarantineOver(Context.get(context, Quarantine)),
        clockProblem: Effect.scoped(
          Effect.map(Layer.build(StoreClock.layer), (clock) =>
            problemOfClock(Context.get(clock, StoreClock).aheadMillis()),
          ),
        ).pipe(Effect.provideContext(stores), Effect.mapError(refused)),
        revokeKey: (...key) => run(Keys.use((keys) => keys.revoke(...key))),
      }
    },
  )

/** A folder belongs to the server that runs on it; whatever that serves can be asked of it. */
const inUse = ({ folder, pid }: { readonly folder: string; readonly pid: number }) =>
  refused({
    message:
      `The data folder ${folder} is in use by process ${pid}: in place of --data, name that ` +
      "server with --url and --admin-token as millrace dev prints them, or stop it first",
  })

const openFolder = Effect.fnUntraced(function* (data: string) {
  if (!existsSync(data)) {
    return yield* refused({ message: `There is no folder ${data}; millrace dev makes one` })
  }
  const storage = yield* Effect.promise(() => import("../serve/Storage.ts"))
  return yield* Effect.mapError(Layer.build(storage.layer({ data, memory: false })), (problem) =>
    problem._tag === "DataFolderLocked" ? inUse(problem) : refused(problem),
  )
})

const openStores = Effect.fnUntraced(function* (
  target: LocalTarget,
): Effect.fn.Return<Context.Context<Stores>, CommandFailed, Scope.Scope> {
  if (target._tag === "Folder") return yield* openFolder(target.data)
  const database = yield* Effect.promise(() => import("../serve/Database.ts"))
  return yield* database.open(target.settings)
})

/** Opens accounts and keys, for as long as the scope lasts. */
export const open = Effect.fnUntraced(function* (
  target: Target,
): Effect.fn.Return<AdminTasks, CommandFailed, Scope.Scope> {
  if (target._tag !== "Server") return yield* over(yield* openStores(target), target)
  const remote = yield* Effect.promise(() => import("./RemoteAdminTasks.ts"))
  return yield* remote.open(target.url, target.token)
})

/** Opens webhooks, and the accounts whose they are, for as long as the scope lasts. */
export const openWebhookAdmin = Effect.fnUntraced(function* (
  target: Target,
): Effect.fn.Return<AdminTasks & WebhookAdmin, CommandFailed, Scope.Scope> {
  if (target._tag === "Server") {
    const [tasks, webhookAdmin] = yield* Effect.promise(() =>
      Promise.all([import("./RemoteAdminTasks.ts"), import("./RemoteWebhookAdmin.ts")]),
    )
    const accounts = yield* tasks.open(target.url, target.token)
    return { ...accounts, ...(yield* webhookAdmin.open(target.url, target.token)) }
  }
  const stores = yield* openStores(target)
  const webhookAdmin = yield* Effect.promise(() => import("./LocalWebhookAdmin.ts"))
  return { ...(yield* over(stores, target)), ...(yield* webhookAdmin.open(stores, target)) }
})
