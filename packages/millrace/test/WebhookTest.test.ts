/**
 * What an owner and a sender can rely on about the test address of an inbound webhook, over a real
 * server.
 */
import type { Engine, NewInboundWebhook } from "millrace"
import { createEngine, toNodeHandler } from "millrace"
import { testEngine } from "millrace/testing"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { refusal } from "./Sample.ts"

const secret = "It's a Secret to Everybody!"
const signed = { type: "hmac", secret: "KEY", header: "x-signature" } as const

const fields = [
  { name: "order", type: "number" },
  { name: "text", type: "string", required: false },
]

let engine: Engine
let origin: string
let workflowId: string

beforeAll(async () => {
  engine = await createEngine({ limits: { requestsPerWebhook: 30, badTokensPerMinute: 1_000 } })
  await engine.secrets.set({ name: "KEY", value: secret, hosts: ["example.com"] })
  const server = createServer(toNodeHandler(engine.fetch)).listen(0, "127.0.0.1")
  await once(server, "listening")
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const drawn = engine.workflow("Hook").node("in", "request", { fields })
  workflowId = (await engine.workflows.create(drawn)).id
  return async () => {
    server.closeAllConnections()
    server.close()
  }
})

afterAll(() => engine.close())

/** A webhook with a test address, and what sends there. */
const tested = async (settings: Omit<NewInboundWebhook, "type"> = {}) => {
  const made = await engine.triggers.create(workflowId, { type: "webhook", ...settings })
  const test = await engine.triggers.beginTest(workflowId, made.id)
  const send = async (body: string, headers: Record<string, string> = {}, path = test.path) => {
    const all = { "content-type": "application/json", ...headers }
    const init = { method: "POST", body, headers: all }
    const answer = await fetch(`${origin}${path}`, init)
    return [answer.status, JSON.parse(await answer.text())] as const
  }
  const requests = async () => (await engine.triggers.readTest(workflowId, made.id)).requests
  const runs = async () => (await engine.runs.list({ triggerId: made.id })).items
  return { made, test, send, requests, runs }
}

const signatureOf = (body: string) => createHmac("sha256", secret).update(body).digest("hex")

