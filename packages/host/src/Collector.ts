/**
 * Spans and numbers of an engine, sent to a collector of OpenTelemetry.
 *
 * Guarantees: a collector that is away or slow delays no run; what it does not take is dropped.
 * What sends is loaded where it is asked for. Leaves out: logs.
 */
import { Effect, Layer } from "effect"
import type { Collector } from "./internal/CollectorLayer.ts"

/** A tracer and a registry of metrics, which are sent to a collector. */
export const layerOf = (collector: Collector): Layer.Layer<never> =>
  Layer.unwrap(
    Effect.map(
      Effect.promise(() => import("./internal/CollectorLayer.ts")),
      ({ layer }) => layer(collector),
    ),
  )
