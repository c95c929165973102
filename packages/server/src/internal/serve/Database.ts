/**
 * The stores of a server: in a Postgres that others may use at the same time.
 *
 * The lease is kept on a connection of its own, so that it does not wait behind the work that it is
 * for. Guarantees: a database that cannot be used is refused at the start, in one sentence. Leaves
 * out: the embedded database; that is a development server's.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { Stores as Kept } from "@millrace/core/engine/Engine"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { CurrentWatchdog } from "@millrace/core/ports/Watchdog"
import { CurrentWakeups } from "@millrace/core/ports/Wakeups"
import { check, migrate } from "@millrace/postgres/Migrations"
import * as LeaseKeeper from "@millrace/postgres/LeaseKeeper"
import * as Postgres from "@millrace/postgres/Postgres"
import * as Runs from "@millrace/postgres/RunStore"
import * as Stores from "@millrace/postgres/Stores"
import * as Wakeups from "@millrace/postgres/Wakeups"
import type { Scope } from "effect"
import { Context, Effect, Layer } from "effect"
import type { DatabaseSettings } from "../../Config.ts"
import { limitedRuns } from "./Deadline.ts"
import { CommandFailed } from "../../CommandFailed.ts"

const refused = (message: string) => new CommandFailed({ message, reason: "failed" })

const explain = ({ cause }: StorageError): CommandFailed =>
  refused(`The database cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`)

const connectionOf = (settings: DatabaseSettings): Postgres.Options => ({
  url: settings.databaseUrl,
  maxConnections: settings.connections,
})

/** Builds a layer for as long as the scope lasts; what is wrong with the database is a refusal. */
const build = <A>(layer: Layer.Layer<A, StorageError>) =>
  Effect.mapError(Layer.build(layer), explain)

/** The stores over the main connections, with tables that fit. */
const openMain = Effect.fnUntraced(function* (settings: DatabaseSettings) {
  const client = yield* build(Postgres.layer(connectionOf(settings)))
  const prepare = settings.migrate ? migrate : check
  yield* Effect.provideContext(prepare, client).pipe(
    Effect.catchTags({
      StorageError: (error) => Effect.fail(explain(error)),
      SchemaMismatch: ({ isNewer, message }) =>
        Effect.fail(refused(isNewer ? message : `${message}: leave out --no-migrate`)),
    }),
  )
  return yield* build(Layer.provide(Stores.layerStorage, Layer.succeedContext(client)))
})

/**
 * The runs, over connections of their own: one for the lease, one for when that hangs, and one that
 * hears of runs for anybody. A thread keeps the lease while the event loop is blocked.
 */
const openBeat = Effect.fnUntraced(function* ({ databaseUrl }: DatabaseSettings) {
  const client = yield* build(Postgres.layer({ url: databaseUrl, maxConnections: 3 }))
  // Fresh, or it would be the one over the main connections.
  const beat = Layer.provide(Layer.fresh(Runs.layer), Layer.succeedContext(client))
  const { blockedMillis } = yield* CurrentLimits
  const options = { connection: { url: databaseUrl }, blockedMillis, endsProcess: true }
  const keeper = yield* LeaseKeeper.make(options, Context.get(yield* build(beat), RunStore))
  return { ...keeper, wakeups: yield* Effect.provideContext(Wakeups.make, client) }
})

/** Opens the stores for commands that execute nothing. */
export const open: (
  settings: DatabaseSettings,
) => Effect.Effect<Context.Context<Kept>, CommandFailed, Scope.Scope> = openMain

/** Opens the stores for a server, which keeps its lease apart from its work. */
export const openForServer: typeof open = Effect.fnUntraced(function* (settings) {
  const stores = yield* openMain(settings)
  const { heartbeat, endLease: release, wakeups, watchdog } = yield* openBeat(settings)
  const runs = limitedRuns({ ...Context.get(stores, RunStore), heartbeat, endLease: release })
  return Context.add(stores, RunStore, runs).pipe(
    Context.add(CurrentWakeups, wakeups),
    Context.add(CurrentWatchdog, watchdog),
  )
})
