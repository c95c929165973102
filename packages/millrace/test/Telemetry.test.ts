/**
 * Spans and numbers of runs, as a collector gets them.
 */
import { createEngine, defineNode } from "millrace"
import { expect, it } from "vitest"
import { z } from "zod"
import { attributeOf, collector } from "./OtlpReceiver.ts"
import { Receiver } from "./Receiver.ts"
import { refusal } from "./Sample.ts"

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

it("a collector gets a span of each run, and below it one of each attempt", async () => {
  using collected = await collector()
  const { requests, services, spans, url } = collected
  const telemetry = { url: `${url}/`, headers: { "x-key": "k" }, serviceName: "shop" }
  const engine = await createEngine({ nodes: [pay], telemetry })
  const drawn = engine.workflow("Shop").node("wait", "delay", { for: 1 }).node("pay", "shop.pay")
  const { id: workflowId } = await engine.workflows.create(drawn)
  const run = await engine.runs.start({ workflowId })
  const done = await run.wait()
  expect(done.status).toBe("COMPLETED")
  await engine.close()

  expect(new Set(requests.map(({ key, path }) => `${key} ${path}`))).toEqual(
    new Set(["k /v1/traces", "k /v1/metrics"]),
  )
  expect(new Set(services())).toEqual(new Set(["shop"]))
  const trace = run.id.replace("run_", "").replaceAll("-", "")
  expect(spans().map(({ traceId }) => traceId)).toEqual(spans().map(() => trace))
  const [root, ...others] = spans().filter(({ parentSpanId }) => parentSpanId === undefined)
  expect([root?.name, others]).toEqual(["Shop", []])
  expect(attributeOf(root!, "millrace.run.status")).toBe("COMPLETED")
  const millis = (nanos: string) => new Date(Number(BigInt(nanos) / 1_000_000n)).toISOString()
  const { createdAt, finishedAt } = done
  const time = [millis(root!.startTimeUnixNano), millis(root!.endTimeUnixNano)]
  expect(time).toEqual([createdAt, finishedAt])

  const below = spans().filter(({ parentSpanId }) => parentSpanId === root!.spanId)
  const attempts = below
    .filter(({ name }) => name === "shop.pay")
    .map((span) => [attributeOf(span, "millrace.attempt"), span.status.code])
  expect(attempts).toEqual([
    [1, 2],
    [2, 1],
  ])
  // A wait is no failure.
  const waits = below.filter(({ name }) => name === "delay")
  expect(waits.map(({ status }) => status.code)).toEqual(waits.map(() => 1))
  expect(new Set(below.map(({ name }) => name))).toEqual(new Set(["delay", "shop.pay"]))
})

it("a collector gets the numbers of runs, attempts and webhooks of one engine", async () => {
  await using receiver = await Receiver.open()
  using collected = await collector()
  const { numbers, spans, url } = collected
  const open = () =>
    createEngine({ nodes: [pay], telemetry: { url }, egress: receiver.egress, grace: 0 })
  const [engine, other] = [await open(), await open()]
  const start = async (type: "shop.pay" | "fail" | "delay", inputs = {}) => {
    const node = { id: "n", type, position: { x: 0, y: 0 }, data: { inputs } }
    const drawn = { name: type, nodes: [node], edges: [] }
    const { id: workflowId } = await engine.workflows.create(drawn)
    const webhook = { url: receiver.url, events: ["run.completed"] as const }
    return engine.runs.start({ workflowId, webhook })
  }
  expect((await (await start("shop.pay")).wait()).status).toBe("COMPLETED")
  expect((await (await start("fail", { message: "no" })).wait()).status).toBe("FAILED")
  const waiting = await start("delay", { for: 3_600_000 })
  await waiting.cancel()
  await start("delay", { for: 3_600_000 })
  await receiver.has(1)
  await engine.drain({ within: "10 seconds" })
  await engine.close()

  expect(numbers("millrace.runs.started", "millrace.run.source")).toEqual([["api", 4]])
  expect(new Map(numbers("millrace.runs.ended", "millrace.run.status"))).toEqual(
    new Map([
      ["CANCELED", 1],
      ["COMPLETED", 1],
      ["FAILED", 1],
    ]),
  )
  expect(numbers("millrace.run.duration", "millrace.run.status").length).toBe(3)
  expect(numbers("millrace.run.wait")).toEqual([[undefined, 4]])
  // Of one reading at the beginning.
  expect(numbers("millrace.runs.queued")).toEqual([[undefined, 0]])
  const paid = numbers("millrace.node.attempts", "millrace.node.outcome")
  expect(paid.filter(([outcome]) => outcome === "completed")).toEqual([["completed", 1]])
  // The first attempt of the payment, and that of `fail`.
  expect(paid.filter(([outcome]) => outcome === "failed")).toEqual([
    ["failed", 1],
    ["failed", 1],
  ])
  expect(numbers("millrace.node.duration", "millrace.node.type").length).toBe(paid.length)
  expect(numbers("millrace.webhook.attempts", "millrace.webhook.outcome")).toEqual([
    ["delivered", 1],
  ])
  expect(numbers("millrace.webhook.duration")).toEqual([[undefined, 1]])
  const ends = spans().filter(({ parentSpanId }) => parentSpanId === undefined)
  expect(new Map(ends.map(({ name, status }) => [name, status.code]))).toEqual(
    new Map([
      ["delay", 0],
      ["fail", 2],
      ["shop.pay", 1],
    ]),
  )
  await other.close()
  // The other engine in this process has numbers of its own.
  expect(numbers("millrace.runs.started")).toEqual([])
})

it("a collector that refuses, or is away, takes nothing from a run", async () => {
  const completes = async (url: string) => {
    const engine = await createEngine({ nodes: [pay], telemetry: { url }, logger: () => {} })
    const drawn = engine.workflow("Shop").node("pay", "shop.pay")
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    expect((await run.wait()).status).toBe("COMPLETED")
    await engine.close()
  }
  // At once: an engine that closes tries for three seconds to send what is left.
  using refusing = await collector(503)
  await Promise.all([refusing.url, "http://127.0.0.1:1"].map(completes))
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
