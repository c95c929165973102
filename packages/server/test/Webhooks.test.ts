/**
 * Webhooks from a start to the receiver, with the commands themselves.
 */
import { readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { Hook } from "./Hook.ts"
import { createKey } from "./kill/Arena.ts"
import { query } from "./kill/Sql.ts"
import { PostgresServer } from "./PostgresServer.ts"
import { ready, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
let postgres: PostgresServer
let hook: Hook

beforeAll(async () => {
  postgres = await PostgresServer.create()
  hook = await Hook.open()
})
afterAll(async () => {
  hook.close()
  await postgres.remove()
})

const graph = {
  name: "One",
  nodes: [
    { id: "one", type: "constant", position: { x: 0, y: 0 }, data: { inputs: { value: 1 } } },
  ],
  edges: [],
}

const types = ["run.started", "node.completed", "run.completed"]

describe("serve with webhooks", () => {
  const headers = { authorization: "Bearer canary-7f3a" }
  let client: ApiClient

  it("tells a receiver of every event of a run, signed, with what the client gave", async () => {
    const secret = await createKey(postgres.url)
    const server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: postgres.url,
      MILLRACE_MASTER_KEY: "ab".repeat(32),
      MILLRACE_EGRESS_ALLOW: hook.allowed,
    })
    const [, origin = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
    client = new ApiClient(origin, secret)
    const { id: workflowId } = await client.call<{ id: string }>("POST", "/workflows", graph)
    const webhook = { url: hook.url, metadata: { order: 7 }, headers }
    const { runId } = await client.call<{ runId: string }>("POST", "/runs", { workflowId, webhook })
    await hook.has(3)
    const payloads = hook.payloads.toSorted((a, b) => sequenceOf(a) - sequenceOf(b))
    expect(payloads.map(({ type }) => type)).toEqual(types)
    for (const payload of payloads) {
      expect(payload).toMatchObject({ runId, workflowId, metadata: { order: 7 }, success: true })
    }
    for (const each of hook.received) {
      expect(each.headers).toMatchObject(headers)
      expect(each.headers["webhook-id"]).toMatch(/^msg_/)
      expect(each.headers["webhook-signature"]).toMatch(/^v1,[\w+/]{43}=$/)
    }
    expect(await client.runWhen(runId, hasEnded)).not.toHaveProperty("webhook")
  })

  it("keeps neither the headers nor a secret in the clear", async () => {
    const tables = ["runs", "deliveries", "due_deliveries", "webhook_secrets"]
    for (const table of tables) {
      const rows = await query(postgres.url, `SELECT to_jsonb(t)::text AS row FROM ${table} t`)
      expect(JSON.stringify(rows)).not.toMatch(/canary|whsec_/)
    }
    expect(await query(postgres.url, "SELECT 1 FROM webhook_secrets")).toHaveLength(1)
  })

  it.each([
    [{ url: "http://example.com/" }, "webhook.url: "],
    [{ url: "https://127.0.0.1:9/" }, "webhook.url: "],
    [{ url: "https://me:secret@example.com/" }, "webhook.url: "],
    [{ url: "https://1.1.1.1/", events: [] }, "webhook.events: "],
    [{ url: "https://1.1.1.1/", events: ["run.exploded"] }, "webhook.events[0]: "],
    [{ url: "https://1.1.1.1/", metadata: { a: "x".repeat(16_384) } }, "webhook.metadata: "],
    [{ url: "https://1.1.1.1/", headers: { host: "a" } }, "webhook.headers: "],
    [{ url: "https://1.1.1.1/", headers: { "webhook-id": "a" } }, "webhook.headers: "],
    [{ url: "https://name.invalid/" }, "webhook.url: "],
  ])("refuses %j with 400 and one sentence, and starts nothing", async (webhook, sentence) => {
    const count = () => query(postgres.url, "SELECT count(*)::int AS count FROM runs")
    const before = await count()
    const { items } = await client.call<{ items: ReadonlyArray<{ id: string }> }>(
      "GET",
      "/workflows",
    )
    const body = { workflowId: items[0]?.id, webhook }
    const refused = client.call("POST", "/runs", body)
    await expect(refused).rejects.toThrow(`POST /runs: 400 {"error":"${sentence}`)
    expect(await count()).toEqual(before)
  })
})

const sequenceOf = ({ data }: Readonly<Record<string, unknown>>): number =>
  (data as { readonly sequence: number }).sequence

describe("dev with webhooks", () => {
  const folder = join(workshop.folder(), "data")
  const path = join(folder, "master.key")

  it("makes a master key of its own, readable to nobody else, and keeps it", async () => {
    const args = ["dev", "--port", "0", "--no-seed", "--data", folder]
    const first = workshop.start(args, { MILLRACE_EGRESS_ALLOW: hook.allowed })
    const origin = await ready(first)
    const secret = /\bmr_[0-9A-Za-z]{49}\b/.exec(first.stdout)?.[0] ?? ""
    const client = new ApiClient(origin, secret)
    const { id: workflowId } = await client.call<{ id: string }>("POST", "/workflows", graph)
    const before = hook.received.length
    const webhook = { url: hook.url, events: ["run.completed"] }
    await client.call("POST", "/runs", { workflowId, webhook })
    await hook.has(before + 1)
    expect(hook.payloads.at(-1)).toMatchObject({ type: "run.completed", metadata: null })
    expect(await first.end("SIGINT")).toEqual({ code: 0, signal: null })
    const key = readFileSync(path, "utf8")
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const second = workshop.start(args)
    await ready(second)
    expect(await second.end("SIGINT")).toEqual({ code: 0, signal: null })
    expect(readFileSync(path, "utf8")).toBe(key)
  })

  it("refuses to go on without the key that it once made", async () => {
    writeFileSync(path, "half")
    const server = workshop.start(["dev", "--port", "0", "--data", folder])
    expect(await server.ended).toEqual({ code: 1, signal: null })
    expect(server.stderr).toContain("restore it from a backup")
    expect(readFileSync(path, "utf8")).toBe("half")
  })
})
