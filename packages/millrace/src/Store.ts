/**
 * The stores of an engine: in memory, in a folder, or on a Postgres server.
 *
 * Guarantees: only a store that an engine opens is loaded.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import { StorageError } from "@millrace/core/ports/StorageError"
import * as Memory from "@millrace/memory/Stores"
import { Effect, Layer, Redacted } from "effect"
import type { Refusal } from "./internal/Refusal.ts"

/** A store, which `createEngine` opens. */
export interface Store {
  readonly layer: Layer.Layer<Stores, Refusal>
  /**
   * Where the master key of webhooks comes from. `made`: each engine makes one. `folder`: one is
   * made and kept in the folder. `given`: the options must have one, because all engines on the
   * database need the same.
   */
  readonly masterKey: "made" | "given" | { readonly folder: string }
}

/** A store in memory. It is empty when an engine opens it and is gone when the engine closes. */
export const memory = (): Store => ({ layer: Memory.layer, masterKey: "made" })

/**
 * A Postgres inside the process, with its files in a folder, which is made if missing. One engine
 * at a time may open the folder. `createEngine` rejects with `DATA_FOLDER_LOCKED`,
 * `DATA_FOLDER_FOREIGN` (the folder holds something else) or `DATA_FOLDER_DAMAGED`, and does not
 * touch the folder then. The data survives a crash of the process, but not a power cut. After a
 * crash, the next engine continues the open runs at once. The master key of webhooks is in the file
 * `master.key`.
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
  /** Connections at most; 10 by default. Up to five more keep the lease. */
  readonly connections?: number
  /** Set it to false behind a pooler that does not support prepared statements. */
  readonly prepare?: boolean
  /** False: the engine does not change the tables. */
  readonly migrate?: boolean
}

/**
 * A Postgres server, which any number of engines and servers may share. If a process dies, another
 * one continues its runs when the lease has run out. Tables are made and migrated in the
 * connection's schema. `createEngine` rejects with `STORE_UNAVAILABLE` if the database cannot be
 * used.
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
