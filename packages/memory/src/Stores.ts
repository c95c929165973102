/**
 * All stores in memory, as one layer. For tests and demonstrations.
 *
 * Guarantees: each build of the layer has its own empty stores. They behave like the durable ones.
 * Leaves out: durability, and sharing between processes.
 */
import type { Stores } from "@millrace/core/engine/Engine"
import type { Manifest } from "@millrace/core/ports/StoreManifest"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { Layer } from "effect"
import { Accounts } from "./internal/Accounts.ts"
import { Deliveries } from "./internal/Deliveries.ts"
import * as Keys from "./internal/KeyStore.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Secrets from "./internal/SecretStore.ts"
import * as Sessions from "./internal/SessionStore.ts"
import * as Triggers from "./internal/TriggerStore.ts"
import * as Values from "./internal/ValueStore.ts"
import * as Webhooks from "./internal/WebhookStore.ts"
import { StoredTriggers } from "./internal/StoredTriggers.ts"
import { StoredWorkflows } from "./internal/StoredWorkflows.ts"
import * as WorkflowsStore from "./internal/WorkflowStore.ts"

/** The stores in memory have every optional port. */
export const manifest: Manifest = {
  name: "memory",
  ports: ["keys", "ledger", "webhooks", "secrets", "values", "sessions", "triggers"],
}

/** Empty stores. Leases, windows and expiry follow Effect's clock, so a test clock moves them. */
export const layer: Layer.Layer<Stores> = Layer.mergeAll(
  WorkflowsStore.layer,
  Runs.layer,
  Keys.layer,
  Webhooks.layer,
  Secrets.layer,
  Values.layer,
  Sessions.layer,
  Triggers.layer,
  Layer.succeed(StoreManifest, manifest),
).pipe(
  Layer.provide(
    Layer.mergeAll(
      Accounts.layer,
      Deliveries.layer,
      Layer.provideMerge(StoredTriggers.layer, StoredWorkflows.layer),
    ),
  ),
)
