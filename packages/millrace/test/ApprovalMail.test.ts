/**
 * What people who get mails of approvals can rely on: over a real mail server, and a store in a
 * file in which tokens are searched for.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Engine } from "millrace"
import { createEngine, sqlite } from "millrace"
import { afterAll, describe, expect, it } from "vitest"
import { mailServer } from "./MailServer.ts"

const root = mkdtempSync(join(tmpdir(), "millrace-approvals-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const { port, received } = await mailServer()

const open = () =>
  createEngine({
    store: sqlite(join(root, "data.db")),
    publicUrl: "https://flows.example.com/x",
    basePath: "/x",
    egress: { allow: [{ cidr: "127.0.0.1/32" }] },
    grace: 0,
  })

const asks = (engine: Engine, more: object = {}) =>
  engine
    .workflow("Refund")
    .node("ask", "approval", {
      title: "Refund 900 EUR?",
      description: "Order 1007",
      approvers: ["Ann <ann@example.com>", "bob@example.com"],
      timeout: "3 days",
      host: "127.0.0.1",
      port,
      tls: "off",
      from: "Flows <flows@example.com>",
      ...more,
    })
    .node("out", "response")
    .edge("ask.approved", "out.input")

const start = async (engine: Engine, more: object = {}) => {
  const { id: workflowId } = await engine.workflows.create(asks(engine, more))
  return engine.runs.start({ workflowId })
}

/** The token in the last mail to an address, once there are so many. */
const mailed = async (to: string, count = 1): Promise<string> => {
  const mails = () => received.filter((each) => each.to === to)
  await expect.poll(() => mails().length, { timeout: 5_000 }).toBe(count)
  const { text } = mails().at(-1)!
  return /https:\/\/flows\.example\.com\/x\/approvals\/#(mra_[\w.-]+)/.exec(text)![1]!
}

const post = async (engine: Engine, call: string, body: object) => {
  const response = await engine.fetch(
    new Request(`http://localhost/x/approvals/${call}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  )
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const logOf = async (engine: Engine, runId: string) => {
  const { logs } = (await engine.runs.get(runId)).nodes["ask"]!
  return ((logs ?? []) as ReadonlyArray<{ readonly message: string }>).map((each) => each.message)
}

/** True if a text is in any byte of the store. */
const isStored = (text: string) =>
  readdirSync(root).some((name) => readFileSync(join(root, name)).includes(text))

describe("An approval with a mail server", () => {
  it("writes each addressee a link of their own, which is stored nowhere", async () => {
    const first = await open()
    const run = await start(first)
    const [ann, bob] = [await mailed("ann@example.com"), await mailed("bob@example.com")]
    expect(ann).not.toBe(bob)
    expect(received[0]!.text).toContain("Subject: Refund 900 EUR?")
    await expect.poll(async () => (await post(first, "read", { token: ann })).status).toBe(200)

    // Ann passes it on: her link is over, and Eve's is another one.
    const passed = await post(first, "delegate", { token: ann, to: "eve@example.com" })
    expect(passed).toEqual({ status: 200, body: {} })
    expect(await post(first, "decide", { token: ann, outcome: "approved" })).toEqual({
      status: 409,
      body: { error: "This link is over: the approval was passed on to another address" },
    })
    const eve = await mailed("eve@example.com")
    const again = await post(first, "delegate", { token: bob, to: "eve@example.com" })
    expect(again.status).toBe(400)
    expect((await post(first, "delegate", { token: bob, to: "a@b.c, d@e.f" })).status).toBe(400)

    // Another process goes on where the first one stopped; the links stay, and no mail is sent.
    await first.close()
    const second = await open()
    const mails = received.length
    const { body, status } = await post(second, "decide", { token: eve, outcome: "approved" })
    expect([status, body["by"], body["via"]]).toEqual([200, "eve@example.com", "link"])
    expect((await second.runs.wait(run.id)).output).toMatchObject({ by: "eve@example.com" })
    expect(await logOf(second, run.id)).toEqual([
      "Asked ann@example.com by mail",
      "Asked bob@example.com by mail",
      "ann@example.com passed it on to eve@example.com",
      "Asked eve@example.com by mail",
      "Approved by eve@example.com",
    ])
    expect((await post(second, "read", { token: bob })).status).toBe(409)
    expect(received).toHaveLength(mails)
    await second.close()

    // The search finds what is there.
    expect(isStored("passed it on to eve@example.com")).toBe(true)
    for (const token of [ann, bob, eve]) {
      for (const part of token.slice(4).split(".")) expect(isStored(part)).toBe(false)
    }
  })

  it("fails where nobody can be reached, and goes on where somebody can", async () => {
    const engine = await open()
    const nobody = await start(engine, { approvers: "unknown@example.com" })
    expect(await nobody.wait()).toMatchObject({
      status: "FAILED",
      error: expect.stringContaining("The server accepted no recipient: 550 no such user"),
    })
    const some = await start(engine, { approvers: ["unknown@example.com", "dora@example.com"] })
    const token = await mailed("dora@example.com")
    await expect.poll(async () => (await post(engine, "read", { token })).status).toBe(200)
    await expect
      .poll(async () => (await logOf(engine, some.id))[0])
      .toMatch(/^No mail to unknown@example.com: /)
    const later = await start(engine, { approvers: "later@example.com" })
    await expect
      .poll(async () => (await logOf(engine, later.id))[0])
      .toMatch(/^No mail to later@example.com: /)
    expect((await later.nodes())["ask"]!.status).toBe("WAITING")
    await engine.close()
  })

  it("says before it asks that it needs the public address", async () => {
    await using engine = await createEngine({})
    const run = await start(engine)
    expect((await run.wait()).error).toContain("the mail needs the public address of this server")
  })
})