describe("A test address", () => {
  it("shows what arrived and which values a run would get, and starts none", async () => {
    const { made, requests, runs, send, test } = await tested({ verify: signed })
    expect(test.path).toMatch(/^\/hooks\/mrt_/)
    expect(Date.parse(test.expiresAt!)).toBeGreaterThan(Date.now() + 3_500_000)
    const body = '{ "order": 7 }'
    const headers = { "x-signature": signatureOf(body), cookie: "a=b", "x-id": "17" }
    expect(await send(body, headers, `${test.path}?page=2`)).toEqual([202, { test: true }])
    const [request, ...others] = await requests()
    expect(others).toEqual([])
    expect(request).toMatchObject({
      method: "POST",
      query: "page=2",
      body,
      values: { order: 7 },
      refused: null,
    })
    const { cookie, "x-id": id, "x-signature": signature } = request!.headers
    expect([cookie, id, signature]).toEqual(["(not kept)", "17", "(not kept)"])
    expect(await runs()).toEqual([])
    expect((await send(body, headers, made.path))[0]).toBe(202)
    expect(await runs()).toHaveLength(1)
  })

  it("says why a request would start nothing, and answers as the other address", async () => {
    const { made, requests, runs, send } = await tested({ verify: signed })
    const right = (body: string) => ({ "x-signature": signatureOf(body) })
    const cases = [
      ['{ "order": 7 }', {}, 401, null],
      ["{", right("{"), 400, "{"],
      ["[]", right("[]"), 400, "[]"],
      ['{ "order": "x" }', right('{ "order": "x" }'), 400, '{ "order": "x" }'],
      ["<a/>", { "content-type": "image/png" }, 415, null],
    ] as const
    for (const [body, headers, status, kept] of cases) {
      const answer = await send(body, headers)
      expect(answer).toEqual([status, expect.anything()])
      const there = await send(body, headers, made.path)
      expect(there[0]).toBe(status)
      const [request] = await requests()
      const refused = (answer[1] as { readonly error: string }).error
      expect(request).toMatchObject({ body: kept, values: null, refused })
    }
    expect(await requests()).toHaveLength(cases.length)
    expect(await runs()).toEqual([])
  })

  it("keeps no values that are large", async () => {
    const { requests, send } = await tested({ into: { order: "query.page", text: "body" } })
    expect((await send(JSON.stringify("x".repeat(20_000))))[0]).toBe(202)
    expect(await requests()).toMatchObject([{ values: null, refused: null }])
  })

  it("works while the webhook is switched off, and after its address has changed", async () => {
    const { made, requests, send } = await tested({ enabled: false })
    const body = '{ "order": 7 }'
    expect((await send(body))[0]).toBe(202)
    await engine.triggers.readdress(workflowId, made.id)
    expect((await send(body))[0]).toBe(202)
    expect(await requests()).toHaveLength(2)
  })

  it("is nothing once there is another one, or none, or no webhook any more", async () => {
    const { made, requests, send, test } = await tested()
    const unknown = await send("{}", {}, `${test.path}x`)
    expect(unknown[0]).toBe(404)
    const { path } = await engine.triggers.beginTest(workflowId, made.id)
    expect(await send("{}")).toEqual(unknown)
    expect((await send('{ "order": 1 }', {}, path))[0]).toBe(202)
    await engine.triggers.endTest(workflowId, made.id)
    expect(await send("{}", {}, path)).toEqual(unknown)
    expect(await requests()).toEqual([])
    const last = await engine.triggers.beginTest(workflowId, made.id)
    await engine.triggers.remove(workflowId, made.id)
    expect(await send("{}", {}, last.path)).toEqual(unknown)
    const gone = engine.triggers.readTest(workflowId, made.id)
    expect((await refusal(gone)).code).toBe("TRIGGER_NOT_FOUND")
  })

  it("keeps a bounded part of a request, and refuses a flood without keeping it", async () => {
    const { made, requests, send } = await tested({ into: { order: "query.page" } })
    const long = JSON.stringify({ text: "x".repeat(20_000) })
    await send(long, { "x-long": "y".repeat(2_000) })
    const [request] = await requests()
    expect(request!.body).toBe(long.slice(0, 8_192))
    expect(request!.headers["x-long"]).toBe("y".repeat(512))
    expect(request).toMatchObject({ values: {}, refused: null })
    const statuses = []
    for (let n = 0; n < 35; n++) statuses.push((await send(`{ "n": ${n} }`))[0])
    expect(statuses.filter((status) => status === 429)).toHaveLength(6)
    const kept = await requests()
    expect(kept).toHaveLength(20)
    expect(kept[0]!.body).toBe('{ "n": 28 }')
    // The other address has its own room.
    expect((await send('{ "order": 1 }', {}, made.path))[0]).toBe(202)
  })

  it("is for webhooks only, and expires after an hour", async () => {
    await using own = await testEngine({ now: "2026-01-01T00:00:00.000Z" })
    const { id } = await own.workflows.create(own.workflow("W").node("c", "constant", { value: 1 }))
    const schedule = await own.triggers.create(id, { type: "schedule", cron: "0 0 1 1 *" })
    for (const call of ["beginTest", "readTest", "endTest"] as const) {
      expect((await refusal(own.triggers[call](id, schedule.id))).code).toBe("TRIGGER_NOT_FOUND")
    }
    const hook = await own.triggers.create(id, { type: "webhook" })
    expect(await own.triggers.readTest(id, hook.id)).toEqual({ expiresAt: null, requests: [] })
    const { expiresAt, path } = await own.triggers.beginTest(id, hook.id)
    expect(expiresAt).toBe("2026-01-01T01:00:00.000Z")
    const send = async () => {
      const headers = { "content-type": "application/json" }
      const request = new Request(`http://engine${path}`, { method: "POST", body: "{}", headers })
      return (await own.fetch(request)).status
    }
    expect(await send()).toBe(202)
    await own.clock.advance("61 minutes")
    expect(await send()).toBe(404)
    expect((await own.triggers.readTest(id, hook.id)).requests).toHaveLength(1)
  })
})
