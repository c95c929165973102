/**
 * The one place that puts an engine together, on any store.
 *
 * Guarantees: the guard that judges a webhook at the start is the guard that sends its deliveries.
 * When the scope closes, the runner and the dispatcher stop at the same time, each within its grace
 * time; the stores close after that. Leaves out: the store, the master key, and HTTP.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { PriceList, Prices } from "@millrace/core/domain/Prices"
import { CurrentPrices } from "@millrace/core/domain/Prices"
import { CurrentApprovalPage } from "@millrace/core/engine/Approvals"
import * as Engine from "@millrace/core/engine/Engine"
import type { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import type { RunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import * as Schedules from "@millrace/core/engine/Schedules"
import { StoreClock } from "@millrace/core/engine/StoreClock"
import * as OptionalPorts from "@millrace/core/engine/OptionalPorts"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { StoreManifest, Unsupported } from "@millrace/core/ports/StoreManifest"
import type { StorageError } from "@millrace/core/ports/StorageError"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import { resealAll } from "@millrace/core/engine/Secrets"
import { Vault } from "@millrace/core/ports/Vault"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import { Egress } from "@millrace/egress/Egress"
import * as QuickJs from "@millrace/expressions/QuickJs"
import type { Exception } from "@millrace/egress/Policy"
import { httpsOnly } from "@millrace/egress/Policy"
import * as Dispatcher from "@millrace/webhooks/Dispatcher"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { CurrentDispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { layerRunStore, layerWebhookStore, LocalQueue } from "@millrace/webhooks/LocalQueue"
import type * as MasterKey from "./MasterKey.ts"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import * as Targets from "@millrace/webhooks/Targets"
import { Context, Effect, Exit, Layer, type Redacted, Scope } from "effect"
import { createHash } from "node:crypto"
import * as CronCalendar from "./internal/CronCalendar.ts"
import * as NodeDigest from "./internal/NodeDigest.ts"
import * as RunMetrics from "./internal/RunMetrics.ts"
import * as SeparateValues from "./internal/SeparateValues.ts"
import * as WatchedStores from "./internal/WatchedStores.ts"

/** JavaScript expressions in QuickJS, on threads that end with the layer. */
export const evaluator: Layer.Layer<never> = QuickJs.layer

/** How webhooks are delivered. */
export interface WebhookOptions {
  /** Private networks that webhooks may call, over http, too. */
  readonly allow?: ReadonlyArray<Exception> | undefined
  /** The guard to use in the place of the usual one, which is {@link webhookGuard}. */
  readonly guard?: ((usual: Layer.Layer<Egress>) => Layer.Layer<Egress>) | undefined
  /** Options of the dispatcher that differ from the defaults. */
  readonly dispatcher?: Partial<DispatcherOptions> | undefined
}

/** The parts and options of an engine. */
export interface HostOptions<E = never> {
  /** Workflows, runs, and the optional ports that the manifest names. */
  readonly stores: Layer.Layer<WorkflowStore | RunStore | StoreManifest, E>
  /** Where large values are; in the stores by default. */
  readonly values?: Layer.Layer<ValueStore, E | StorageError> | undefined
  readonly nodes: Layer.Layer<NodeTypes, never, Egress>
  /** The guard for calls that nodes make. */
  readonly egress: Layer.Layer<Egress>
  /** What computes JavaScript expressions; QuickJS by default. */
  readonly evaluator?: Layer.Layer<never> | undefined
  /**
   * The master key, which seals secrets of accounts, signing secrets and the headers of webhooks.
   * This effect runs when the stores are open. Absent: nothing is sealed, so there are no secrets.
   */
  readonly masterKey?: Effect.Effect<Redacted.Redacted, E, MasterKey.SealedStores> | undefined
  /** A text: nothing is delivered, and a start with a webhook is refused with this text. */
  readonly webhooks: WebhookOptions | string
  /**
   * The public address of the interface, with the path at which it is mounted. Links in mails of
   * approvals begin with it; absent: no such mail can be sent.
   */
  readonly publicUrl?: string | undefined
  /** A tracer and a registry of metrics for runs, nodes and deliveries; none by default. */
  readonly telemetry?: Layer.Layer<never> | undefined
  /** What node types cost, in the place of what they declare; what `readPrices` returns. */
  readonly prices?: Prices | undefined
  /** They replace those of the limits in force. */
  readonly limits?: Partial<Limits> | undefined
  /**
   * They replace those of the runner's options in force. The dispatcher has the same grace time.
   */
  readonly runner?: Partial<RunnerOptions> | undefined
}

/** The services of an engine on its stores. */
export type EngineServices = Engine.Engine | Engine.Stores | NodeTypes

/** How long a connection to a receiver waits for the next delivery. */
const idleMillis = 4_000

/** The guard that judges addresses of webhooks, and calls them: https, and what is allowed. */
export const webhookGuard = (allow: ReadonlyArray<Exception> = []): Layer.Layer<Egress> =>
  Egress.layer({ ...httpsOnly, allow, idleMillis })

/** Prices with a name for their content. */
const listOf = (prices: Prices): PriceList => {
  const digest = createHash("sha256").update(JSON.stringify(prices)).digest("hex")
  return { id: digest.slice(0, 16), prices }
}

type Settings = Pick<HostOptions, "limits" | "prices" | "publicUrl" | "runner">

