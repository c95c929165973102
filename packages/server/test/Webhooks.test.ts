/**
 * Webhooks from a start to the receiver, with the commands themselves.
 */
import { createHmac } from "node:crypto"
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import type { Received } from "./Hook.ts"
import { Hook } from "./Hook.ts"
import { createKey } from "./kill/Arena.ts"
import { query } from "./kill/Sql.ts"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { outcomeOf } from "./LocalCommand.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { ready, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
let postgres: PostgresServer
let hook: Hook
let server: ServerProcess

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

const masterKey = "ab".repeat(32)
const token = "operator-token-of-this-test"
let origin = ""

type Env = Readonly<Record<string, string>>

/** Runs a command that ends by itself. */
const outcome = (env: Env, ...args: ReadonlyArray<string>) => outcomeOf(["webhooks", ...args], env)

/** What the standard says that a signature is, in its own words. */
const isSigned = ({ body, headers }: Received, secret: string): boolean => {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64")
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.`
  const mac = createHmac("sha256", key).update(signed).update(body).digest("base64")
  return String(headers["webhook-signature"]).split(" ").includes(`v1,${mac}`)
}

describe("serve with webhooks", () => {
  const headers = { authorization: "Bearer canary-7f3a" }
  let client: ApiClient

  it("tells a receiver of every event of a run, signed, with what the client gave", async () => {
    const secret = await createKey(postgres.url)
    server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: postgres.url,
      MILLRACE_MASTER_KEY: masterKey,
      MILLRACE_ADMIN_TOKEN: token,
      MILLRACE_EGRESS_ALLOW: hook.allowed,
    })
    origin = (await server.waitFor(/listens on (http:[^" ]+)/))[1] ?? ""
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
    ["plain http", { url: "http://example.com/" }, "webhook.url: "],
    ["loopback", { url: "https://127.0.0.1:9/" }, "webhook.url: "],
    ["a password", { url: "https://me:secret@example.com/" }, "webhook.url: "],
    ["a line break", { url: "https://1.1.1.1/\nhook" }, "webhook.url: has control characters"],
    ["no events", { url: "https://1.1.1.1/", events: [] }, "webhook.events: "],
    [
      "unknown events",
      { url: "https://1.1.1.1/", events: ["run.exploded"] },
      "webhook.events[0]: ",
    ],
    [
      "large metadata",
      { url: "https://1.1.1.1/", metadata: { a: "x".repeat(16_384) } },
      "webhook.metadata: ",
    ],
    ["another host", { url: "https://1.1.1.1/", headers: { host: "a" } }, "webhook.headers: "],
    [
      "a header of ours",
      { url: "https://1.1.1.1/", headers: { "webhook-id": "a" } },
      "webhook.headers: ",
    ],
    ["a name that leads nowhere", { url: "https://name.invalid/" }, "webhook.url: "],
  ])("refuses %s with 400 and one sentence, and starts nothing", async (_, webhook, sentence) => {
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

const places: ReadonlyArray<readonly [string, () => Env]> = [
  [
    "database",
    () => ({
      DATABASE_URL: postgres.url,
      MILLRACE_MASTER_KEY: masterKey,
      MILLRACE_EGRESS_ALLOW: hook.allowed,
    }),
  ],
  ["running server", () => ({ MILLRACE_URL: origin, MILLRACE_ADMIN_TOKEN: token })],
]

describe.each(places)("webhooks on a %s", (_, env) => {
  let id = ""

  it("shows the secret that verifies a test event", async () => {
    const shown = await outcome(env(), "secret")
    expect([shown.code, shown.err]).toEqual([0, expect.stringMatching(/ signs$/)])
    const [secret = ""] = shown.out.split("\n").slice(-1)
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/)
    const before = hook.received.length
    const sent = await outcome(env(), "test", hook.url)
    expect(sent.code).toBe(0)
    id = sent.out
    await hook.has(before + 1)
    const received = hook.received.at(-1)!
    expect(received.headers["webhook-id"]).toBe(id)
    expect(JSON.parse(received.body.toString())).toMatchObject({ type: "webhook.test" })
    expect(isSigned(received, secret)).toBe(true)
  })

  it("rotates it: the old one and the new one sign", async () => {
    const before = (await outcome(env(), "secret")).out.split("\n").at(-1)!
    const rotated = await outcome(env(), "secret", "--rotate", "--overlap", "1h", "--json")
    const { items } = JSON.parse(rotated.out) as { items: ReadonlyArray<{ secret: string }> }
    const [old, fresh] = items.slice(-2)
    expect(old?.secret).toBe(before)
    const count = hook.received.length
    await outcome(env(), "test", hook.url)
    await hook.has(count + 1)
    const received = hook.received.at(-1)!
    expect([old, fresh].map((each) => isSigned(received, each!.secret))).toEqual([true, true])
  })

  it("lists deliveries, and shows one with every attempt", async () => {
    const table = await outcome(env(), "list", "--state", "DELIVERED", "--limit", "50")
    expect(table.out.split("\n")[0]).toMatch(/^ID +STATE +TYPE +ATTEMPTS/)
    expect(table.out).toMatch(new RegExp(`^${id} +DELIVERED +webhook.test +1 `, "m"))
    const shown = await outcome(env(), "show", id)
    expect(shown.out).toMatch(/^1 +20\S+ +\d+ +204 /m)
    const { out } = await outcome(env(), "show", id, "--json")
    expect(JSON.parse(out)).toMatchObject({ id, attemptLog: [{ number: 1, status: 204 }] })
  })

  it("sends one again, under the same id", async () => {
    const before = hook.received.length
    const again = await outcome(env(), "resend", id)
    expect([again.code, again.out]).toEqual([0, id])
    await hook.has(before + 1)
    expect(hook.received.at(-1)?.headers["webhook-id"]).toBe(id)
    const none = await outcome(env(), "resend", "--failed-since", "2100-01-01")
    expect([none.code, none.out]).toEqual([0, "0"])
  })

  it("refuses in one line what cannot be", async () => {
    const refusals: ReadonlyArray<readonly [ReadonlyArray<string>, number, RegExp]> = [
      [["show", "msg_nobody"], 1, /elivery .*does not exist$/],
      [["resend"], 2, /^Nothing to send again is named: /],
      [["secret", "--account", "nobody"], 1, /^There is no account "nobody"$/],
      [["test", "http://127.0.0.1:1/"], 1, /^webhook\.url: /],
    ]
    for (const [args, code, sentence] of refusals) {
      const { err, ...rest } = await outcome(env(), ...args)
      expect(rest).toEqual({ code, out: "" })
      expect(err).toMatch(sentence)
      expect(err.split("\n")).toHaveLength(1)
    }
  })
})

describe("serve, told to stop", () => {
  it("waits for the answers to what it is sending", async () => {
    const { promise, resolve: answer } = Promise.withResolvers<void>()
    hook.held = promise
    const before = hook.received.length
    const sent = await outcome(places[1]![1](), "test", hook.url)
    await hook.has(before + 1)
    server.signal("SIGTERM")
    await server.waitFor(/stopping: /)
    answer()
    expect(await server.ended).toEqual({ code: 0, signal: null })
    const { out } = await outcome(places[0]![1](), "list", "--limit", "50")
    expect(out).toMatch(new RegExp(`^${sent.out} +DELIVERED +webhook.test +1 `, "m"))
  })
})

describe("webhooks on a database without its master key", () => {
  it("shows deliveries, and says what is missing for secrets", async () => {
    const env = { DATABASE_URL: postgres.url }
    expect((await outcome(env, "list")).code).toBe(0)
    const { code, err, out } = await outcome(env, "secret")
    expect([code, out]).toEqual([1, ""])
    expect(err).toMatch(/^MILLRACE_MASTER_KEY: expected the key of the servers/)
  })
})

describe("serve with another master key", () => {
  const other = "cd".repeat(32)
  const serve = (key: string) =>
    workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: postgres.url,
      MILLRACE_MASTER_KEY: key,
    })

  it("does not start, and says which key to set", async () => {
    const refused = serve(other)
    expect(await refused.ended).toEqual({ code: 1, signal: null })
    expect(refused.stderr.trimEnd()).toMatch(
      /^MILLRACE_MASTER_KEY does not open the signing secrets in this database: set the key .*$/,
    )
    expect(refused.output).not.toContain(other)
    const both = serve(`${other},${masterKey}`)
    await both.waitFor(/listens on /)
    expect(await both.end("SIGTERM")).toEqual({ code: 0, signal: null })
  })

  it("starts once every secret was replaced, as the sentence says", async () => {
    const env = { DATABASE_URL: postgres.url, MILLRACE_MASTER_KEY: other }
    const rotation = ["secret", "--account", "default", "--rotate", "--overlap", "0s"]
    const { code, err } = await outcome(env, ...rotation)
    expect([code, err]).toEqual([0, expect.stringMatching(/signs$/)])
    const server = serve(other)
    await server.waitFor(/listens on /)
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null })
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

  it("refuses to make another key for what one sealed that is gone", async () => {
    const key = readFileSync(path, "utf8")
    rmSync(path)
    const server = workshop.start(["dev", "--port", "0", "--data", folder])
    expect(await server.ended).toEqual({ code: 1, signal: null })
    expect(server.stderr).toContain(`The key in ${path} does not open the signing secrets`)
    expect(existsSync(path)).toBe(false)
    writeFileSync(path, key)
  })

  it("refuses to go on without the key that it once made", async () => {
    writeFileSync(path, "half")
    const server = workshop.start(["dev", "--port", "0", "--data", folder])
    expect(await server.ended).toEqual({ code: 1, signal: null })
    expect(server.stderr).toContain("restore it from a backup")
    expect(readFileSync(path, "utf8")).toBe("half")
  })
})
