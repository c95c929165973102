/**
 * The option `telemetry`: spans and numbers of an engine, sent to a collector of OpenTelemetry.
 */
import * as Collector from "@millrace/host/Collector"
import type { Layer } from "effect"
import type { Check } from "./internal/OptionCheck.ts"
import { expected, fields, isObject, text } from "./internal/OptionCheck.ts"

/** Where spans and numbers go. */
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

/** What sends spans and numbers; none without options. */
export const layerOf = (options: TelemetryOptions | undefined): Layer.Layer<never> | undefined =>
  options === undefined
    ? undefined
    : Collector.layerOf({
        url: options.url,
        headers: options.headers ?? {},
        serviceName: options.serviceName ?? "millrace",
      })
