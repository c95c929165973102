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
import { Accounts } from "./Accounts.ts"
import { Deliveries } from "./Deliveries.ts"
import * as Keys from "./KeyStore.ts"
import * as Runs from "./RunStore.ts"
import * as Webhooks from "./WebhookStore.ts"
import { Workflows } from "./Workflows.ts"
import * as WorkflowsStore from "./WorkflowStore.ts"

/** Everything that is kept. */
type Services = WorkflowStore | RunStore | LedgerStore | KeyStore | WebhookStore

/** Empty stores. Leases, windows and expiry follow Effect's clock, so a test clock moves them. */
export const layer: Layer.Layer<Services> = Layer.mergeAll(
  WorkflowsStore.layer,
  Runs.layer,
  Keys.layer,
  Webhooks.layer,
).pipe(Layer.provide(Layer.mergeAll(Accounts.layer, Deliveries.layer, Workflows.layer)))
