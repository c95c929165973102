/**
 * The stores of an engine: in memory, in a file, in a folder, or on a Postgres server.
 *
 * Guarantees: only a store that an engine opens is loaded.
 */
import { invalid, MillraceError } from "@millrace/api/MillraceError"
import { keptLeaseMillis } from "@millrace/core/domain/Limits"
import type { Stores } from "@millrace/core/engine/Engine"
import { StorageError } from "@millrace/core/ports/StorageError"
import type { ClientPool } from "@millrace/postgres/Postgres"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Clauses } from "./internal/OptionCheck.ts"
import { expected, fields, refuse, isBoolean } from "./internal/OptionCheck.ts"
import type { Refusal } from "./internal/Refusal.ts"

/** A store, which `createEngine` opens. */
export interface Store {
  /** What `createEngine` opens, and closes with the engine. */
  readonly layer: Layer.Layer<Stores, Refusal>
  /**
   * Where the master key of webhooks comes from. `made`: each engine makes one. `folder`: one is
   * made and kept in the folder; `file`: in this file. `given`: the options must have one, because
   * all engines on the database need the same.
   */
  readonly masterKey:
    | "made"
    | "given"
    | {
        /** The path of a folder. */
        readonly folder: string
      }
    | {
        /** The path of a file. */
        readonly file: string
      }
  /** How long an engine owns its runs without a heartbeat by default; absent: 30 seconds. */
  readonly leaseMillis?: number | undefined
}

/** A store in memory. It is empty when an engine opens it and is gone when the engine closes. */
export const memory = (): Store => ({
  layer: Layer.unwrap(Effect.promise(openMemory)),
  masterKey: "made",
})

const openMemory = async (): Promise<Store["layer"]> =>
  (await import("@millrace/memory/Stores")).layer

/**
 * A Postgres inside the process, with its files in a folder, which is made if missing. One engine
 * at a time may open the folder. `createEngine` rejects with `DATA_FOLDER_LOCKED`,
 * `DATA_FOLDER_FOREIGN` (the folder holds something else) or `DATA_FOLDER_DAMAGED`, and does not
 * touch the folder then. Needs the package `@electric-sql/pglite`, and rejects with
 * `STORE_UNAVAILABLE` if it is missing. The data survives a crash of the process, but not a power
 * cut. After a crash, the next engine continues the open runs at once. The master key of webhooks
 * is in the file `master.key`.
 */
export const pglite = (folder: string): Store => {
  refuse("pglite", isPath("the path of a folder")(folder))
  return {
    layer: Layer.unwrap(Effect.promise(() => openPglite(folder))),
    masterKey: { folder },
  }
}

/** Expects a path. An empty one would be the folder in which the process happens to be. */
const isPath = (what: string) =>
  expected(what, (path) => typeof path === "string" && path.trim() !== "" && !path.includes("\0"))

/** Why the folder's database does not open is for the caller, who operates it. */
const told = ({ cause }: StorageError) => {
  const message = cause instanceof Error ? cause.message : String(cause)
  return Layer.effectContext(Effect.die(new MillraceError("STORE_UNAVAILABLE", message)))
}

const openPglite = async (folder: string): Promise<Store["layer"]> => {
  const [Pglite, Stores] = await Promise.all([
    import("@millrace/postgres/Pglite"),
    import("@millrace/postgres/Stores"),
  ])
  return Layer.provide(
    Stores.layerAlone,
    Layer.catchTag(Pglite.layer(folder), "StorageError", told),
  )
}

/**
 * A database of SQLite in one file, which is made if missing, for one engine at a time. It needs
 * the package `@millrace/sqlite`. `createEngine` rejects with `DATA_FILE_LOCKED`,
 * `DATA_FILE_FOREIGN` (the file is something else) or `DATA_FILE_DAMAGED`, and does not change the
 * file then. The data survives a crash of the process and a power cut. After a crash, the next
 * engine continues the open runs at once. The master key of webhooks is in a file beside it, with
 * `.key` behind its name. Not for a file on a network.
 */
export const sqlite = (file: string): Store => {
  // A name that SQLite would read as a database without a file.
  const path = file === ":memory:" ? "" : file
  refuse("sqlite", isPath("the path of a file; memory() is the store without one")(path))
  return {
    layer: Layer.unwrap(Effect.map(Effect.promise(importSqlite), ({ layer }) => layer(file))),
    masterKey: { file: `${file}.key` },
  }
}

