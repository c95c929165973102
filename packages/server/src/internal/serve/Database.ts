/**
 * The stores of `millrace serve`, in a Postgres that other servers may share.
 *
 * Guarantees: the start fails with one sentence if the database cannot be used. Leaves out: the
 * embedded database of `millrace dev`.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import * as SharedStores from "@millrace/postgres/SharedStores"
import type { Context, Scope } from "effect"
import { Effect, Layer } from "effect"
import type { DatabaseSettings } from "../../Config.ts"
import { CommandFailed } from "../../CommandFailed.ts"

const explain = (problem: SharedStores.OpenError): CommandFailed => {
  if (problem._tag === "SchemaMismatch") {
    const { isNewer, message } = problem
    return CommandFailed.failed(isNewer ? message : `${message}: leave out --no-migrate`)
  }
  const { cause } = problem
  return CommandFailed.failed(
    `The database cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`,
  )
}

const optionsOf = (settings: DatabaseSettings): SharedStores.SharedOptions => ({
  url: settings.databaseUrl,
  maxConnections: settings.connections,
  migrate: settings.migrate,
})

/** Opens the stores for commands that execute nothing. */
export const open = (
  settings: DatabaseSettings,
): Effect.Effect<Context.Context<Stores>, CommandFailed, Scope.Scope> =>
  Effect.mapError(Layer.build(SharedStores.layerStorage(optionsOf(settings))), explain)

/** Opens the stores for a server. Its lease has connections of its own, so load cannot delay it. */
export const openForServer: typeof open = (settings) =>
  Effect.mapError(Layer.build(SharedStores.layer(optionsOf(settings), true)), explain)
