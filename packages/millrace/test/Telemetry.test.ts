/**
 * Spans of node runs, as a collector gets them.
 */
import { createEngine, defineNode } from "millrace"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it, onTestFinished } from "vitest"
import { z } from "zod"
import { refusal } from "./Sample.ts"

interface Span {
  readonly name: string
  readonly traceId: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: object }>
  readonly status: { readonly code: number; readonly message?: string }
}

interface Batch {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: ReadonlyArray<unknown> }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
}

/** A collector, and what it got. */
const collector = async (status = 200) => {
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
  onTestFinished(() => void server.close())
  const spans = () =>
    requests.flatMap(({ batch }) =>
      batch.resourceSpans.flatMap((each) => each.scopeSpans.flatMap((scope) => scope.spans)),
    )
  return { requests, spans, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

const pay = defineNode({
  type: "shop.pay",
  inputs: {},
  outputs: { receipt: z.string() },
  retry: { attempts: 2, initial: 1 },
  run: ({ attempt }) => {
    if (attempt === 1) throw new Error("the bank is busy")
    return { receipt: "r1" }
  },
})

it("a collector gets a span of each attempt, all in the trace of their run", async () => {
  const { requests, spans, url } = await collector()
  const telemetry = { url: `${url}/`, headers: { "x-key": "k" }, serviceName: "shop" }
  const engine = await createEngine({ nodes: [pay], telemetry })
  const drawn = engine.workflow("Shop").node("wait", "delay", { for: 1 }).node("pay", "shop.pay")
  const { id: workflowId } = await engine.workflows.create(drawn)
  const run = await engine.runs.start({ workflowId })
  expect((await run.wait()).status).toBe("COMPLETED")
  await engine.close()

  expect(new Set(requests.map(({ key, path }) => `${key} ${path}`))).toEqual(
    new Set(["k /v1/traces"]),
  )
  expect(JSON.stringify(requests[0]?.batch.resourceSpans[0]?.resource)).toContain('"shop"')
  const trace = run.id.replace("run_", "").replaceAll("-", "")
  expect(spans().map(({ traceId }) => traceId)).toEqual(spans().map(() => trace))
  const attempts = spans()
    .filter(({ name }) => name === "shop.pay")
    .map(({ attributes, status }) => [
      attributes.find(({ key }) => key === "millrace.attempt")?.value,
      status.code,
    ])
  expect(attempts).toEqual([
    [{ intValue: 1 }, 2],
    [{ intValue: 2 }, 1],
  ])
  // A wait is no failure.
  const waits = spans().filter(({ name }) => name === "delay")
  expect(waits.map(({ status }) => status.code)).toEqual(waits.map(() => 1))
  expect(new Set(spans().map(({ name }) => name))).toEqual(new Set(["delay", "shop.pay"]))
})

it("a collector that refuses, or is away, takes nothing from a run", async () => {
  for (const url of [(await collector(503)).url, "http://127.0.0.1:1"]) {
    const engine = await createEngine({ nodes: [pay], telemetry: { url }, logger: () => {} })
    const drawn = engine.workflow("Shop").node("pay", "shop.pay")
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    expect((await run.wait()).status).toBe("COMPLETED")
    await engine.close()
  }
})

it("telemetry of the wrong form is refused", async () => {
  const messageOf = async (telemetry: object) =>
    (await refusal(createEngine({ telemetry } as object))).message
  expect(await messageOf({})).toBe("createEngine: telemetry: url: is missing")
  expect(await messageOf({ url: "collector" })).toBe(
    "createEngine: telemetry: url: expected an address such as http://localhost:4318",
  )
  expect(await messageOf({ url: "http://a.example", headers: { key: 1 } })).toBe(
    "createEngine: telemetry: headers: expected an object with texts",
  )
  expect(await messageOf({ url: "http://a.example", servicename: "x" })).toBe(
    'createEngine: telemetry: unknown field "servicename"; did you mean "serviceName"?',
  )
})
