/**
 * The tracer that sends spans to a collector of OpenTelemetry.
 */
import { Layer } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"

/** A tracer that sends its spans every five seconds, and when the engine is closed. */
export const layerOf = (
  url: string,
  headers: Readonly<Record<string, string>>,
  serviceName: string,
) =>
  OtlpTracer.layer({
    url: `${url.replace(/\/+$/, "")}/v1/traces`,
    resource: { serviceName },
    headers,
  }).pipe(Layer.provide([FetchHttpClient.layer, OtlpSerialization.layerJson]))
