/**
 * A pool of connections to a Postgres server.
 *
 * Guarantees: a server that cannot be reached is told at start-up, not at the first request.
 * Leaves out: session settings, because connection poolers refuse them.
 */
import { PgClient } from "@effect/sql-pg"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Effect, type Layer, type Redacted } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { orStorageError } from "./internal/DatabaseError.ts"

/** How to connect. */
export interface Options {
  /** `postgres://user:password@host:port/database`. */
  readonly url: Redacted.Redacted
  /** Connections at most, by default 10. */
  readonly maxConnections?: number | undefined
  /** False behind a pooler that cannot keep prepared statements; by default true. */
  readonly prepare?: boolean | undefined
}

const connect = Effect.fnUntraced(function* ({ maxConnections, prepare, url }: Options) {
  const client = yield* PgClient.make({
    url,
    maxConnections: maxConnections ?? 10,
    prepare: prepare ?? true,
    applicationName: "millrace",
    // A dead peer is noticed although nothing is being sent to it.
    keepAlive: "10 seconds",
    maxMessageSize: 256 * 1_024 * 1_024,
  })
  yield* client`SELECT 1`
  return client
})

/** A client of the server; fails where it cannot connect. */
export const layer = (options: Options): Layer.Layer<PgClient.PgClient | SqlClient, StorageError> =>
  PgClient.layerFrom(orStorageError("Postgres.connect")(connect(options)))
