/**
 * Opening the accounts and keys that a command works on: in a database, in a folder, or on a
 * running server. Only what is used is loaded.
 */
import { Ids } from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import type { KeyStore } from "@millrace/core/ports/KeyStore"
import type { Scope } from "effect"
import { Effect, Layer } from "effect"
import { existsSync } from "node:fs"
import type { KeySettings as Settings } from "./Config.ts"
import type { Target } from "./ConfigTarget.ts"
import * as KeySettings from "./KeySettings.ts"
import type { Registry } from "./Registry.ts"
import { StartRefused } from "./StartRefused.ts"

const refused = ({ message }: { readonly message: string }) =>
  new StartRefused({ message, reason: "failed" })

/** What the engine offers over a store. */
const over = (
  store: Layer.Layer<KeyStore>,
  settings: Settings,
): Effect.Effect<Registry, never, Scope.Scope> =>
  Effect.map(
    Layer.build(
      Keys.layer.pipe(
        Layer.provide([Ids.layer, store]),
        Layer.provide(KeySettings.layer(settings)),
      ),
    ),
    (context) => {
      const run = <A, E extends { readonly message: string }>(work: Effect.Effect<A, E, Keys>) =>
        Effect.mapError(Effect.provideContext(work, context), refused)
      return {
        listAccounts: run(Keys.use((keys) => keys.listAccounts)),
        createAccount: (name) => run(Keys.use((keys) => keys.createAccount(name))),
        listKeys: (account) => run(Keys.use((keys) => keys.list(account))),
        createKey: (account, key) => run(Keys.use((keys) => keys.create(account, key))),
        updateKey: (...change) => run(Keys.use((keys) => keys.update(...change))),
        revokeKey: (...key) => run(Keys.use((keys) => keys.revoke(...key))),
      }
    },
  )

const openFolder = Effect.fnUntraced(function* (data: string, settings: Settings) {
  if (!existsSync(data)) {
    return yield* refused({ message: `There is no folder ${data}; millrace dev makes one` })
  }
  const storage = yield* Effect.promise(() => import("./Storage.ts"))
  const opened = Layer.build(storage.layer({ data, memory: false }))
  return yield* over(Layer.succeedContext(yield* Effect.mapError(opened, refused)), settings)
})

/** Opens what a command works on, for as long as the scope lasts. */
export const open = Effect.fnUntraced(function* (
  target: Target,
): Effect.fn.Return<Registry, StartRefused, Scope.Scope> {
  switch (target._tag) {
    case "Server": {
      const remote = yield* Effect.promise(() => import("./RemoteRegistry.ts"))
      return yield* remote.open(target.url, target.token)
    }
    case "Database": {
      const database = yield* Effect.promise(() => import("./Database.ts"))
      const stores = Layer.succeedContext(yield* database.open(target.settings))
      return yield* over(stores, target.settings)
    }
    case "Folder":
      return yield* openFolder(target.data, target)
  }
})