const settingsLayer = ({ limits, prices, publicUrl, runner }: Settings) =>
  Layer.mergeAll(
    publicUrl === undefined
      ? Layer.empty
      : Layer.succeed(CurrentApprovalPage, `${publicUrl.replace(/\/+$/, "")}/approvals/`),
    prices === undefined ? Layer.empty : Layer.succeed(CurrentPrices, listOf(prices)),
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

type Parts = Pick<HostOptions, "egress" | "evaluator" | "nodes">

type OpenVault = Layer.Layer<Vault>

/** What engine and dispatcher have in common where webhooks are delivered. */
interface Delivery extends Pick<WebhookOptions, "dispatcher"> {
  readonly guard: Layer.Layer<Egress>
}

/** The engine without a dispatcher, over stores that are open. */
const engineLayer = (
  { egress, evaluator: computing = evaluator, nodes }: Parts,
  delivery: Delivery | string,
  vault: OpenVault,
  telemetry: Context.Context<never> | undefined,
) => {
  const seen = telemetry === undefined ? Layer.empty : Layer.succeedContext(telemetry)
  const executing = Engine.layer.pipe(
    Layer.provideMerge(Layer.provide(nodes, [egress, seen])),
    Layer.provide(NodeDigest.layer),
    Layer.provide([computing, CronCalendar.layer]),
  )
  if (typeof delivery === "string") {
    return Layer.provide(executing, [WebhookTargets.layerRefusing(delivery), vault])
  }
  return executing.pipe(
    Layer.provide([Layer.provide(Targets.layer, delivery.guard), vault]),
    Layer.provideMerge(Layer.merge(layerRunStore, layerWebhookStore)),
  )
}

const dispatcherLayer = ({ dispatcher, guard }: Delivery, vault: OpenVault) =>
  Dispatcher.layer.pipe(
    Layer.provide(guard),
    Layer.provide(vault),
    Layer.provide(dispatcherOptions(dispatcher)),
    Layer.provide(StoreClock.layerClock),
  )

const schedulesLayer = Schedules.layer.pipe(
  Layer.provide([CronCalendar.layer, StoreClock.layerClock]),
)

/** How deliveries are made, or why none are. */
const deliveryOf = Effect.fnUntraced(function* (
  webhooks: WebhookOptions | string,
): Effect.fn.Return<Delivery | string, never, StoreManifest> {
  if (typeof webhooks === "string") return webhooks
  const { name: store, ports } = yield* StoreManifest
  if (!ports.includes("webhooks")) {
    return `webhook: ${new Unsupported({ store, port: "webhooks" }).message}`
  }
  const { allow, dispatcher, guard = (usual) => usual } = webhooks
  return { dispatcher, guard: guard(webhookGuard(allow)) }
})

/** The vault; without a master key, one that is closed. */
const vaultOf = <E>(masterKey: HostOptions<E>["masterKey"]) =>
  masterKey === undefined
    ? Effect.succeed(Vault.layerClosed)
    : Effect.map(masterKey, MasterVault.layer)

/** Seals with the newest master key what older keys have sealed. */
const reseal = resealAll.pipe(
  Effect.flatMap((count) =>
    count === 0 ? Effect.void : Effect.logInfo(`sealed ${count} secrets with the new master key`),
  ),
  Effect.catch((error) => Effect.logWarning(`secrets keep older seals: ${error.message}`)),
)

const build = Effect.fnUntraced(function* <E>(options: HostOptions<E>) {
  const { masterKey, webhooks, ...parts } = options
  const telemetry =
    options.telemetry === undefined ? undefined : yield* Layer.build(options.telemetry)
  const delivery = yield* deliveryOf(webhooks)
  const vault = yield* vaultOf(masterKey)
  const around = yield* Effect.scope
  const executing = yield* Scope.fork(around)
  const delivering = yield* Scope.fork(around)
  yield* Effect.addFinalizer(() =>
    Effect.forEach([executing, delivering], (part) => Scope.close(part, Exit.void), {
      concurrency: "unbounded",
      discard: true,
    }),
  )
  const whole = engineLayer(parts, delivery, vault, telemetry)
  const engine = yield* Layer.buildWithScope(
    telemetry === undefined ? whole : Layer.provideMerge(whole, WatchedStores.layer(telemetry)),
    executing,
  )
  const schedules = Layer.provide(schedulesLayer, Layer.succeedContext(engine))
  yield* Layer.buildWithScope(schedules, executing)
  if (masterKey !== undefined) {
    yield* Effect.forkIn(Effect.provide(reseal, vault), executing)
  }
  const dispatcher =
    typeof delivery === "string"
      ? Context.empty()
      : yield* Layer.buildWithScope(
          Layer.provide(dispatcherLayer(delivery, vault), Layer.succeedContext(engine)),
          delivering,
        )
  if (telemetry !== undefined) yield* watch(telemetry, Context.merge(engine, dispatcher))
  return Context.merge(engine, dispatcher)
})

/** Tells telemetry what is in progress, until the scope closes. */
const watch = (telemetry: Context.Context<never>, engine: Context.Context<Runner>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { status } = Context.get(engine, Runner)
      const { sending } = Context.get(engine, Dispatcher.CurrentDispatcher)
      return RunMetrics.watch(telemetry, () => status().runsInProgress, sending)
    }),
    (end) => Effect.sync(end),
  )

const storesOf = <E>({ stores, values }: HostOptions<E>) =>
  values === undefined ? stores : SeparateValues.layer(stores, values)

/**
 * An engine that executes the open runs of its store, and delivers webhooks if they are configured.
 * Fails if the store cannot be opened or does not answer.
 */
export const layer = <E = never>(
  options: HostOptions<E>,
): Layer.Layer<EngineServices, E | StorageError> =>
  Layer.effectContext(build(options)).pipe(
    Layer.provideMerge(LocalQueue.layer),
    Layer.provideMerge(OptionalPorts.layer),
    Layer.provideMerge(storesOf(options)),
    Layer.provideMerge(settingsLayer(options)),
  )
