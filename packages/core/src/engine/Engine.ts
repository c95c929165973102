/**
 * The engine as one layer. An embedder or a server provides its stores and node types.
 */
import { Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import type { KeyStore } from "../ports/KeyStore.ts"
import type { LedgerStore } from "../ports/LedgerStore.ts"
import type { RunStore } from "../ports/RunStore.ts"
import type { SecretStore } from "../ports/SecretStore.ts"
import type { SessionStore } from "../ports/SessionStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { StoreManifest } from "../ports/StoreManifest.ts"
import type { TriggerStore } from "../ports/TriggerStore.ts"
import { Vault } from "../ports/Vault.ts"
import type { WebhookStore } from "../ports/WebhookStore.ts"
import type { ValueStore } from "../ports/ValueStore.ts"
import { WebhookTargets } from "../ports/WebhookTargets.ts"
import type { WorkflowStore } from "../ports/WorkflowStore.ts"
import { Accounting } from "./Accounting.ts"
import { Approvals } from "./Approvals.ts"
import { CurrentSecrets } from "./CurrentSecrets.ts"
import { layerLinks } from "./internal/ApprovalTokens.ts"
import { CurrentChildren, make as makeChildren } from "./internal/ChildSource.ts"
import { CurrentValues } from "./internal/CurrentValues.ts"
import { GraphCache } from "./GraphCache.ts"
import { Ids } from "./Ids.ts"
import { InboundWebhooks } from "./InboundWebhooks.ts"
import { WebhookTests } from "./WebhookTests.ts"
import { Keys } from "./Keys.ts"
import type { NodeTypes } from "./NodeTypes.ts"
import { Quarantine } from "./Quarantine.ts"
import { RunEndTriggers } from "./RunEndTriggers.ts"
import { Runner } from "./Runner.ts"
import type { RunNotifier } from "./RunNotifier.ts"
import { Runs } from "./Runs.ts"
import { RunViews } from "./RunViews.ts"
import { Secrets } from "./Secrets.ts"
import { Sessions } from "./Sessions.ts"
import { Signals } from "./Signals.ts"
import { StoreClock } from "./StoreClock.ts"
import { LargeValues } from "./LargeValues.ts"
import { Triggers } from "./Triggers.ts"
import { TypesInUse } from "./TypesInUse.ts"
import { Versions } from "./Versions.ts"
import { Webhooks } from "./Webhooks.ts"
import { Workflows } from "./Workflows.ts"

/** The services of the engine. */
export type Engine =
  | Workflows
  | Versions
  | Runs
  | Signals
  | Approvals
  | RunViews
  | Keys
  | Sessions
  | Accounting
  | Webhooks
  | Secrets
  | LargeValues
  | Quarantine
  | TypesInUse
  | Triggers
  | InboundWebhooks
  | WebhookTests
  | RunEndTriggers
  | Runner
  | RunNotifier
  | Ids
  | StoreClock

/** The services of a store with all ports. */
export type Stores =
  | WorkflowStore
  | RunStore
  | LedgerStore
  | KeyStore
  | WebhookStore
  | SecretStore
  | ValueStore
  | SessionStore
  | TriggerStore
  | StoreManifest

const layerSecretSource = Layer.effect(CurrentSecrets, Secrets)

/** Runs keep their large values where {@link LargeValues} says. */
export const layerValueSource: Layer.Layer<never, never, LargeValues> = Layer.effect(
  CurrentValues,
  Effect.map(LargeValues, ({ source }) => source),
)

/** Nodes of this engine start runs. */
export const layerChildren: Layer.Layer<never, never, RunStore | WorkflowStore | GraphCache | Ids> =
  Layer.effect(CurrentChildren, makeChildren)

/**
 * The engine with random identifiers, on the store's clock. It starts to execute the store's open
 * runs when it is built.
 */
export const layer: Layer.Layer<
  Engine,
  StorageError,
  Stores | NodeTypes | WebhookTargets | Vault | Digest.Digest
> = Layer.mergeAll(
  Layer.provideMerge(
    Layer.mergeAll(
      Versions.layer,
      Triggers.layer,
      InboundWebhooks.layer,
      WebhookTests.layer,
      RunEndTriggers.layer,
    ),
    Layer.merge(Workflows.layer, Runs.layer),
  ),
  Signals.layer,
  RunViews.layer,
  Approvals.layer,
  Keys.layer,
  Sessions.layer,
  Accounting.layer,
  Webhooks.layer,
  Quarantine.layer,
  TypesInUse.layer,
).pipe(
  Layer.provideMerge(Runner.layer),
  Layer.provide([layerChildren, layerLinks]),
  Layer.provide([layerSecretSource, layerValueSource]),
  Layer.provideMerge(Layer.merge(Secrets.layer, LargeValues.layer)),
  Layer.provide(GraphCache.layer),
  Layer.provideMerge(Ids.layer),
  Layer.provide(StoreClock.layerClock),
  Layer.provideMerge(StoreClock.layer),
)

/** For an engine that delivers no webhooks. A start with a webhook is refused with the sentence. */
export const withoutWebhooks = (
  sentence = "webhook: this engine delivers no webhooks; start without one",
): Layer.Layer<WebhookTargets | Vault> =>
  Layer.merge(WebhookTargets.layerRefusing(sentence), Vault.layerClosed)

/** An engine that delivers no webhooks and hashes with WebCrypto, so it runs on any platform. */
export const layerWithoutWebhooks: Layer.Layer<Engine, StorageError, Stores | NodeTypes> =
  Layer.provide(layer, [withoutWebhooks(), Digest.layerWebCrypto])
