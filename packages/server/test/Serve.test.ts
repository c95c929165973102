/**
 * `millrace serve` and `millrace keys` as an operator meets them: the commands themselves, on a
 * real Postgres.
 */
import { request } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { collector } from "../../millrace/test/OtlpReceiver.ts"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { query } from "./kill/Sql.ts"
import { outcomeOf } from "./LocalCommand.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()
let postgres: PostgresServer

beforeAll(async () => {
  postgres = await PostgresServer.create()
})
afterAll(() => postgres.remove())

const MILLRACE_MASTER_KEY = Buffer.alloc(32, 7).toString("base64")

/** Runs a command that ends by itself. */
const outcome = (args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) =>
  outcomeOf(args, { DATABASE_URL: postgres.url, MILLRACE_MASTER_KEY, ...env })

/** A database of its own on the same server. */
const database = async (name: string): Promise<string> => {
  await query(postgres.url, `CREATE DATABASE ${name}`)
  return postgres.url.replace(/\/postgres$/, `/${name}`)
}

const secretPattern = /^mr_[0-9A-Za-z]{49}$/

const listening = async (server: ServerProcess): Promise<string> => {
  const [, origin = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
  return origin
}

describe("serve on the command line", () => {
  it("needs a database, and says how to name one and what works without", async () => {
    const { code, err, out } = await outcome(["serve"], { DATABASE_URL: "" })
    expect([code, out]).toEqual([2, ""])
    expect(err).toMatch(/^No database is named: set DATABASE_URL .*, or run millrace dev.*$/)
  })

  it("needs a master key that is one, and says how to make it, never repeating it", async () => {
    const missing = await outcome(["serve"], { MILLRACE_MASTER_KEY: "" })
    expect([missing.code, missing.out]).toEqual([2, ""])
    expect(missing.err).toMatch(/^No master key is set: set MILLRACE_MASTER_KEY .*openssl.*$/)
    const wrong = await outcome(["serve"], { MILLRACE_MASTER_KEY: "hunter2" })
    expect(wrong.err).toBe(
      "MILLRACE_MASTER_KEY: expected 32 bytes as base64 or as 64 hexadecimal digits",
    )
  })

  it("refuses a limit that makes no sense or that there is none of, in one sentence", async () => {
    const wrong = await outcome(["serve"], { MILLRACE_LIMIT_NODES_AT_ONCE: "lots" })
    expect([wrong.code, wrong.err]).toEqual([
      2,
      "MILLRACE_LIMIT_NODES_AT_ONCE: expected a whole number from 1",
    ])
    // The names of variables are those of the process.
    const unknown = workshop.start(["serve"], { MILLRACE_LIMIT_NODE_AT_ONCE: "5" })
    expect([(await unknown.ended).code, unknown.stderr.trimEnd()]).toEqual([
      2,
      "MILLRACE_LIMIT_NODE_AT_ONCE is not read by anything; " +
        "did you mean MILLRACE_LIMIT_NODES_AT_ONCE?",
    ])
  })

  it("lists every limit with its variable and its default", async () => {
    const { out } = await outcome(["serve", "--help"])
    expect(out).toContain("MILLRACE_LIMIT_NODES_AT_ONCE (default 10): Nodes of one run that")
    expect(out).toContain("(MILLRACE_PRICES)")
    expect(out).not.toMatch(/default (?:null|undefined|\)|,)/)
  })

  it("refuses a database that is not there, in one line without its password", async () => {
    const env = { DATABASE_URL: "postgres://me:hunter2@127.0.0.1:1/flows" }
    const { code, err, out } = await outcome(["serve", "--port", "0"], env)
    expect([code, out]).toEqual([1, ""])
    expect(err).toBe("The database cannot be used: connect ECONNREFUSED 127.0.0.1:1")
  })

  it("refuses tables that are missing, with --no-migrate, or of a later version", async () => {
    const env = { DATABASE_URL: await database("bare") }
    const missing = await outcome(["serve", "--no-migrate", "--port", "0"], env)
    expect([missing.code, missing.out]).toEqual([1, ""])
    expect(missing.err).toMatch(/^The database has no tables of ours.*leave out --no-migrate$/)
    const count = "SELECT count(*)::int AS count FROM pg_tables WHERE schemaname = 'public'"
    expect(await query(env.DATABASE_URL, count)).toEqual([{ count: 0 }])

    await outcome(["keys", "create", "--label", "first"], env)
    await query(
      env.DATABASE_URL,
      "UPDATE millrace_migrations SET migration_id = migration_id + 9000",
    )
    const other = await outcome(["serve", "--no-migrate", "--port", "0"], env)
    expect([other.code, other.out]).toEqual([1, ""])
    expect(other.err).toMatch(/^The database has schema 90\d\d, this version needs \d+; /)
    const advice = "; use the version of Millrace that made it, or a later one"
    expect(other.err).toContain(advice)
    const migrating = await outcome(["serve", "--port", "0"], env)
    expect([migrating.code, migrating.out, migrating.err]).toEqual([1, "", other.err])
  })
})

