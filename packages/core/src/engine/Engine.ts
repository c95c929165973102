/**
 * The engine as one layer. An embedder or a server provides its stores and node types.
 */
import { Layer } from "effect"
import type { KeyStore } from "../ports/KeyStore.ts"
import type { LedgerStore } from "../ports/LedgerStore.ts"
import type { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { StoreManifest } from "../ports/StoreManifest.ts"
import type { WebhookStore } from "../ports/WebhookStore.ts"
import type { WorkflowStore } from "../ports/WorkflowStore.ts"
import { Accounting } from "./Accounting.ts"
import { GraphCache } from "./GraphCache.ts"
import { Ids } from "./Ids.ts"
import { Keys } from "./Keys.ts"
import type { NodeTypes } from "./NodeTypes.ts"
import { Quarantine } from "./Quarantine.ts"
import { Runner } from "./Runner.ts"
import { Runs } from "./Runs.ts"
import { StoreClock } from "./StoreClock.ts"
import { Webhooks } from "./Webhooks.ts"
import { Workflows } from "./Workflows.ts"

/** The services of the engine. */
export type Engine =
  | Workflows
  | Runs
  | Keys
  | Accounting
  | Webhooks
  | Quarantine
  | Runner
  | Ids
  | StoreClock

/** The services of a store with all ports. */
export type Stores =
  | WorkflowStore
  | RunStore
  | LedgerStore
  | KeyStore
  | WebhookStore
  | StoreManifest

/**
 * The engine with random identifiers, on the store's clock. It starts to execute the store's open
 * runs when it is built.
 */
export const layer: Layer.Layer<Engine, StorageError, Stores | NodeTypes> = Layer.mergeAll(
  Workflows.layer,
  Runs.layer,
  Keys.layer,
  Accounting.layer,
  Webhooks.layer,
  Quarantine.layer,
).pipe(
  Layer.provideMerge(Runner.layer),
  Layer.provide(GraphCache.layer),
  Layer.provideMerge(Ids.layer),
  Layer.provide(StoreClock.layerClock),
  Layer.provideMerge(StoreClock.layer),
)
