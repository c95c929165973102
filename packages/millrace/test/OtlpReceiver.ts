/**
 * A collector of OpenTelemetry that takes OTLP/HTTP with JSON, and what it got.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

interface Attribute {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

/** A span, as it arrived. */
export interface CollectedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<Attribute>
  readonly status: { readonly code: number; readonly message?: string }
}

interface Point {
  readonly attributes: ReadonlyArray<Attribute>
  readonly asDouble?: number
  readonly asInt?: number
  readonly count?: number
  readonly sum?: number
}

interface CollectedMetric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly dataPoints: ReadonlyArray<Point> }
  readonly gauge?: { readonly dataPoints: ReadonlyArray<Point> }
  readonly histogram?: { readonly dataPoints: ReadonlyArray<Point> }
}

interface Resource {
  readonly attributes: ReadonlyArray<Attribute>
}

interface Batch {
  readonly resourceSpans?: ReadonlyArray<{
    readonly resource: Resource
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<CollectedSpan> }>
  }>
  readonly resourceMetrics?: ReadonlyArray<{
    readonly resource: Resource
    readonly scopeMetrics: ReadonlyArray<{ readonly metrics: ReadonlyArray<CollectedMetric> }>
  }>
}

/** What an attribute says; `undefined` if it is not there. */
export const attributeOf = (of: { readonly attributes: ReadonlyArray<Attribute> }, key: string) => {
  const found = of.attributes.find((each) => each.key === key)
  return found === undefined ? undefined : Object.values(found.value)[0]
}

/** A collector that answers with this status, until it is disposed of. */
export const collector = async (status = 200) => {
  const requests: Array<{ path?: string | undefined; key?: unknown; batch: Batch }> = []
  const server = createServer((request, response) => {
    let text = ""
    request.setEncoding("utf8").on("data", (part: string) => (text += part))
    request.on("end", () => {
      const { headers, url: path } = request
      requests.push({ path, key: headers["x-key"], batch: JSON.parse(text) as Batch })
      response.writeHead(status, { "content-type": "application/json" }).end("{}")
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const spans = () =>
    requests.flatMap(({ batch }) =>
      (batch.resourceSpans ?? []).flatMap((each) => each.scopeSpans.flatMap((of) => of.spans)),
    )
  /** The numbers of the last batch by name, each with what an attribute says. */
  const numbers = (name: string, key = ""): ReadonlyArray<readonly [unknown, number]> => {
    const batches = requests.flatMap(({ batch }) => batch.resourceMetrics ?? [])
    const metrics = batches.at(-1)?.scopeMetrics.flatMap((each) => each.metrics) ?? []
    return metrics
      .filter((metric) => metric.name === name)
      .flatMap(({ gauge, histogram, sum }) => (sum ?? gauge ?? histogram)?.dataPoints ?? [])
      .map((of) => [attributeOf(of, key), of.count ?? of.asDouble ?? of.asInt ?? Number.NaN])
  }
  /** The services that have sent anything. */
  const services = () =>
    requests
      .flatMap(({ batch }) => [...(batch.resourceSpans ?? []), ...(batch.resourceMetrics ?? [])])
      .map(({ resource }) => attributeOf(resource, "service.name"))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const end = () => {
    server.closeAllConnections()
    server.close()
  }
  return { requests, services, spans, numbers, url, [Symbol.dispose]: end }
}
