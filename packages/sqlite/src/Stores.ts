/**
 * All stores in a file of SQLite, as one layer. For one process.
 *
 * Guarantees: what a store has answered survives the end of the process and a power cut. Runs of a
 * process that has died go on as soon as the file is opened again. Leaves out: several processes;
 * see `@millrace/postgres`.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { Manifest } from "@millrace/core/ports/StoreManifest"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { Effect, Layer } from "effect"
import type { DatabaseSync } from "node:sqlite"
import * as DataFile from "./DataFile.ts"
import { Connection, Database } from "./internal/SqliteConnection.ts"
import * as Keys from "./internal/KeyStore.ts"
import * as Ledger from "./internal/LedgerStore.ts"
import { endLeases } from "./internal/RunClaims.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Secrets from "./internal/SecretStore.ts"
import * as Sessions from "./internal/SessionStore.ts"
import * as Triggers from "./internal/TriggerStore.ts"
import * as Values from "./internal/ValueStore.ts"
import * as Webhooks from "./internal/WebhookStore.ts"
import * as Workflows from "./internal/WorkflowStore.ts"

/** The stores in SQLite have every optional port. */
export const manifest: Manifest = {
  name: "sqlite",
  ports: ["keys", "ledger", "webhooks", "secrets", "values", "sessions", "triggers"],
}

const layerStorage: Layer.Layer<Stores, never, Database> = Layer.mergeAll(
  Workflows.layer,
  Runs.layer,
  Ledger.layer,
  Keys.layer,
  Webhooks.layer,
  Secrets.layer,
  Values.layer,
  Sessions.layer,
  Triggers.layer,
  Layer.succeed(StoreManifest, manifest),
)

const connectionTo = Effect.fnUntraced(function* (database: DatabaseSync, gathers: boolean) {
  const make = Effect.sync(() => new Connection(database, gathers))
  const connection = yield* Effect.acquireRelease(make, (made) => Effect.sync(() => made.close()))
  yield* connection.write("Stores.open", (now) => endLeases(connection, now))
  return connection
})

const openFile = Effect.fnUntraced(function* (file: string) {
  const connection = connectionTo(yield* DataFile.open(file), true)
  return yield* Effect.mapError(connection, ({ cause }) => DataFile.problemOf(file)(cause))
})

/**
 * The stores in a file, which is made if missing, as are its folders. Whoever opens it is alone, so
 * the leases of others have ended.
 */
export const layer = (file: string): Layer.Layer<Stores, DataFile.DataFileError> =>
  Layer.provide(layerStorage, Layer.effect(Database, openFile(file)))

/** Empty stores in memory, with the same statements. For tests. */
export const layerMemory: Layer.Layer<Stores, StorageError> = Layer.provide(
  layerStorage,
  Layer.effect(
    Database,
    Effect.suspend(() => connectionTo(DataFile.openMemory(), false)),
  ),
)
