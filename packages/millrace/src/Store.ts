/**
 * Where an engine keeps its workflows, runs and keys.
 *
 * Leaves out: loading what is not used; a store's code is imported when an engine opens it.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import { StorageError } from "@millrace/core/ports/StorageError"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Layer, Redacted } from "effect"
import type { Refusal } from "./internal/Refusal.ts"

/** A store to be opened by `createEngine`. */
export interface Store {
  readonly layer: Layer.Layer<Stores, Refusal>
  /**
   * Where the master key of webhooks comes from if none is given: made for one engine, made and
   * kept in a folder, or from nowhere, because several engines need the same one.
   */
  readonly masterKey: "made" | "given" | { readonly folder: string }
}

/** A store that ends with its engine. Each engine that opens it begins with an empty one. */
export const memory = (): Store => ({ layer: Memory.layer, masterKey: "made" })

/**
 * A Postgres inside the process that keeps its files in a folder, which is created when there is
 * none. One engine may open it at a time. Opening rejects with `DATA_FOLDER_LOCKED`,
 * `DATA_FOLDER_FOREIGN` (the folder holds something else) or `DATA_FOLDER_DAMAGED`; the folder is
 * not touched then. It survives a crash of the process, but not a power cut; the runs that were in
 * progress then go on at once. The master key of its webhooks is in the file `master.key`.
 */
export const pglite = (folder: string): Store => ({
  layer: Layer.unwrap(Effect.promise(() => openPglite(folder))),
  masterKey: { folder },
})

const openPglite = async (folder: string): Promise<Store["layer"]> => {
  const [Pglite, Stores] = await Promise.all([
    import("@millrace/postgres/Pglite"),
    import("@millrace/postgres/Stores"),
  ])
  return Layer.provide(Stores.layerAlone, Pglite.layer(folder))
}

/** Which Postgres to use, and how. */
export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string
  /** Connections at most, 10 where nothing is said, beside five that keep the lease. */
  readonly connections?: number
  /** False behind a pooler that cannot keep prepared statements. */
  readonly prepare?: boolean
  /** False: the tables are brought up to date by somebody else. */
  readonly migrate?: boolean
}

/**
 * A Postgres server, which any number of engines and servers may share: a run whose process died
 * goes on in another one when its lease is over. Tables are made and brought up to date in the
 * connection's schema. Opening rejects with `STORE_UNAVAILABLE` when the database cannot be used.
 */
export const postgres = (database: string | PostgresOptions): Store => ({
  layer: Layer.unwrap(
    Effect.promise(() => openPostgres(typeof database === "string" ? { url: database } : database)),
  ),
  masterKey: "given",
})

const openPostgres = async ({
  connections,
  url,
  ...options
}: PostgresOptions): Promise<Store["layer"]> => {
  const SharedStores = await import("@millrace/postgres/SharedStores")
  const database = { ...options, url: Redacted.make(url), maxConnections: connections }
  return Layer.catchTag(SharedStores.layer(database, false), "SchemaMismatch", (cause) =>
    Layer.effectContext<Stores, StorageError, never>(
      Effect.fail(new StorageError({ operation: "postgres", cause })),
    ),
  )
}
