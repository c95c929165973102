/**
 * What a sender and an owner can rely on about inbound webhooks, over a real server below a path.
 */
import type { Engine, NewInboundWebhook } from "millrace"
import { createEngine, defineNode, toNodeHandler } from "millrace"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Webhook } from "standardwebhooks"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { refusal } from "./Sample.ts"

const secret = "It's a Secret to Everybody!"
const standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

const fails = defineNode({
  type: "test.fails",
  inputs: {},
  outputs: {},
  run: () => {
    throw new Error("on purpose")
  },
})

const pay = defineNode({ type: "test.pay", inputs: {}, outputs: {}, credits: 2, run: () => ({}) })

let engine: Engine
let origin: string
let workflowId: string

const fields = [
  { name: "event", type: "string", required: false },
  { name: "count", type: "number", required: false },
  { name: "order", type: "object", required: false },
]

beforeAll(async () => {
  engine = await createEngine({
    nodes: [fails, pay],
    basePath: "/automation",
    limits: { requestsPerWebhook: 20, badTokensPerMinute: 1_000 },
  })
  await engine.secrets.set({ name: "GITHUB", value: secret, hosts: ["github.com"] })
  await engine.secrets.set({ name: "STANDARD", value: standardSecret, hosts: ["example.com"] })
  const server = createServer(toNodeHandler(engine.fetch)).listen(0, "127.0.0.1")
  await once(server, "listening")
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/automation`
  const drawn = engine
    .workflow("Hook")
    .node("in", "request", { fields })
    .node("out", "response", { input: "{{ values.event }}/{{ values.count }}" })
  workflowId = (await engine.workflows.create(drawn)).id
  return async () => {
    server.closeAllConnections()
    server.close()
  }
})

afterAll(() => engine.close())

/** A webhook of the workflow, and what sends to it. */
const hooked = async (settings: Omit<NewInboundWebhook, "type"> = {}, workflow = workflowId) => {
  const made = await engine.triggers.create(workflow, { type: "webhook", ...settings })
  onTestFinished(() => engine.triggers.remove(workflow, made.id))
  const send = async (init: RequestInit & { readonly query?: string } = {}) => {
    const response = await fetch(`${origin}${made.path}${init.query ?? ""}`, {
      method: "POST",
      ...init,
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }
  const json = (value: unknown, headers: Record<string, string> = {}) =>
    send({
      body: typeof value === "string" ? value : JSON.stringify(value),
      headers: { "content-type": "application/json", ...headers },
    })
  const runs = async () => (await engine.runs.list({ triggerId: made.id })).items
  const valuesOf = async (runId: string) => (await engine.runs.get(runId)).context?.values
  return { made, send, json, runs, valuesOf }
}

const digestOf = (text: string, algorithm = "sha256", encoding: "hex" | "base64" = "hex") =>
  createHmac(algorithm, secret).update(text).digest(encoding)

describe("A request to an inbound webhook", () => {
  it("starts a run with the fields of its body, which names the trigger", async () => {
    const { json, made, valuesOf } = await hooked({ values: { count: 1, event: "none" } })
    const { body, status } = await json({ event: "push", other: [1] })
    expect([status, Object.keys(body)]).toEqual([202, ["runId"]])
    const run = await engine.runs.wait(body.runId)
    expect(run).toMatchObject({ status: "COMPLETED", source: "webhook", triggerId: made.id })
    expect(await valuesOf(body.runId)).toEqual({ event: "push", count: 1 })
  })

  it("waits for the output where it is asked to", async () => {
    const { json } = await hooked({ respond: "output" })
    const { body, status } = await json({ event: "push", count: 3 })
    expect([status, body]).toEqual([
      200,
      { runId: expect.stringMatching(/^run_/), status: "COMPLETED", output: "push/3" },
    ])
  })

  it("brings all fields of its body where the workflow declares none", async () => {
    const { id } = await engine.workflows.create(
      engine.workflow("Any").node("a", "constant", { value: 1 }),
    )
    const { json, valuesOf } = await hooked({}, id)
    const { body } = await json({ "a.b": [1], c: null })
    expect(await valuesOf(body.runId)).toEqual({ "a.b": [1], c: null })
  })

  it("brings the fields of the version that its runs take", async () => {
    const { workflows } = engine
    const withField = (name: string) =>
      engine.workflow("Named").node("in", "request", { fields: [{ name, type: "string" }] })
    const { id } = await workflows.create(withField("published"))
    await workflows.publish(id)
    await workflows.update(id, { nodes: withField("drawn").nodes })
    const sent = { published: "a", drawn: "b" }
    const takes = [
      [{}, { published: "a" }],
      [{ version: "draft" }, { drawn: "b" }],
      [{ version: 1 }, { published: "a" }],
    ] as const
    for (const [settings, values] of takes) {
      const { json, valuesOf } = await hooked(settings, id)
      const { body } = await json(sent)
      expect(await valuesOf(body.runId)).toEqual(values)
    }
  })

  it("says that its run failed, and not why", async () => {
    const drawn = engine.workflow("Fails").node("a", "test.fails", {})
    const { id } = await engine.workflows.create(drawn)
    const { json } = await hooked({ respond: "output" }, id)
    const { body, status, text } = await json({})
    expect([status, body.status]).toEqual([500, "FAILED"])
    expect(text).not.toContain("on purpose")
  })

  it("says that credits do not cover its run, and not what the account has", async () => {
    const operation = { actor: "shop", reason: "order 17" }
    await engine.credits.meter({ ...operation, metered: true })
    onTestFinished(async () => void (await engine.credits.meter({ ...operation, metered: false })))
    const { id } = await engine.workflows.create(engine.workflow("Paid").node("p", "test.pay"))
    const { send } = await hooked({}, id)
    const { body, status } = await send({ body: new URLSearchParams() })
    const error = "The run requires 2 credits, and fewer are available"
    expect([status, body]).toEqual([402, { error }])
  })

  it("may be a form, a query or a text, and goes where the owner says", async () => {
    const into = { event: "headers.x-github-event", order: "body.orders.1", count: "query.n" }
    const { json, send, valuesOf } = await hooked({ into, methods: ["POST", "GET"] })
    const one = await send({
      query: "?n=4",
      body: JSON.stringify({ orders: [{}, { id: 7 }] }),
      headers: { "content-type": "application/vnd.x+json", "x-github-event": "push" },
    })
    expect(await valuesOf(one.body.runId)).toEqual({ event: "push", order: { id: 7 }, count: 4 })
    expect(await valuesOf((await json({})).body.runId)).toEqual({})
    const plain = await hooked({ methods: ["POST", "GET"] })
    const form = await plain.send({ body: new URLSearchParams({ event: "a b", count: "5" }) })
    expect(await valuesOf(form.body.runId)).toEqual({ event: "a b", count: 5 })
    const query = await plain.send({ method: "GET", query: "?event=%C3%A9&count=-1.5" })
    expect(await valuesOf(query.body.runId)).toEqual({ event: "é", count: -1.5 })
    const text = await hooked({ into: { event: "body" } })
    const told = await text.send({ body: "<a/>", headers: { "content-type": "text/xml" } })
    expect(await valuesOf(told.body.runId)).toEqual({ event: "<a/>" })
  })

  it("starts one run for each value of the header that its sender counts by", async () => {
    const { json, runs } = await hooked({ dedupeHeader: "x-delivery" })
    const sent = await Promise.all(
      Array.from({ length: 6 }, (_, n) => json({ event: `${n}` }, { "x-delivery": "a" })),
    )
    expect(new Set(sent.map(({ body }) => body.runId)).size).toBe(1)
    const again = sent.filter(({ headers }) => headers.get("idempotent-replayed") === "true")
    expect(again).toHaveLength(5)
    await json({}, { "x-delivery": "b" })
    expect(await runs()).toHaveLength(2)
  })

  it("starts one run for each text that places of a request give", async () => {
    const { json, made, runs } = await hooked({
      dedupeBy: "{{ body.order.id }}:{{body.event}} {{ query.n }}{{ headers.x-kind }}",
    })
    const order = (id: number, event: string, kind = "k") =>
      json({ order: { id }, event }, { "x-kind": kind })
    const query = { query: "?n=1", headers: { "content-type": "application/json", "x-kind": "k" } }
    const sent = await hooked({ dedupeBy: "{{ query.n }}" })
    await Promise.all([sent.send(query), sent.send(query), sent.send({ ...query, query: "?n=2" })])
    expect(await sent.runs()).toHaveLength(2)
    // Without one of the values a request is told apart by nothing.
    await Promise.all([order(1, "paid"), order(1, "paid")])
    expect(await runs()).toHaveLength(2)
    await engine.triggers.update(workflowId, made.id, {
      dedupeBy: "{{body.order.id}}/{{body.event}}",
    })
    const [first, again, other] = [
      await order(1, "paid"),
      await order(1, "paid", "other"),
      await order(1, "sent"),
    ]
    expect(again.body.runId).toBe(first.body.runId)
    expect(other.body.runId).not.toBe(first.body.runId)
  })

  it("is told apart by one thing, which holds no credentials", async () => {
    const tried = async (settings: object) =>
      (await refusal(engine.triggers.create(workflowId, { type: "webhook", ...settings }))).message
    expect(await tried({ dedupeBy: "{{ body.id }}", dedupeHeader: "x-id" })).toBe(
      "dedupeBy: expected null beside a dedupeHeader: requests are told apart by one of the two",
    )
    for (const text of ["", "order", "{{ }}", "{{ body.id }} {{", "{{ headers.authorization }}"]) {
      expect(await tried({ dedupeBy: text })).toMatch(/^dedupeBy: expected a text with places such/)
    }
    const verify = { type: "hmac", secret: "GITHUB", header: "x-hub" }
    expect(await tried({ verify, dedupeBy: "{{ headers.x-hub }}" })).toBe(
      "dedupeBy: expected no header with credentials",
    )
  })
})

describe("A sender", () => {
  it("signs as GitHub does", async () => {
    const { json, runs } = await hooked({
      verify: { type: "hmac", secret: "GITHUB", header: "x-hub-signature-256", prefix: "sha256=" },
    })
    const body = '{"event": "ping" }'
    const signed = (text: string) => ({ "x-hub-signature-256": `sha256=${digestOf(text)}` })
    expect((await json(body, signed(body))).status).toBe(202)
    const other = [signed('{"event":"ping"}'), {}, { "x-hub-signature-256": "sha256=0" }]
    const wrong = { "x-hub-signature-256": digestOf(body) }
    for (const headers of [...other, wrong, { "x-hub-signature-256": "sha256=" }]) {
      const { headers: answered, status } = await json(body, headers)
      expect([status, answered.get("x-error-code")]).toEqual([401, "sender_refused"])
    }
    expect(await runs()).toHaveLength(1)
  })

  it("signs with the time, within its window", async () => {
    const { json } = await hooked({
      verify: {
        type: "hmac",
        secret: "GITHUB",
        header: "x-slack-signature",
        prefix: "v0=",
        timestampHeader: "x-slack-request-timestamp",
        signed: "v0:{timestamp}:{body}",
        algorithm: "sha512",
        encoding: "base64",
        toleranceSeconds: 60,
      },
    })
    const at = async (seconds: number, signedAt = seconds) => {
      const time = String(Math.floor(Date.now() / 1_000) + seconds)
      const signedTime = String(Number(time) + signedAt - seconds)
      const { status } = await json("{}", {
        "x-slack-request-timestamp": time,
        "x-slack-signature": `v0=${digestOf(`v0:${signedTime}:{}`, "sha512", "base64")}`,
      })
      return status
    }
    expect(await Promise.all([at(0), at(-50), at(50)])).toEqual([202, 202, 202])
    expect(await Promise.all([at(-70), at(70), at(0, -70)])).toEqual([401, 401, 401])
  })

  it("follows Standard Webhooks, and cannot be replayed", async () => {
    const { json, made, runs } = await hooked({ verify: { type: "standard", secret: "STANDARD" } })
    expect(made.dedupeHeader).toBe("webhook-id")
    const sender = new Webhook(standardSecret)
    const signed = (id: string, at: Date, body: string) => ({
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": `v1,AAAA ${sender.sign(id, at, body)}`,
    })
    const now = new Date()
    const headers = signed("msg_1", now, '{"count":1}')
    expect((await json('{"count":1}', headers)).status).toBe(202)
    const replayed = await json('{"count":1}', headers)
    expect([replayed.status, replayed.headers.get("idempotent-replayed")]).toEqual([202, "true"])
    expect((await json('{"count":2}', headers)).status).toBe(401)
    const other = { ...headers, "webhook-id": "msg_2" }
    expect((await json('{"count":1}', other)).status).toBe(401)
    const old = signed("msg_3", new Date(now.getTime() - 400_000), "{}")
    expect((await json("{}", old)).status).toBe(401)
    expect(await runs()).toHaveLength(1)
  })

  it("shows a bearer token, of which no run and no answer has a trace", async () => {
    const verify = { type: "bearer", secret: "GITHUB" } as const
    const { json, made } = await hooked({ verify })
    const { body, status } = await json({}, { authorization: `Bearer ${secret}` })
    expect(status).toBe(202)
    expect(JSON.stringify(await engine.runs.get(body.runId))).not.toContain(secret)
    for (const authorization of ["Bearer It", `Bearer ${secret}!`, "Bearer ", `Basic ${secret}`]) {
      expect((await json({}, { authorization })).status).toBe(401)
    }
    const headers = [
      { into: { event: "headers.authorization" } },
      { into: { a: "headers.cookie" } },
    ]
    for (const wrong of headers) {
      const change = engine.triggers.update(workflowId, made.id, wrong)
      expect((await refusal(change)).code).toBe("INVALID_REQUEST")
    }
  })
})

describe("An address of an inbound webhook", () => {
  it("is shown once, and is nothing while off or paused, once replaced, or wrong", async () => {
    const { made, send } = await hooked({ methods: ["GET", "POST"] })
    const found = await engine.triggers.get(workflowId, made.id)
    const listed = await engine.triggers.list(workflowId)
    const token = made.path.slice("/hooks/".length)
    expect(JSON.stringify([found, listed])).not.toContain(token)
    expect(JSON.stringify([found, listed])).not.toMatch(/hash/i)
    const seen = async (method = "POST") => {
      const { headers, status, text } = await send({ method })
      return [status, text, headers.get("x-error-code")]
    }
    expect((await seen())[0]).toBe(202)
    await engine.triggers.update(workflowId, made.id, { enabled: false })
    const off = await seen()
    expect(off).toEqual([404, '{"error":"There is nothing at this address"}', "unknown_route"])
    expect(await seen("GET")).toEqual(off)
    await engine.triggers.update(workflowId, made.id, { enabled: true })
    await engine.triggers.pause()
    expect(await seen()).toEqual(off)
    expect(await seen("GET")).toEqual(off)
    await engine.triggers.resume()
    expect((await seen())[0]).toBe(202)
    const { path } = await engine.triggers.readdress(workflowId, made.id)
    expect(await seen()).toEqual(off)
    expect((await fetch(`${origin}${path}`, { method: "POST" })).status).toBe(202)
    for (const wrong of ["/hooks/", `/hooks/${token}0`, `${made.path}/`, "/hooks/mrh_1"]) {
      const { status } = await fetch(`${origin}${wrong}`, { method: "POST" })
      expect([wrong, status]).toEqual([wrong, 404])
    }
  })

  it("refuses what is too large, compressed, unreadable or sent otherwise", async () => {
    const { json, send } = await hooked()
    const large = `"${"x".repeat(1_048_576)}"`
    const xml = { "content-type": "application/octet-stream" }
    const answers = [
      await json(large),
      await json("{}", { "content-encoding": "gzip" }),
      await send({ body: "{}", headers: xml }),
      await send({ method: "PUT", body: "{}" }),
      await json('{"a":'),
      await json("[1]"),
      await json({ count: "many" }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([413, 415, 415, 405, 400, 400, 400])
    expect(answers[3]!.headers.get("allow")).toBe("POST")
    expect(answers[5]!.body.error).toMatch(/into/)
  })

  it("lets so many requests pass in a minute, and then says when to come again", async () => {
    const { json } = await hooked()
    const other = await hooked()
    const answers = []
    // A minute may begin in between.
    for (let n = 0; n < 45; n++) answers.push(await json({}))
    const limited = answers.filter(({ status }) => status === 429)
    expect(limited.length).toBeGreaterThanOrEqual(5)
    expect(Number(limited[0]!.headers.get("retry-after"))).toBeGreaterThan(0)
    expect((await other.json({})).status).toBe(202)
  })

  it("is closed to networks that are not listed", async () => {
    const { json } = await hooked({ networks: ["192.0.2.0/24"] })
    expect((await json({})).status).toBe(403)
  })

  it("is not made where its settings cannot be right", async () => {
    const hmac = { type: "hmac", secret: "GITHUB", header: "x-sign" } as const
    const wrong: ReadonlyArray<readonly [Omit<NewInboundWebhook, "type">, RegExp]> = [
      [{ verify: { type: "bearer", secret: "NONE" } }, /has no secret "NONE"/],
      [{ verify: { type: "standard", secret: "GITHUB" } }, /whsec_/],
      [{ verify: { ...hmac, signed: "x" } }, /\{body\} once/],
      [{ verify: { ...hmac, signed: "{timestamp}{body}" } }, /timestampHeader/],
      [{ verify: hmac, into: { a: "headers.x-sign" } }, /credentials/],
      [{ networks: ["192.0.2.0/33"] }, /such as 192\.0\.2\.0\/24/],
    ]
    for (const [settings, sentence] of wrong) {
      const { code, message } = await refusal(
        engine.triggers.create(workflowId, { type: "webhook", ...settings }),
      )
      expect([code, message]).toEqual(["INVALID_TRIGGER", expect.stringMatching(sentence)])
    }
  })
})