/** Loads the package, or says what is missing. */
const importSqlite = async () => {
  try {
    return await import("@millrace/sqlite/Stores")
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    const isMissing = code === "ERR_MODULE_NOT_FOUND" && message.includes("@millrace/sqlite")
    if (isMissing) throw invalid("sqlite: it needs @millrace/sqlite: npm install @millrace/sqlite")
    if (code === "ERR_UNKNOWN_BUILTIN_MODULE") throw invalid("sqlite: it needs Node 22.19 or later")
    throw error
  }
}

/** Which Postgres to use, and how. */
export type PostgresOptions = PostgresSource & {
  /**
   * Connections at most. With a `url`: 10 by default, and up to four more keep the lease. With a
   * `pool`: by default so many that the product keeps half; three more keep the lease and listen.
   */
  readonly connections?: number
  /** Set it to false behind a pooler that does not support prepared statements. */
  readonly prepare?: boolean
  /** False: the engine does not change the tables. */
  readonly migrate?: boolean
}

/** Where connections to Postgres come from. */
export type PostgresSource =
  /** `postgres://user:password@host:port/database`. */
  | { readonly url: string; readonly pool?: never }
  /**
   * A `Pool` of the package `pg`, with room for five clients at least. The engine takes clients
   * when it needs them, and holds one for notifications as long as it is open. It never ends the
   * pool, and the pool closes each client that the engine gives back. No thread keeps the lease
   * here: if the event loop is blocked for longer than `lease`, other processes take the runs over.
   */
  | { readonly pool: ClientPool; readonly url?: never }

/**
 * A Postgres server, which any number of engines and servers may share. If a process dies, another
 * one continues its runs when the lease has run out. Tables are made and migrated in the
 * connection's schema. `createEngine` rejects with `STORE_UNAVAILABLE` if the database cannot be
 * used.
 */
export const postgres = (database: string | PostgresOptions): Store => {
  const options = typeof database === "string" ? { url: database } : database
  refuse("postgres", problemsOf(options))
  return {
    layer: Layer.unwrap(Effect.promise(() => openPostgres(options))),
    masterKey: "given",
    leaseMillis: options.pool === undefined ? keptLeaseMillis : undefined,
  }
}

const checkFields = fields(
  {
    url: expected("postgres://user:password@host:port/database", (url) =>
      /^postgres(?:ql)?:\/\/./.test(String(url)),
    ),
    pool: expected("a Pool of the package pg", (pool) => {
      const { connect, options } = (pool ?? {}) as Readonly<Record<string, unknown>>
      return typeof connect === "function" && typeof options === "object" && options !== null
    }),
    connections: expected(
      "a whole number from 1",
      (count) => Number.isSafeInteger(count) && Number(count) >= 1,
    ),
    prepare: isBoolean,
    migrate: isBoolean,
  },
  "a url, or an object with url or pool",
)

const problemsOf = (options: PostgresOptions): Clauses => {
  const clauses = checkFields(options)
  if (clauses.length > 0) return clauses
  const { pool, url } = options
  return (pool === undefined) === (url === undefined) ? ["expected either url or pool"] : []
}

/** Room in the product's pool for the engine's work, beside what the lease takes. */
const roomIn = ({ options: { max = 10 } }: ClientPool, lease: number, wanted?: number): number => {
  const room = wanted ?? Math.max(1, Math.floor((max - lease) / 2))
  if (room + lease < max) return room
  throw invalid(
    `postgres: the pool has at most ${max} clients; the engine needs ${room + lease}, and the ` +
      `product needs some, too: raise the pool's max or lower connections`,
  )
}

const openPostgres = async ({
  connections,
  pool,
  url,
  ...options
}: PostgresOptions): Promise<Store["layer"]> => {
  const SharedStores = await import("@millrace/postgres/SharedStores")
  const database =
    pool === undefined
      ? { ...options, url: Redacted.make(url), maxConnections: connections }
      : {
          ...options,
          pool,
          maxConnections: roomIn(pool, SharedStores.leaseConnections, connections),
        }
  return Layer.catchTag(SharedStores.layer(database, false), "SchemaMismatch", (cause) =>
    Layer.effectContext<Stores, StorageError, never>(
      Effect.fail(new StorageError({ operation: "postgres", cause })),
    ),
  )
}
