/**
 * Connections to a Postgres server: a pool of its own, or clients of the caller's pool.
 *
 * Guarantees: the layer fails if the server cannot be reached, not only the first statement.
 * Leaves out: session settings, because connection poolers refuse them.
 */
import { PgClient } from "@effect/sql-pg"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, type Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { orStorageError } from "./internal/DatabaseError.ts"
import type { ClientPool } from "./internal/PoolStream.ts"
import * as PoolStream from "./internal/PoolStream.ts"

export type { ClientPool, PoolClient } from "./internal/PoolStream.ts"

/** Where connections come from. */
export type ConnectionSource =
  /** `postgres://user:password@host:port/database`. */
  | { readonly url: Redacted.Redacted }
  /** A `Pool` of the package `pg`. It stays open. Clients that are given back to it are closed. */
  | { readonly pool: ClientPool }

/** How to connect. */
export type ConnectionOptions = ConnectionSource & {
  /** How many connections at most; 10 by default. */
  readonly maxConnections?: number | undefined
  /** False behind a pooler without prepared statements; true by default. */
  readonly prepare?: boolean | undefined
}

const addressOf = (source: ConnectionSource) =>
  "url" in source
    ? { url: source.url }
    : { stream: () => PoolStream.connect(source.pool), username: "pool" }

const connect = Effect.fnUntraced(function* ({
  maxConnections,
  prepare,
  ...source
}: ConnectionOptions) {
  const client = yield* PgClient.make({
    ...addressOf(source),
    maxConnections: maxConnections ?? 10,
    prepare: prepare ?? true,
    applicationName: "millrace",
    // Without this, a dead server is noticed only when a statement is sent.
    keepAlive: "10 seconds",
    maxMessageSize: 256 * 1_024 * 1_024,
  })
  yield* client`SELECT 1`
  return client
})

/** A client of the server. */
export const layer = (
  options: ConnectionOptions,
): Layer.Layer<PgClient.PgClient | SqlClient, StorageError> =>
  PgClient.layerFrom(orStorageError("Postgres.connect")(connect(options)))
