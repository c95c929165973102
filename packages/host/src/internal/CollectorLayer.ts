/**
 * What sends spans and numbers to a collector of OpenTelemetry, over OTLP/HTTP with JSON.
 */
import { Context, Layer, Metric, Option, Tracer } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import { RunSpan } from "./RunSpan.ts"

/** Where telemetry goes. */
export interface Collector {
  /** The address of a collector that takes OTLP over HTTP: `http://localhost:4318`. */
  readonly url: string
  /** Headers of every request. */
  readonly headers: Readonly<Record<string, string>>
  /** What the collector calls this process. */
  readonly serviceName: string
}

/** An empty registry, so that engines in one process share no numbers. */
const registry = Layer.sync(Metric.MetricRegistry, () => new Map())

/** The same tracer, whose spans of runs are the roots of their traces, under their own ids. */
const rooted = (tracer: Tracer.Tracer): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const ids = Context.get(options.annotations, RunSpan)
      if (ids === undefined) return tracer.span(options)
      const span = tracer.span({ ...options, parent: Option.none(), root: true })
      const { spanId, traceId } = ids
      return Object.defineProperties(span, {
        spanId: { value: spanId },
        traceId: { value: traceId },
      })
    },
    context: tracer.context,
  })

/** A tracer and a registry; both are sent every few seconds, and when the layer's scope closes. */
export const layer = ({ headers, serviceName, url }: Collector): Layer.Layer<never> => {
  const settings = (path: string) => ({
    url: `${url.replace(/\/+$/, "")}/v1/${path}`,
    resource: { serviceName },
    headers,
  })
  const tracer = Layer.effect(Tracer.Tracer, Tracer.Tracer.useSync(rooted)).pipe(
    Layer.provide(OtlpTracer.layer(settings("traces"))),
  )
  const metrics = OtlpMetrics.layer(settings("metrics")).pipe(Layer.provideMerge(registry))
  return Layer.merge(tracer, metrics).pipe(
    Layer.provide([FetchHttpClient.layer, OtlpSerialization.layerJson]),
  )
}