describe("keys create", () => {
  it("prints the secret alone, and makes the account once", async () => {
    const url = await database("keys")
    const env = { DATABASE_URL: url }
    const args = ["keys", "create", "--account", "Acme", "--label"]
    const first = await outcome([...args, "one", "--per-minute", "600"], env)
    expect(first.code).toBe(0)
    expect(first.out.trimEnd()).toMatch(secretPattern)
    expect(first.err).toMatch(/^Key "one" of account "Acme", for 600 requests a minute and 1000 /)
    const second = await outcome([...args, "two"], env)
    expect(second.out.trimEnd()).toMatch(secretPattern)
    expect(second.out).not.toBe(first.out)
    expect(await query(url, "SELECT name FROM accounts")).toEqual([{ name: "Acme" }])
  })

  it("refuses in one line what cannot be", async () => {
    const env = { DATABASE_URL: await database("no_keys") }
    const create = ["keys", "create", "--label", "one"]
    await outcome(create, env)
    const refusals = [
      [create, 'The account already has a key labelled "one"'],
      [["keys", "create", "--label", " "], "label: expected 1 to 100 characters"],
      [[...create, "--account", " "], "account: expected 1 to 120 characters"],
      [[...create, "--per-minute", "10001"], "perMinute: expected 1 to 10000"],
      [[...create, "--per-minute", "100000000"], "perMinute: expected 1 to 10000"],
      [
        [...create, "--per-day", "9".repeat(30)],
        "perDay: expected an integer; perDay: expected 1 to 100000",
      ],
      [[...create, "--per-day", "0"], "perDay: expected 1 to 100000"],
    ] as const
    for (const [args, sentence] of refusals) {
      expect(await outcome(args, env)).toEqual({ code: 1, out: "", err: sentence })
    }
  })
})

