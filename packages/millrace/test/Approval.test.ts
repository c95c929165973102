/**
 * What people and callers can rely on about approvals, over a real server below a path.
 */
import type { Engine } from "millrace"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine, pglite, toNodeHandler } from "millrace"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { refusal } from "./Sample.ts"

let engine: Engine
let origin: string

beforeAll(async () => {
  engine = await createEngine({
    basePath: "/automation",
    publicUrl: "https://flows.example.com/automation",
    limits: { requestsPerApproval: 40, badTokensPerMinute: 1_000 },
  })
  const server = createServer(toNodeHandler(engine.fetch)).listen(0, "127.0.0.1")
  await once(server, "listening")
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}/automation`
  return async () => {
    server.closeAllConnections()
    server.close()
  }
})

afterAll(() => engine.close())

const ann = "ann@example.com"

const form = [
  { name: "amount", type: "number", required: true },
  { name: "reason", type: "select", options: ["broken", "late"] },
] as const

/** A run that asks Ann, and which output the node leaves by. */
const asked = async (more: object = {}) => {
  const drawn = engine
    .workflow("Refunds")
    .node("ask", "approval", {
      title: "Refund 900 EUR to Globex?",
      description: "Order <b>1007</b> came back.",
      fields: form,
      approvers: [ann, "bob@example.com"],
      roles: ["editor"],
      ...more,
    })
    .node("yes", "response", { name: "yes" })
    .node("no", "response", { name: "no" })
    .node("late", "response", { name: "late" })
    .edge("ask.approved", "yes.input")
    .edge("ask.rejected", "no.input")
    .edge("ask.expired", "late.input")
  const { id: workflowId } = await engine.workflows.create(drawn)
  const run = await engine.runs.start({ workflowId })
  await expect
    .poll(async () => (await engine.runs.get(run.id)).nodes["ask"]!.status)
    .toBe("WAITING")
  return { run, workflowId }
}

const tokenOf = async (runId: string, address = ann) => {
  const { path, url } = await engine.approvals.link(runId, "ask", address)
  expect(url).toBe(`https://flows.example.com/automation${path}`)
  return path.slice(path.indexOf("#") + 1)
}

