/**
 * The stores in a Postgres that several processes may use at the same time.
 *
 * Leases have their own connections, so a renewal does not wait for other statements. While the
 * event loop is blocked, a thread renews them. A thread cannot use the caller's pool, so with a
 * pool there is none. Guarantees: the layer fails at once if the database cannot be used or has the
 * wrong tables. A process that opens the stores goes on at once with the runs of processes of its
 * machine that were killed. A runner does not wait for a database that does not answer. Leaves out:
 * PGlite.
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
import { endLocalLeases } from "./internal/RunClaims.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Stores from "./Stores.ts"
import * as Wakeups from "./Wakeups.ts"

/** Which database, and what is done to it when it is opened. */
export type SharedOptions = Postgres.ConnectionOptions & {
  /** False if the tables were migrated before. True by default. */
  readonly migrate?: boolean | undefined
}

/** Why the stores cannot be opened. */
export type OpenError = StorageError | SchemaMismatch

/** The stores for a process that executes no runs. Migrates or checks the tables first. */
export const layerStorage = ({ migrate: mayMigrate = true, ...connection }: SharedOptions) =>
  Stores.layerStorage.pipe(
    Layer.provide(
      Layer.effectDiscard(Effect.andThen(mayMigrate ? migrate : check, endLocalLeases)),
    ),
    Layer.provide(Postgres.layer(connection)),
  ) satisfies Layer.Layer<Kept, OpenError>

/** One connection for the lease, one in case the first hangs, and one that listens for wake-ups. */
export const leaseConnections = 3

const openLease = Effect.fnUntraced(function* (
  connection: Postgres.ConnectionOptions,
  endsProcess: boolean,
  claim: RunStore["Service"]["claim"],
) {
  const maxConnections = leaseConnections
  const client = yield* Layer.build(Postgres.layer({ ...connection, maxConnections }))
  // Without `fresh`, this would be the store with the main connections.
  const layerRuns = Layer.provide(Layer.fresh(Runs.layer), Layer.succeedContext(client))
  const { blockedMillis } = yield* CurrentLimits
  const { endLease, heartbeat } = Context.get(yield* Layer.build(layerRuns), RunStore)
  const wakeups = yield* Effect.provideContext(Wakeups.make, client)
  const store = { claim, endLease, heartbeat }
  if ("pool" in connection) return { kept: store, more: { wakeups } }
  const options = { connection, blockedMillis, endsProcess }
  const { watchdog, ...kept } = yield* LeaseKeeper.make(options, store)
  return { kept, more: { wakeups, watchdog } }
})

/**
 * The stores for an engine. With `endsProcess`, the process ends when its event loop is blocked for
 * longer than the limit `blockedMillis`; other processes can take over its runs by then.
 */
export const layer = (options: SharedOptions, endsProcess: boolean): Layer.Layer<Kept, OpenError> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const stores = yield* Layer.build(layerStorage(options))
      const { claim } = Context.get(stores, RunStore)
      const { kept, more } = yield* openLease(options, endsProcess, claim)
      const runs = limitedRuns({ ...Context.get(stores, RunStore), ...kept })
      return Context.add(stores, RunStore, runs).pipe(
        Context.add(StoreManifest, { ...Context.get(stores, StoreManifest), ...more }),
      )
    }),
  )
