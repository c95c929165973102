/**
 * Webhooks in a server: an engine that admits them and hears of its own deliveries, and a
 * dispatcher that sends what is due.
 *
 * Guarantees: what a start accepts is judged by the guard that will send it; that guard opens for
 * https on the usual ports and for what the operator allowed, and never for the server itself.
 * Leaves out: where the master key comes from.
 */
import { CurrentLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import type { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { StoreClock } from "@millrace/core/engine/StoreClock"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Egress } from "@millrace/egress/Egress"
import { httpsOnly } from "@millrace/egress/Policy"
import * as Dispatcher from "@millrace/webhooks/Dispatcher"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { CurrentDispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { layerRunStore, LocalQueue } from "@millrace/webhooks/LocalQueue"
import * as MasterVault from "@millrace/webhooks/MasterVault"
import * as Targets from "@millrace/webhooks/Targets"
import { Effect, Layer, type Redacted } from "effect"
import type { AllowedNetwork } from "../../Config.ts"

/** What webhooks go by. */
export interface DeliverySettings {
  readonly masterKey: Redacted.Redacted
  readonly egressAllow: ReadonlyArray<AllowedNetwork>
}

/** How long a connection to a receiver waits for the next delivery. */
const idleMillis = 4_000

/** The guard that judges addresses of webhooks, and calls them. */
export const guard = ({ egressAllow }: Pick<DeliverySettings, "egressAllow">) =>
  Egress.layer({ ...httpsOnly, allow: egressAllow, idleMillis })

/** What an engine that delivers needs beside its stores and node types. */
export type Delivering = Engine.Engine | Engine.Stores | LocalQueue

/** The engine over these stores; what it stores is known to a dispatcher at once. */
export const engineLayer = <E>(
  settings: DeliverySettings,
  stores: Layer.Layer<Engine.Stores, E>,
): Layer.Layer<Delivering, E | StorageError, NodeTypes> =>
  Engine.layer.pipe(
    Layer.provide(Layer.provide(Targets.layer, guard(settings))),
    Layer.provide(MasterVault.layer(settings.masterKey)),
    Layer.provideMerge(
      layerRunStore.pipe(Layer.provideMerge(Layer.merge(stores, LocalQueue.layer))),
    ),
  )

const optionsLayer = (options: Partial<DispatcherOptions>): Layer.Layer<never> =>
  Layer.effect(
    CurrentDispatcherOptions,
    Effect.gen(function* () {
      const limits = yield* CurrentLimits
      return {
        ...(yield* CurrentDispatcherOptions),
        atOnce: limits.deliveriesAtOnce,
        perOrigin: limits.deliveriesPerOrigin,
        perAccount: limits.deliveriesPerAccount,
        ...options,
      }
    }),
  )

/** Sends what the engine, and every other one on the same stores, has to tell. */
export const dispatcherLayer = (
  settings: DeliverySettings,
  options: Partial<DispatcherOptions> = {},
): Layer.Layer<never, never, Delivering> =>
  Dispatcher.layer.pipe(
    Layer.provide(guard(settings)),
    Layer.provide(MasterVault.layer(settings.masterKey)),
    Layer.provide(optionsLayer(options)),
    Layer.provide(StoreClock.layerClock),
  )