const post = async (call: string, body: unknown, init: RequestInit = {}) => {
  const response = await fetch(`${origin}/approvals/${call}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const approve = { outcome: "approved", fields: { amount: 900 } } as const

describe("approvals.decide", () => {
  it("lets the run go on with what was decided, by whom and when", async () => {
    const { run } = await asked()
    const decision = await engine.approvals.decide(run.id, "ask", {
      ...approve,
      by: "ada",
      comment: "fine",
    })
    expect(decision).toEqual({
      outcome: "approved",
      by: "ada",
      via: "caller",
      at: expect.stringMatching(/Z$/),
      comment: "fine",
      fields: { amount: 900 },
    })
    expect((await run.wait()).output).toEqual({ yes: decision })
    const read = await engine.approvals.get(run.id, "ask")
    expect(read).toMatchObject({ status: "approved", decision })
  })

  it("lets the run leave by rejected, without the fields that an approval needs", async () => {
    const { run } = await asked()
    await engine.approvals.decide(run.id, "ask", { outcome: "rejected", by: "ada" })
    expect((await run.wait()).output).toEqual({
      no: expect.objectContaining({ outcome: "rejected", by: "ada", comment: null, fields: {} }),
    })
  })

  it("lists what waits, and nothing once it is decided", async () => {
    const { run, workflowId } = await asked()
    const { items } = await engine.approvals.list({ workflowId })
    expect(items).toEqual([
      expect.objectContaining({
        runId: run.id,
        nodeId: "ask",
        title: "Refund 900 EUR to Globex?",
        roles: ["editor"],
        expiresAt: null,
      }),
    ])
    await engine.approvals.decide(run.id, "ask", { outcome: "rejected" })
    await run.wait()
    expect((await engine.approvals.list({ workflowId })).items).toEqual([])
  })

  it("refuses what does not fit the form, and what is no approval", async () => {
    const { run } = await asked()
    const decide = (decision: object, node = "ask") =>
      refusal(engine.approvals.decide(run.id, node, decision as never))
    expect(await decide({ outcome: "approved" })).toMatchObject({
      status: 400,
      message: "fields[amount]: expected a value",
    })
    expect(await decide({ ...approve, fields: { amount: "9" } })).toMatchObject({
      message: "fields[amount]: expected a number",
    })
    expect(await decide({ ...approve, fields: { amount: 9, reason: "x" } })).toMatchObject({
      message: "fields[reason]: expected one of broken, late",
    })
    expect(await decide({ ...approve, fields: { amount: 9, more: 1 } })).toMatchObject({
      message: 'fields: the form has no field "more"',
    })
    expect(await decide(approve, "yes")).toMatchObject({ code: "APPROVAL_NOT_FOUND", status: 404 })
    expect(await refusal(engine.approvals.decide("run_none", "ask", approve))).toMatchObject({
      code: "RUN_NOT_FOUND",
    })
    expect((await engine.runs.get(run.id)).status).toBe("RUNNING")
  })
})

describe("A link of an approval", () => {
  it("decides nothing when a mail client opens it first", async () => {
    const { run } = await asked()
    const token = await tokenOf(run.id)
    const page = `${origin}/approvals/#${token}`
    const bodies = new Set<string>()
    for (const method of ["GET", "HEAD", "GET"]) {
      const response = await fetch(page, { method })
      expect(response.status).toBe(200)
      expect(response.headers.get("content-security-policy")).toContain("default-src 'none'")
      bodies.add(await response.text())
    }
    // What clients that drop the fragment's mark would do.
    for (const path of [token, `?${token}`, `decide?token=${token}&outcome=approved`]) {
      const { status } = await fetch(`${origin}/approvals/${path}`)
      expect([200, 404, 405]).toContain(status)
    }
    expect((await post("read", { token })).status).toBe(200)
    expect((await engine.runs.get(run.id)).nodes["ask"]!.status).toBe("WAITING")
    expect([...bodies].join("")).not.toContain(token)
    expect((await post("decide", { token, ...approve })).status).toBe(200)
  })

  it("says what is asked, and decides once for its addressee", async () => {
    const { run } = await asked({ timeout: "3 days" })
    const token = await tokenOf(run.id)
    const { body: question } = await post("read", { token })
    expect(question).toEqual({
      title: "Refund 900 EUR to Globex?",
      description: "Order <b>1007</b> came back.",
      fields: form,
      address: ann,
      expiresAt: expect.stringMatching(/Z$/),
      mayDelegate: false,
    })
    const { body, status } = await post("decide", { token, ...approve, comment: "ok" })
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ outcome: "approved", by: ann, via: "link", comment: "ok" }),
    ])
    const again = await post("decide", { token, ...approve, outcome: "rejected" })
    expect(again.status).toBe(409)
    expect(again.body["error"]).toContain(`It was approved already: by ${ann}, at `)
    expect((await post("read", { token })).status).toBe(409)
    expect((await run.wait()).output).toEqual({ yes: body })
    expect((await post("decide", { token, ...approve })).status).toBe(409)
  })

  it("lets one of several who decide at once win, and tells the others who did", async () => {
    for (let round = 0; round < 5; round++) {
      const { run } = await asked()
      const [one, two] = [await tokenOf(run.id), await tokenOf(run.id, "bob@example.com")]
      const sent = await Promise.all([
        post("decide", { token: one, ...approve }),
        post("decide", { token: two, outcome: "rejected" }),
        post("decide", { token: one, ...approve }),
        engine.approvals
          .decide(run.id, "ask", { ...approve, by: "ada" })
          .then((body) => ({ status: 200, body: body as Record<string, unknown> }))
          .catch((error: { status: number; message: string }) => ({
            status: error.status,
            body: { error: error.message } as Record<string, unknown>,
          })),
      ])
      const won = sent.filter(({ status }) => status === 200)
      expect(won).toHaveLength(1)
      const winner = won[0]!.body
      for (const { body, status } of sent.filter((each) => each !== won[0])) {
        expect(status).toBe(409)
        expect(body["error"]).toContain(`It was ${winner["outcome"]} already: by ${winner["by"]}`)
      }
      const port = winner["outcome"] === "approved" ? "yes" : "no"
      expect((await run.wait()).output).toEqual({ [port]: winner })
    }
  })

  it("lets one win where a database answers each of them in its own time", async () => {
    const mine = engine
    const folder = mkdtempSync(join(tmpdir(), "millrace-"))
    engine = await createEngine({ store: pglite(folder) })
    try {
      const { run } = await asked()
      const outcomes = ["approved", "rejected", "approved", "rejected"] as const
      const decided = await Promise.allSettled(
        outcomes.map((outcome, at) =>
          engine.approvals.decide(run.id, "ask", { ...approve, outcome, by: `person ${at}` }),
        ),
      )
      const won = decided.filter(({ status }) => status === "fulfilled")
      expect(won).toHaveLength(1)
      const output = Object.values((await run.wait()).output as object)
      expect(output).toEqual([(won[0] as PromiseFulfilledResult<unknown>).value])
      const told = decided.flatMap((each) => (each.status === "rejected" ? [each.reason] : []))
      expect(told.map(({ status }) => status)).toEqual([409, 409, 409])
    } finally {
      await engine.close()
      engine = mine
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("is nothing, in one way, where it is wrong, foreign or malformed", async () => {
    const { run } = await asked()
    const token = await tokenOf(run.id)
    const [head, signature] = token.slice(4).split(".") as [string, string]
    const place = JSON.parse(Buffer.from(head, "base64url").toString()) as Array<unknown>
    const forged = (change: (parts: Array<unknown>) => void) => {
      const parts = [...place]
      change(parts)
      return `mra_${Buffer.from(JSON.stringify(parts)).toString("base64url")}.${signature}`
    }
    const wrong = [
      `${token}x`,
      token.slice(0, -1),
      "x",
      "mra_.",
      "mra_W10.c2ln",
      forged((parts) => (parts[1] = "run_other")),
      forged((parts) => (parts[3] = 1)),
      forged((parts) => (parts[0] = "acc_other")),
      `mra_${"x".repeat(3_000)}.x`,
    ]
    for (const each of wrong) {
      for (const call of ["read", "decide"]) {
        const body = call === "read" ? { token: each } : { token: each, ...approve }
        expect(await post(call, body)).toEqual({
          status: 404,
          body: { error: "This link is not valid" },
        })
      }
    }
    expect((await engine.runs.get(run.id)).nodes["ask"]!.status).toBe("WAITING")
  })

  it("refuses bodies that are too large or of another form before it reads the link", async () => {
    const { run } = await asked()
    const token = await tokenOf(run.id)
    const large = await post("decide", { token, ...approve, comment: "x".repeat(200_000) })
    expect(large.status).toBe(413)
    expect((await post("decide", { token, outcome: "maybe" })).status).toBe(400)
    expect((await post("decide", "{")).status).toBe(400)
    expect((await post("decide", { token, ...approve, by: "boss" })).status).toBe(400)
    const text = { headers: { "content-type": "text/plain" } }
    expect((await post("decide", { token, ...approve }, text)).status).toBe(415)
  })

  it("is limited in a minute", async () => {
    const { run } = await asked()
    const token = await tokenOf(run.id)
    const statuses = new Set<number>()
    for (let count = 0; count < 42; count++) statuses.add((await post("read", { token })).status)
    expect([...statuses]).toEqual([200, 429])
  })

  it("decides nothing after the expiry", async () => {
    const { run } = await asked({ timeout: 500 })
    const token = await tokenOf(run.id)
    await expect
      .poll(async () => await post("decide", { token, outcome: "rejected", fields: { x: 1 } }))
      .toEqual({
        status: 409,
        body: { error: "The approval has expired: nobody decided in time" },
      })
    expect((await run.wait()).output).toEqual({ late: expect.anything() })
    expect((await post("read", { token })).status).toBe(409)
  })

  it("is over when its run was canceled", async () => {
    const { run } = await asked()
    const token = await tokenOf(run.id)
    await run.cancel()
    expect(await post("decide", { token, ...approve })).toMatchObject({ status: 409 })
  })
})

describe("A start of a workflow that asks", () => {
  it("neither pins, changes nor skips an approval, nor what follows it", async () => {
    const { run, workflowId } = await asked()
    const start = (more: object) => refusal(engine.runs.start({ workflowId, ...more }))
    const output = { approved: { ...approve, by: "me" } }
    expect((await start({ pinnedOutputs: { ask: output } })).message).toContain(
      'Pinned output of node "ask": it waits for the decision of a person, which no start gives',
    )
    const behind = await start({ pinnedOutputs: { yes: {} } })
    const follows = 'it follows the approval "ask"'
    expect(behind.message).toContain(
      `Pinned output of node "yes": ${follows}, which no start skips`,
    )
    const alone = await start({ singleNodeId: "yes" })
    expect(alone.message).toContain(`Node "yes" cannot run alone: ${follows}`)
    const node = { id: "ask", type: "constant", position: { x: 0, y: 0 }, data: { inputs: {} } }
    expect((await start({ nodeOverrides: [node] })).message).toContain(
      'Node override "ask": it asks a person, and no start changes whom or what',
    )
    expect(
      (await start({ graphInputOverrides: { ask: { approvers: ["me@example.com"] } } })).message,
    ).toContain('Input overrides of node "ask": it asks a person')
    await run.cancel()
  })

  it("asks again in a rerun, whatever was decided before", async () => {
    const drawn = engine
      .workflow("Twice")
      .node("ask", "approval", { title: "Sure?", roles: ["owner"] })
      .node("stop", "fail", { message: "on purpose" })
      .edge("ask.approved", "stop.input" as never)
    const { id: workflowId } = await engine.workflows.create(drawn)
    const run = await engine.runs.start({ workflowId })
    await engine.approvals.decide(run.id, "ask", { outcome: "approved", by: "ada" })
    expect((await run.wait()).status).toBe("FAILED")
    const plan = await engine.runs.planRerun(run.id)
    expect(plan.anew[0]).toEqual({ nodeId: "ask", reason: "approval" })
    const again = await engine.runs.rerun(run.id)
    await expect
      .poll(async () => (await engine.runs.get(again.id)).nodes["ask"]!.status)
      .toBe("WAITING")
    await again.cancel()
  })
})
