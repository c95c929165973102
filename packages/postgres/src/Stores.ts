/**
 * All stores on Postgres, as layers over the ambient SQL client.
 *
 * Guarantees: who works within a transaction of that client has the stores take part in it. Leaves
 * out: connecting; see `Postgres` and `Pglite`.
 */
import type { Stores as Kept } from "@millrace/core/engine/Engine"
import { StorageError } from "@millrace/core/ports/StorageError"
import type { Manifest } from "@millrace/core/ports/StoreManifest"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Keys from "./internal/KeyStore.ts"
import * as Ledger from "./internal/LedgerStore.ts"
import { migrate } from "./Migrations.ts"
import { endLeases } from "./internal/RunClaims.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Webhooks from "./internal/WebhookStore.ts"
import * as Workflows from "./internal/WorkflowStore.ts"

/** What is there beside workflows and runs: everything. */
export const manifest: Manifest = { name: "postgres", ports: ["keys", "ledger", "webhooks"] }

/** The stores over tables that are there already; sends no DDL. */
export const layerStorage: Layer.Layer<Kept, never, SqlClient> = Layer.mergeAll(
  Workflows.layer,
  Runs.layer,
  Ledger.layer,
  Keys.layer,
  Webhooks.layer,
  Layer.succeed(StoreManifest, manifest),
)

/** A schema of a later version is one more reason why the store cannot be opened. */
const migrateOrFail = Effect.catchTag(migrate, "SchemaMismatch", (cause) =>
  Effect.fail(new StorageError({ operation: "Migrations.migrate", cause })),
)

/** Brings the tables up to date; servers that start together wait for each other. */
export const layerMigrations: Layer.Layer<never, StorageError, SqlClient> =
  Layer.effectDiscard(migrateOrFail)

/** Brings the tables up to date, then provides the stores. */
export const layer: Layer.Layer<Kept, StorageError, SqlClient> = layerStorage.pipe(
  Layer.provide(layerMigrations),
)

/**
 * The same for a database that belongs to this process alone, as one in a folder does: whoever had
 * a lease has died, so every lease ends now, and what it was for goes on at once.
 */
export const layerAlone: Layer.Layer<Kept, StorageError, SqlClient> = layerStorage.pipe(
  Layer.provide(Layer.effectDiscard(Effect.andThen(migrateOrFail, endLeases))),
)
