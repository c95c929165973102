/**
 * Spans of an engine's node runs, sent to a collector of OpenTelemetry.
 *
 * Guarantees: a collector that is away or slow delays no run; what it does not take is dropped.
 * Leaves out: metrics, logs, and what the engine does between the attempts of nodes.
 */
import { Effect, Layer } from "effect"
import type { Check } from "./internal/OptionCheck.ts"
import { expected, fields, isObject, text } from "./internal/OptionCheck.ts"

/** Where spans go. */
export interface TelemetryOptions {
  /** The address of a collector that takes OTLP over HTTP: `http://localhost:4318`. */
  readonly url: string
  /** Headers of every request, for example with a key. */
  readonly headers?: Readonly<Record<string, string>>
  /** What the collector calls this application; `millrace` by default. */
  readonly serviceName?: string
}

const isUrl = (value: unknown): boolean =>
  typeof value === "string" && URL.canParse(value) && /^https?:/.test(value)

const isHeaders = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((each) => typeof each === "string")

/** What is wrong with the option. */
export const check: Check = (value) =>
  isObject(value) && value["url"] === undefined
    ? ["url: is missing"]
    : fields({
        url: expected("an address such as http://localhost:4318", isUrl),
        headers: expected("an object with texts", isHeaders),
        serviceName: text,
      })(value)

/** The tracer of node types; none without options. What sends is loaded where it is asked for. */
export const layerOf = (options: TelemetryOptions | undefined): Layer.Layer<never> =>
  options === undefined
    ? Layer.empty
    : Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("./internal/Spans.ts")),
          ({ layerOf: layer }) =>
            layer(options.url, options.headers ?? {}, options.serviceName ?? "millrace"),
        ),
      )
