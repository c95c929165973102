/**
 * All stores in memory, as one layer: for test suites and demonstrations.
 *
 * Guarantees: each build of the layer is empty and shares nothing with another one; the stores
 * behave as the durable ones do. Leaves out: durability and sharing between processes.
 */
import type { KeyStore } from "@millrace/core/ports/KeyStore"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Layer } from "effect"
import { Accounts } from "./internal/Accounts.ts"
import { Deliveries } from "./internal/Deliveries.ts"
import * as Keys from "./internal/KeyStore.ts"
import * as Runs from "./internal/RunStore.ts"
import * as Webhooks from "./internal/WebhookStore.ts"
import { Workflows } from "./internal/Workflows.ts"
import * as WorkflowsStore from "./internal/WorkflowStore.ts"

/** Everything that is kept. */
type Services = WorkflowStore | RunStore | LedgerStore | KeyStore | WebhookStore

/** Empty stores. Leases, windows and expiry follow Effect's clock, so a test clock moves them. */
export const layer: Layer.Layer<Services> = Layer.mergeAll(
  WorkflowsStore.layer,
  Runs.layer,
  Keys.layer,
  Webhooks.layer,
).pipe(Layer.provide(Layer.mergeAll(Accounts.layer, Deliveries.layer, Workflows.layer)))
