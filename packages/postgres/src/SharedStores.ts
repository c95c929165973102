/**
 * The stores in a Postgres that several processes may use at the same time.
 *
 * The lease is kept over connections of its own, so that it does not wait behind the work that it
 * is for. While the event loop is blocked, a thread keeps it, unless the connections come from the
 * caller's pool, which a thread cannot use. Guarantees: a database that cannot be used, or whose
 * tables do not fit, is refused at the start; a runner does not wait for a database that is silent.
 * Leaves out: PGlite.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { Stores as Kept } from "@millrace/core/engine/Engine"
import { limitedRuns } from "@millrace/core/engine/StoreDeadline"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { Context, Effect, Layer } from "effect"
import * as LeaseKeeper from "./internal/LeaseKeeper.ts"
import type { SchemaMismatch } from "./Migrations.ts"
import { check, migrate } from "./Migrations.ts"
import * as Postgres from "./Postgres.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Stores from "./Stores.ts"
import * as Wakeups from "./Wakeups.ts"

/** Which database, and what is done to it when it is opened. */
export type SharedOptions = Postgres.ConnectionOptions & {
  /** False: the tables are brought up to date by somebody else. */
  readonly migrate?: boolean | undefined
}

/** Why the stores cannot be opened. */
export type OpenError = StorageError | SchemaMismatch

/** The stores for whoever executes nothing, with tables that fit. */
export const layerStorage = ({ migrate: mayMigrate = true, ...connection }: SharedOptions) =>
  Stores.layerStorage.pipe(
    Layer.provide(Layer.effectDiscard(mayMigrate ? migrate : check)),
    Layer.provide(Postgres.layer(connection)),
  ) satisfies Layer.Layer<Kept, OpenError>

/**
 * Connections beside those for the work: one for the lease, one for when that hangs, and one that
 * hears of runs for anybody.
 */
export const leaseConnections = 3

const openLease = Effect.fnUntraced(function* (
  connection: Postgres.ConnectionOptions,
  endsProcess: boolean,
) {
  const maxConnections = leaseConnections
  const client = yield* Layer.build(Postgres.layer({ ...connection, maxConnections }))
  // Fresh, or it would be the one over the main connections.
  const layerRuns = Layer.provide(Layer.fresh(Runs.layer), Layer.succeedContext(client))
  const { blockedMillis } = yield* CurrentLimits
  const runs = Context.get(yield* Layer.build(layerRuns), RunStore)
  const wakeups = yield* Effect.provideContext(Wakeups.make, client)
  if ("pool" in connection) return { runs, more: { wakeups } }
  const kept = yield* LeaseKeeper.make({ connection, blockedMillis, endsProcess }, runs)
  return { runs: kept, more: { wakeups, watchdog: kept.watchdog } }
})

/**
 * The stores for an engine. `endsProcess`: whether a process whose event loop is blocked for longer
 * than the limit `blockedMillis` ends; it has lost its runs to others by then.
 */
export const layer = (options: SharedOptions, endsProcess: boolean): Layer.Layer<Kept, OpenError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const stores = yield* Layer.build(layerStorage(options))
      const { more, runs: kept } = yield* openLease(options, endsProcess)
      const { endLease, heartbeat } = kept
      const runs = limitedRuns({ ...Context.get(stores, RunStore), heartbeat, endLease })
      return Context.add(stores, RunStore, runs).pipe(
        Context.add(StoreManifest, { ...Stores.manifest, ...more }),
      )
    }),
  )
