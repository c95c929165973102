/**
 * All stores on Postgres, as layers over the ambient SQL client.
 *
 * Guarantees: in a transaction of that client, the stores take part in the transaction. Leaves out:
 * connecting; see `Postgres` and `Pglite`.
 */
import type { Stores as Kept } from "@millrace/core/engine/Engine"
import { StorageError } from "@millrace/core/ports/StorageError"
import type { Manifest } from "@millrace/core/ports/StoreManifest"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import * as CallerTransactions from "./internal/CallerTransactions.ts"
import * as Keys from "./internal/KeyStore.ts"
import * as Ledger from "./internal/LedgerStore.ts"
import { migrate } from "./Migrations.ts"
import { endLeases } from "./internal/RunClaims.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Secrets from "./internal/SecretStore.ts"
import * as Sessions from "./internal/SessionStore.ts"
import * as Triggers from "./internal/TriggerStore.ts"
import * as Values from "./internal/ValueStore.ts"
import * as Webhooks from "./internal/WebhookStore.ts"
import * as Workflows from "./internal/WorkflowStore.ts"

/** The stores on Postgres have every optional port. */
export const manifest: Manifest = {
  name: "postgres",
  ports: ["keys", "ledger", "webhooks", "secrets", "values", "sessions", "triggers"],
}

const layerManifest = (name: string) =>
  Layer.effect(
    StoreManifest,
    Effect.map(CallerTransactions.transactions, (transactions) => ({
      ...manifest,
      name,
      transactions,
    })),
  )

const layerTables = Layer.mergeAll(
  Workflows.layer,
  Runs.layer,
  Ledger.layer,
  Keys.layer,
  Webhooks.layer,
  Secrets.layer,
  Values.layer,
  Sessions.layer,
  Triggers.layer,
)

/** The stores. The tables must exist; this layer sends no DDL. */
export const layerStorage: Layer.Layer<Kept, never, SqlClient> = Layer.merge(
  layerTables,
  layerManifest(manifest.name),
)

const migrateOrFail = Effect.catchTag(migrate, "SchemaMismatch", (cause) =>
  Effect.fail(new StorageError({ operation: "Migrations.migrate", cause })),
)

/** Migrates the tables. Servers that start at the same time wait for each other. */
export const layerMigrations: Layer.Layer<never, StorageError, SqlClient> =
  Layer.effectDiscard(migrateOrFail)

/** Migrates the tables, then provides the stores. */
export const layer: Layer.Layer<Kept, StorageError, SqlClient> = layerStorage.pipe(
  Layer.provide(layerMigrations),
)

/**
 * As {@link layer}, for a database that only this process uses, such as one in a folder. Every
 * process that had a lease has died, so all leases end at once and its runs continue.
 */
export const layerAlone: Layer.Layer<Kept, StorageError, SqlClient> = Layer.merge(
  layerTables,
  layerManifest("pglite"),
).pipe(Layer.provide(Layer.effectDiscard(Effect.andThen(migrateOrFail, endLeases))))
