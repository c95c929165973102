/**
 * Where an engine keeps its workflows, runs and keys.
 *
 * Leaves out: loading what is not used; a store's code is imported when an engine opens it.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Layer } from "effect"
import type { Refusal } from "./MillraceError.ts"

/** A store to be opened by `createEngine`. */
export interface Store {
  readonly layer: Layer.Layer<Stores, Refusal>
}

/** A store that ends with its engine. Each engine that opens it begins with an empty one. */
export const memory = (): Store => ({ layer: Memory.layer })

/**
 * A Postgres inside the process that keeps its files in a folder, which is created when there is
 * none. One engine may open it at a time. Opening rejects with `DATA_FOLDER_LOCKED`,
 * `DATA_FOLDER_FOREIGN` (the folder holds something else) or `DATA_FOLDER_DAMAGED`; the folder is
 * not touched then. It survives a crash of the process, but not a power cut; the runs that were in
 * progress then go on at once.
 */
export const pglite = (folder: string): Store => ({
  layer: Layer.unwrap(Effect.promise(() => openPglite(folder))),
})

const openPglite = async (folder: string): Promise<Store["layer"]> => {
  const [Pglite, Stores] = await Promise.all([
    import("@millrace/postgres/Pglite"),
    import("@millrace/postgres/Stores"),
  ])
  return Layer.provide(Stores.layerAlone, Pglite.layer(folder))
}
