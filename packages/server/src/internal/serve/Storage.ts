/**
 * The stores of `millrace dev`, in a folder or in memory. Only the one in use is loaded.
 *
 * Leaves out: Postgres servers.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type {
  DataFolderDamaged,
  DataFolderForeign,
  DataFolderLocked,
} from "@millrace/postgres/DataFolder"
import { Effect, Layer } from "effect"
import type { DevSettings } from "../../Config.ts"

const inMemory = Effect.map(
  Effect.promise(() => import("@millrace/memory/Stores")),
  (memory) => memory.layer,
)

const inFolder = Effect.fnUntraced(function* (folder: string) {
  const [stores, pglite] = yield* Effect.promise(() =>
    Promise.all([import("@millrace/postgres/Stores"), import("@millrace/postgres/Pglite")]),
  )
  return stores.layerAlone.pipe(Layer.provide(pglite.layer(folder)))
})

/** Why stores cannot be opened. Each has a message for users. */
export type Problem = DataFolderLocked | DataFolderForeign | DataFolderDamaged | StorageError

/** Opens the stores. They close with the scope of the layer. */
export const layer = ({
  data,
  memory,
}: Pick<DevSettings, "data" | "memory">): Layer.Layer<Stores, Problem> =>
  memory ? Layer.unwrap(inMemory) : Layer.unwrap(inFolder(data))