// At once: servers wait more than they compute, above all when they stop.
describe.concurrent("serve", () => {
  it("holds the limits that variables set", async () => {
    const url = await database("limited")
    const env = { DATABASE_URL: url, MILLRACE_LIMIT_BODY_BYTES: "2000" }
    const created = await outcome(["keys", "create", "--label", "ci"], env)
    const limits = { MILLRACE_LIMIT_NODES_PER_WORKFLOW: "1", MILLRACE_LIMIT_RUNS_AT_ONCE: "3" }
    const server = workshop.start(["serve", "--port", "0"], { ...env, ...limits })
    const client = new ApiClient(await listening(server), created.out.trimEnd())
    const node = (id: string) => ({ id, type: "constant", position: { x: 0, y: 0 } })
    const save = (nodes: ReadonlyArray<object>, name = "One") =>
      client.call<{ id: string }>("POST", "/workflows", { name, nodes, edges: [] })
    await save([node("a")])
    await expect(save([node("a"), node("b")])).rejects.toThrow(/has 2 nodes; at most 1 are/)
    await expect(save([], "x".repeat(2_000))).rejects.toThrow(/The body is larger than 2000 bytes/)
  })

  it("makes no account, logs JSON, and admits with a key of keys create", async () => {
    const url = await database("served")
    using collected = await collector()
    const server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: url,
      MILLRACE_MASTER_KEY,
      OTEL_EXPORTER_OTLP_ENDPOINT: collected.url,
      OTEL_EXPORTER_OTLP_HEADERS: "x-key=two%20words",
      OTEL_SERVICE_NAME: "flows",
    })
    const origin = await listening(server)
    expect(await query(url, "SELECT id FROM accounts")).toEqual([])
    const { out } = await outcome(["keys", "create", "--label", "ci", "--no-migrate"], {
      DATABASE_URL: url,
    })
    const client = new ApiClient(origin, out.trimEnd())
    const data = { inputs: { value: 1 } }
    const { id } = await client.call<{ id: string }>("POST", "/workflows", {
      name: "One",
      nodes: [{ id: "one", type: "constant", position: { x: 0, y: 0 }, data }],
      edges: [],
    })
    const runId = await client.start(id)
    expect((await client.runWhen(runId, hasEnded)).status).toBe("COMPLETED")
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null })
    const lines = server.stdout.trimEnd().split("\n")
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ level: "INFO" })
    expect(server.stdout).not.toContain(out.trimEnd())
    expect(server.stderr).toBe("")
    // A server that stops sends what it still has to tell.
    const { numbers, requests, services, spans } = collected
    expect(
      spans()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(["One", "constant"])
    expect(numbers("millrace.runs.ended", "millrace.run.status")).toEqual([["COMPLETED", 1]])
    expect(new Set(services())).toEqual(new Set(["flows"]))
    expect(new Set(requests.map(({ key }) => key))).toEqual(new Set(["two words"]))
  })

  it("says that it listens everywhere with --host 0.0.0.0, and what follows from it", async () => {
    const env = { DATABASE_URL: await database("everywhere"), MILLRACE_MASTER_KEY }
    const server = workshop.start(["serve", "--port", "0", "--host", "0.0.0.0"], env)
    const [, port = ""] = await server.waitFor(
      /listens on http:\/\/127\.0\.0\.1:(\d+) and on every other address of this machine/,
    )
    await server.waitFor(
      new RegExp(`The server listens on every address of this machine, port ${port}, without TLS`),
    )
    expect(server.stdout).toContain('"level":"WARN"')
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null })
  })

  it("knows with --public-url what a proxy hides: TLS, origin and path", async () => {
    const token = "an-admin-token-of-the-tests"
    const env = { DATABASE_URL: await database("public_url"), MILLRACE_MASTER_KEY }
    const server = workshop.start(
      ["serve", "--port", "0", "--public-url", "https://flows.example.com/automation"],
      { ...env, MILLRACE_ADMIN_TOKEN: token, MILLRACE_ALLOWED_ORIGINS: "https://app.example.com" },
    )
    const api = `${await listening(server)}/api/console/v1`
    const ask = (path: string, body: object, headers: Record<string, string>) =>
      fetch(api + path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", ...headers },
      })
    const ours = { origin: "https://flows.example.com" }
    const signedIn = await ask("/sign-in", { operatorToken: token }, ours)
    expect(signedIn.headers.get("set-cookie")).toMatch(
      /^__Host-millrace-[\da-f]{8}=.*; Path=\/; .*; Secure$/,
    )
    const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!
    const { id } = (await (
      await ask("/operator/accounts", { name: "acme" }, { ...ours, cookie })
    ).json()) as { readonly id: string }
    const headers = { ...ours, cookie, "x-millrace-account": id }
    const made = await ask("/workflows", { name: "Proxied" }, headers)
    expect(made.headers.get("location")).toMatch(/^\/automation\/api\/console\/v1\/workflows\/wf_/)
    const page = await fetch(`${api}/session`, { headers: { origin: "https://app.example.com" } })
    expect(page.headers.get("access-control-allow-origin")).toBe("https://app.example.com")
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null })
  })

  it("does not call itself for a workflow", async () => {
    const url = await database("no_self")
    const { out } = await outcome(["keys", "create", "--label", "ci"], { DATABASE_URL: url })
    const server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: url,
      MILLRACE_MASTER_KEY,
    })
    const origin = await listening(server)
    const client = new ApiClient(origin, out.trimEnd())
    const node = { id: "f", type: "http_request", position: { x: 0, y: 0 } }
    for (const target of [`${origin}/healthz`, "http://millrace.internal/healthz"]) {
      const { id } = await client.call<{ id: string }>("POST", "/workflows", {
        name: "Self",
        nodes: [{ ...node, data: { inputs: { url: target } } }],
        edges: [],
      })
      const run = await client.runWhen(await client.start(id), hasEnded)
      expect(run.status).toBe("FAILED")
    }
    expect(await server.end("SIGINT")).toEqual({ code: 0, signal: null })
  })

  it("says that it stops while it still answers", async () => {
    const url = await database("stopping")
    const server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: url,
      MILLRACE_MASTER_KEY,
    })
    const origin = await listening(server)
    expect((await fetch(`${origin}/readyz`)).status).toBe(200)
    server.signal("SIGTERM")
    await server.waitFor(/stopping: /)
    // All at once: it listens for a second only.
    const paths = ["/readyz", "/healthz", "/api/v1/runs"]
    const [ready, ...others] = await Promise.all(paths.map((path) => fetch(`${origin}${path}`)))
    expect([ready?.status, await ready?.json()]).toEqual([
      503,
      { error: "The server is shutting down; try again" },
    ])
    expect(others.map(({ status }) => status)).toEqual([200, 401])
    const connections = [ready, ...others].map((each) => each?.headers.get("connection"))
    expect(connections).toEqual(["close", "close", "close"])
    expect(await server.ended).toEqual({ code: 0, signal: null })
  })

  it("accepts starts until it stops listening, and leaves them to another server", async () => {
    const env = { DATABASE_URL: await database("late_starts"), MILLRACE_MASTER_KEY }
    const { out } = await outcome(["keys", "create", "--label", "ci"], env)
    const server = workshop.start(["serve", "--port", "0"], env)
    const client = new ApiClient(await listening(server), out.trimEnd())
    const data = { inputs: { value: 1 } }
    const { id } = await client.call<{ id: string }>("POST", "/workflows", {
      name: "One",
      nodes: [{ id: "one", type: "constant", position: { x: 0, y: 0 }, data }],
      edges: [],
    })
    server.signal("SIGTERM")
    await server.waitFor(/stopping: /)
    const runIds = await Promise.all(Array.from({ length: 5 }, () => client.start(id)))
    expect(await server.ended).toEqual({ code: 0, signal: null })
    const next = workshop.start(["serve", "--port", "0"], env)
    const other = new ApiClient(await listening(next), out.trimEnd())
    for (const runId of runIds) {
      expect((await other.runWhen(runId, hasEnded)).status).toBe("COMPLETED")
    }
    expect(await next.end("SIGTERM")).toEqual({ code: 0, signal: null })
  })

  it("answers a request that was still arriving when it was told to stop", async () => {
    const url = await database("arriving")
    const { out } = await outcome(["keys", "create", "--label", "ci"], { DATABASE_URL: url })
    const server = workshop.start(["serve", "--port", "0"], {
      DATABASE_URL: url,
      MILLRACE_MASTER_KEY,
    })
    const origin = await listening(server)
    const body = JSON.stringify({ name: "Late", nodes: [], edges: [] })
    const headers = {
      authorization: `Bearer ${out.trimEnd()}`,
      "content-type": "application/json",
      "content-length": body.length,
    }
    const sent = request(`${origin}/api/v1/workflows`, { method: "POST", headers })
    const answered = new Promise<number | undefined>((resolve, reject) => {
      sent.on("response", (response) => resolve(response.resume().statusCode))
      sent.on("error", reject)
    })
    sent.write(body.slice(0, 10))
    // The server has it once it has admitted it.
    const used = "SELECT minute_used AS used FROM key_usage"
    while ((await query(url, used)).length === 0);
    server.signal("SIGTERM")
    await server.waitFor(/handed back","level/)
    sent.end(body.slice(10))
    expect(await answered).toBe(201)
    expect(await server.ended).toEqual({ code: 0, signal: null })
  })
})
