/**
 * The one place that puts an engine together, on any store.
 *
 * Guarantees: what a start accepts as a webhook is judged by the guard that will send it; when the
 * scope closes, the runner and the dispatcher stop side by side, each within its grace time, and
 * only then the stores close. Leaves out: which store, where the master key comes from, and HTTP.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import type { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { RunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { StoreClock } from "@millrace/core/engine/StoreClock"
import * as OptionalPorts from "@millrace/core/engine/OptionalPorts"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { StoreManifest, Unsupported } from "@millrace/core/ports/StoreManifest"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { CurrentWebhookTargets } from "@millrace/core/ports/WebhookTargets"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import type { Exception } from "@millrace/egress/Policy"
import { httpsOnly } from "@millrace/egress/Policy"
import * as Dispatcher from "@millrace/webhooks/Dispatcher"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { CurrentDispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { layerRunStore, LocalQueue } from "@millrace/webhooks/LocalQueue"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import * as Targets from "@millrace/webhooks/Targets"
import { Effect, Exit, Layer, type Redacted, Scope } from "effect"
import type { Digest } from "effect/crypto"
import * as NodeDigest from "./internal/NodeDigest.ts"

/** How webhooks are delivered. */
export interface WebhookOptions<E = never> {
  /**
   * What signing secrets and the headers of webhooks are sealed with; found once the stores are
   * open.
   */
  readonly masterKey: Effect.Effect<Redacted.Redacted, E, WebhookStore>
  /** Networks that may be called though they are not public, over http, too. */
  readonly allow?: ReadonlyArray<Exception> | undefined
  /** What a dispatcher does differently from the usual. */
  readonly dispatcher?: Partial<DispatcherOptions> | undefined
}

/** What an engine is made of. */
export interface HostOptions<E = never> {
  /** Workflows, runs, and the optional ports that the manifest names. */
  readonly stores: Layer.Layer<WorkflowStore | RunStore | StoreManifest, E>
  readonly nodes: Layer.Layer<NodeTypes, never, Egress>
  /** The guard for calls that nodes make. */
  readonly egress: Layer.Layer<Egress>
  /** A sentence: nothing is delivered, and it is what a start with a webhook is refused with. */
  readonly webhooks: WebhookOptions<E> | string
  /** Over the limits in force. */
  readonly limits?: Partial<Limits> | undefined
  /** Over the runner's options in force; the dispatcher has the same grace time. */
  readonly runner?: Partial<RunnerOptions> | undefined
}

/** What an engine that is put together offers. */
export type Services = Engine.Engine | Engine.Stores | NodeTypes | Digest.Digest

/** How long a connection to a receiver waits for the next delivery. */
const idleMillis = 4_000

/** The guard that judges addresses of webhooks, and calls them: https, and what is allowed. */
export const webhookGuard = (allow: ReadonlyArray<Exception> = []): Layer.Layer<Egress> =>
  Egress.layer({ ...httpsOnly, allow, idleMillis })

const settingsLayer = ({ limits, runner }: Pick<HostOptions, "limits" | "runner">) =>
  Layer.mergeAll(
    Layer.effect(
      CurrentLimits,
      Effect.map(CurrentLimits, (inForce) => ({ ...inForce, ...limits })),
    ),
    Layer.effect(
      CurrentRunnerOptions,
      Effect.map(CurrentRunnerOptions, (inForce) => ({ ...inForce, ...runner })),
    ),
  )

const dispatcherOptions = (own: Partial<DispatcherOptions> | undefined) =>
  Layer.effect(
    CurrentDispatcherOptions,
    Effect.gen(function* () {
      const limits = yield* CurrentLimits
      return {
        ...(yield* CurrentDispatcherOptions),
        atOnce: limits.deliveriesAtOnce,
        perOrigin: limits.deliveriesPerOrigin,
        perAccount: limits.deliveriesPerAccount,
        graceMillis: (yield* CurrentRunnerOptions).graceMillis,
        ...own,
      }
    }),
  )

type Parts = Pick<HostOptions, "egress" | "nodes">

/** What engine and dispatcher have in common where webhooks are delivered. */
interface Delivery extends Pick<WebhookOptions, "dispatcher"> {
  readonly guard: Layer.Layer<Egress>
  readonly vault: Layer.Layer<never>
}

/** Accepts no address. */
const refusing = (sentence: string) =>
  Layer.succeed(CurrentWebhookTargets, { accept: () => Effect.fail(sentence) })

/** The engine without a dispatcher, over stores that are open. */
const engineLayer = ({ egress, nodes }: Parts, delivery: Delivery | string) => {
  const executing = Layer.provideMerge(Engine.layer, Layer.provide(nodes, egress))
  if (typeof delivery === "string") return Layer.provide(executing, refusing(delivery))
  return executing.pipe(
    Layer.provide(Layer.provide(Targets.layer, delivery.guard)),
    Layer.provide(delivery.vault),
    Layer.provideMerge(layerRunStore),
  )
}

const dispatcherLayer = ({ dispatcher, guard, vault }: Delivery) =>
  Dispatcher.layer.pipe(
    Layer.provide(guard),
    Layer.provide(vault),
    Layer.provide(dispatcherOptions(dispatcher)),
    Layer.provide(StoreClock.layerClock),
  )

/** How deliveries are made, or why none are. */
const deliveryOf = Effect.fnUntraced(function* <E>(
  webhooks: WebhookOptions<E> | string,
): Effect.fn.Return<Delivery | string, E, StoreManifest | WebhookStore> {
  if (typeof webhooks === "string") return webhooks
  const { name: store, ports } = yield* StoreManifest
  if (!ports.includes("webhooks")) {
    return `webhook: ${new Unsupported({ store, port: "webhooks" }).message}`
  }
  const { allow, dispatcher, masterKey } = webhooks
  return {
    dispatcher,
    guard: webhookGuard(allow),
    vault: MasterVault.layer(yield* masterKey),
  }
})

const build = Effect.fnUntraced(function* <E>({ webhooks, ...parts }: HostOptions<E>) {
  const delivery = yield* deliveryOf(webhooks)
  const around = yield* Effect.scope
  const executing = yield* Scope.fork(around)
  const delivering = yield* Scope.fork(around)
  yield* Effect.addFinalizer(() =>
    Effect.forEach([executing, delivering], (part) => Scope.close(part, Exit.void), {
      concurrency: "unbounded",
      discard: true,
    }),
  )
  const engine = yield* Layer.buildWithScope(engineLayer(parts, delivery), executing)
  if (typeof delivery === "string") return engine
  const dispatcher = Layer.provide(dispatcherLayer(delivery), Layer.succeedContext(engine))
  yield* Layer.buildWithScope(dispatcher, delivering)
  return engine
})

/**
 * An engine that executes whatever its store has open, and delivers what its runs have to tell
 * where webhooks are configured. Fails where the store cannot be opened or does not answer.
 */
export const layer = <E = never>(
  options: HostOptions<E>,
): Layer.Layer<Services, E | StorageError> =>
  Layer.effectContext(build(options)).pipe(
    Layer.provideMerge(LocalQueue.layer),
    Layer.provideMerge(OptionalPorts.layer),
    Layer.provideMerge(options.stores),
    Layer.provideMerge(NodeDigest.layer),
    Layer.provideMerge(settingsLayer(options)),
  )
