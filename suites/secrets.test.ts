/**
 * Two hundred planted secrets: a real server is given them, sends them to their hosts and to one
 * that is none of theirs, and is killed. None of them may be found in anything that the server
 * stored or that left it, in five encodings, nor at a host it was not meant for.
 *
 * Guarantees: what is searched is everything: every column of every table, every answer, stream and
 * webhook, everything that was printed, and every request to the host that is not meant.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import { randomBytes } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import { outcomeOf } from "../packages/server/test/LocalCommand.ts"
import { Workshop } from "../packages/server/test/ServerProcess.ts"

const token = "operator-token-of-this-suite"
const masterKey = "ab".repeat(32)
const count = 200
const perWorkflow = 10

const odd = ["+/=", '"\\', "<&>'", " %20 ", "äöü😀", "\n"]

/** A secret of some form: of a key, of a password, of several lines. */
const secretOf = (index: number): string => {
  const random = randomBytes(8 + (index % 24)).toString("base64url")
  return index % 4 === 0 ? `s${index}_${random}` : `a${random}${odd[index % 6]!}${index}z`
}

/** What is sent in a header can have no line break, and nothing beyond Latin-1. */
const isHeader = (value: string): boolean => /^[\x20-\x7e\xa0-\xff]*$/.test(value)

const secrets = Array.from({ length: count }, (_, index) => ({
  name: `s_${index}`,
  value: secretOf(index),
}))

/** Base64 of a text behind so many bytes, without the characters that other bytes are in. */
const core = (text: string, before: number): string => {
  const whole = Buffer.from("\0".repeat(before) + text).toString("base64")
  return whole.slice(
    before === 0 ? 0 : before + 1,
    Math.floor(((before + Buffer.byteLength(text)) * 8) / 6),
  )
}

/** The five encodings: as it is, in JSON, in a URL, in base64 at any place, in hexadecimal. */
const formsOf = (value: string): ReadonlyArray<string> => {
  const base64 = [0, 1, 2].map((before) => core(value, before))
  const json = JSON.stringify(value).slice(1, -1)
  return [
    ...new Set([
      value,
      json,
      JSON.stringify(json).slice(1, -1),
      encodeURIComponent(value),
      new URLSearchParams({ v: value }).toString().slice(2),
      ...base64,
      ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
      Buffer.from(value).toString("hex"),
    ]),
  ]
}

const forms = secrets.flatMap(({ name, value }) =>
  formsOf(value).map((form) => [name, form] as const),
)

/** The names of the secrets in a text, with the form that was found. */
const foundIn = (text: string): ReadonlyArray<string> =>
  forms.flatMap(([name, form]) => (text.includes(form) ? [`${name}: ${form}`] : []))

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

/** A server on this machine, and the requests that it got. */
class Host {
  readonly requests: Array<string> = []
  readonly #server
  origin = ""

  constructor(answer: (request: IncomingMessage, response: ServerResponse) => void) {
    this.#server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const line = `${request.method} ${request.url}`
        this.requests.push([line, ...request.rawHeaders, body].join("\n"))
        return answer(request, response)
      })
    })
  }

  async open(): Promise<void> {
    await new Promise<void>((resolve) => void this.#server.listen(0, "127.0.0.1", resolve))
    const address = this.#server.address()
    this.origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}

/** Says what it was told, in every way that a service might. */
const echo = ({ headers, url = "" }: IncomingMessage, response: ServerResponse): void => {
  const said = Object.entries(headers)
    .filter(([name]) => name.startsWith("x-") || name === "authorization")
    .map(([, value]) => String(value))
  const status = url.startsWith("/fails") ? 500 : url.startsWith("/moved") ? 302 : 200
  response.writeHead(status, {
    "content-type": url.startsWith("/text") ? "text/html" : "application/json",
    "x-said": said[0] ?? "",
    ...(status === 302 ? { location: `${evil.origin}/?t=${encodeURIComponent(said.join())}` } : {}),
  })
  response.end(
    JSON.stringify({
      said,
      error: { message: `Not for ${said.join()}` },
      named: Object.fromEntries(said.map((each) => [each, true])),
      url: said.map(encodeURIComponent),
      form: said.map((v) => new URLSearchParams({ v }).toString()),
      base64: said.map((each) => Buffer.from(`user:${each}`).toString("base64")),
      base64url: said.map((each) => Buffer.from(`${each}!`).toString("base64url")),
      hex: said.map((each) => Buffer.from(each).toString("hex")),
      json: JSON.stringify(JSON.stringify(said)),
    }),
  )
}

const good = new Host(echo)
const evil = new Host((_, response) => response.end("{}"))
const hook = new Host((_, response) => response.end())

const workshop = new Workshop()
let postgres: PostgresServer
let server: ReturnType<Workshop["start"]>
let origin = ""
let key = ""
/** Everything that left the server over HTTP. */
const answers: Array<string> = []

const ask = async (method: string, path: string, json?: unknown, who = key) => {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${who}`, "content-type": "application/json" },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  })
  const text = await response.text()
  answers.push([...response.headers].flat().join("\n"), text)
  return {
    status: response.status,
    text,
    body: text.startsWith("{") ? JSON.parse(text) : undefined,
  }
}

const admin = (method: string, path: string, json?: unknown) =>
  ask(method, `/api/admin/v1${path}`, json, token)

const node = (id: string, type: string, inputs: object, data: object = {}) => ({
  id,
  type,
  position: { x: 0, y: 0 },
  data: { inputs, ...data },
})

/** The expressions of secrets, in headers. */
const headersOf = (names: ReadonlyArray<string>) =>
  Object.fromEntries(
    names.map((name, index) => [
      `x-${index}`,
      index % 2 === 0 ? `{{ secrets.${name} }}` : `Token {{ secrets.${name} }}; end`,
    ]),
  )

/** Nodes of other types that take a secret: to its host, which repeats it, and elsewhere. */
const othersOf = (secret: string) => {
  const { hostname: host, port } = new URL(evil.origin)
  const elsewhere = { host, port: Number(port), user: "ann", password: secret, tls: "off" }
  const basic = { type: "basic", username: "ann", password: secret }
  const mail = { from: "ann@example.com", to: "bob@example.com", subject: "Hello", text: "Hello" }
  const failing = { onError: "route" }
  return [
    node("auth", "http_request", { url: `${good.origin}/fails`, auth: basic }, failing),
    node(
      "model",
      "llm",
      { endpoint: good.origin, model: "any", prompt: "?", apiKey: secret },
      failing,
    ),
    node(
      "rows",
      "postgres_query",
      { ...elsewhere, database: "shop", statement: "SELECT 1" },
      failing,
    ),
    node("mail", "email", { ...elsewhere, ...mail }, failing),
  ]
}

/** A graph that sends secrets where they may go and where not, and hands on what comes back. */
const drawingOf = (index: number, names: ReadonlyArray<string>, others: ReadonlyArray<string>) => {
  const headers = headersOf(names)
  const accept = { acceptAnyStatus: true }
  const tries = { retry: { attempts: 2, initial: 1 } }
  return {
    name: `Workflow ${index}`,
    nodes: [
      node("ok", "http_request", { url: `${good.origin}/ok`, headers }),
      node("text", "http_request", { url: `${good.origin}/text`, headers, ...accept }),
      node("fails", "http_request", { url: `${good.origin}/fails`, headers }, tries),
      node("moved", "http_request", { url: `${good.origin}/moved`, headers, ...accept }),
      node(
        "evil",
        "http_request",
        { url: `${evil.origin}/`, headers, ...accept },
        { onError: "route" },
      ),
      ...othersOf(`{{ secrets.${names[0]} }}`),
      // No header can have these values, so the guard refuses them.
      ...others.map((name) =>
        node(name, "http_request", {
          url: good.origin,
          headers: { "x-a": `{{ secrets.${name} }}` },
        }),
      ),
      node("next", "transform", { template: { all: "{{ input }}" } }),
      // What an earlier node was told goes on to a host that no secret may go to.
      node("onward", "http_request", { url: `${evil.origin}/onward`, method: "POST" }),
      node("answer", "response", { name: "all" }),
    ],
    edges: [
      { id: "e1", source: "ok", sourceHandle: "body", target: "next", targetHandle: "input" },
      { id: "e2", source: "next", sourceHandle: "output", target: "onward", targetHandle: "body" },
      { id: "e3", source: "text", sourceHandle: "body", target: "answer", targetHandle: "input" },
    ],
  }
}

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 50))
}

beforeAll(async () => {
  for (const host of [good, evil, hook]) await host.open()
  postgres = await PostgresServer.create()
  server = workshop.start(["serve", "--port", "0"], {
    DATABASE_URL: postgres.url,
    MILLRACE_MASTER_KEY: masterKey,
    MILLRACE_ADMIN_TOKEN: token,
    MILLRACE_EGRESS_ALLOW: "127.0.0.1/32",
  })
  const [, found = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
  origin = found
})

afterAll(async () => {
  for (const host of [good, evil, hook]) host.close()
  await postgres.remove()
})

/** Starts the runs, reads everything that can be read of them, and kills the server. */
const play = async (): Promise<{ readonly dump: string; readonly runs: number }> => {
  const { body: account } = await admin("POST", "/accounts", { name: "Planted" })
  const path = `/accounts/${account.id}`
  const { body: made } = await admin("POST", `${path}/keys`, {
    label: "suite",
    perMinute: 10_000,
    perDay: 100_000,
  })
  key = made.secret
  const { host } = new URL(good.origin)
  const plant = async (from: number) => {
    for (let index = from; index < count; index += 4) {
      const { name, value } = secrets[index]!
      const { status } = await admin("PUT", `${path}/secrets/${name}`, { value, hosts: [host] })
      expect(status).toBe(200)
    }
  }
  await Promise.all([0, 1, 2, 3].map(plant))
  const namesOf = (isSendable: boolean) =>
    secrets.filter(({ value }) => isHeader(value) === isSendable).map(({ name }) => name)
  const [sendable, others] = [namesOf(true), namesOf(false)]
  const ids: Array<string> = []
  for (let from = 0; from < sendable.length; from += perWorkflow) {
    const drawing = drawingOf(
      from,
      sendable.slice(from, from + perWorkflow),
      others.splice(0, perWorkflow),
    )
    const { body: workflow, text } = await ask("POST", "/api/v1/workflows", drawing)
    expect(workflow?.id, text).toBeDefined()
    const webhook = {
      url: `${hook.origin}/hook`,
      events: ["run.completed", "run.failed", "node.completed", "node.failed"],
    }
    const start = { workflowId: workflow.id, webhook }
    await ask("POST", `/api/v1/workflows/${workflow.id}/validate`, {})
    await ask("POST", "/api/v1/runs/estimate", { workflowId: workflow.id })
    const { body: run, text: why } = await ask("POST", "/api/v1/runs", start)
    expect(run?.runId ?? run?.id, why).toBeDefined()
    ids.push(run.runId ?? run.id)
  }
  for (const id of ids) await ask("GET", `/api/v1/runs/${id}/events`)
  await until(async () => {
    const { body } = await ask("GET", "/api/v1/runs?limit=50")
    return body.items.every(({ finishedAt }: { finishedAt: string | null }) => finishedAt !== null)
  })
  for (const id of ids) await ask("GET", `/api/v1/runs/${id}`)
  await ask("POST", "/api/v1/runs/batch", { ids: ids.slice(0, 50) })
  await until(async () => {
    const { body } = await admin("GET", "/deliveries?state=PENDING")
    return body.items.length === 0
  })
  const { body: deliveries } = await admin("GET", "/deliveries")
  for (const { id } of deliveries.items) await admin("GET", `/deliveries/${id}`)
  await admin("GET", `${path}/secrets`)
  await ask("PUT", "/api/v1/workflows", { value: "nonsense" })
  const env = { DATABASE_URL: postgres.url, MILLRACE_MASTER_KEY: masterKey }
  const listed = await outcomeOf(["secrets", "list", "--account", account.id, "--json"], env)
  answers.push(listed.out, listed.err)
  server.signal("SIGABRT")
  await server.ended
  return { dump: await dumpOf(postgres.url), runs: ids.length }
}

/** Every row of every table as text; bytes as they are, too. */
const dumpOf = async (url: string): Promise<string> => {
  const tables = await query<{ readonly name: string }>(
    url,
    `SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema()`,
  )
  const rows: Array<string> = []
  for (const { name } of tables) {
    const found = await query<{ readonly row: string }>(
      url,
      `SELECT t::text AS row, row_to_json(t)::text AS json FROM ${name} t`,
    )
    rows.push(name, ...found.flatMap((each) => Object.values(each)))
  }
  return rows.join("\n")
}

describe("two hundred planted secrets", () => {
  it("are found where they were sent, and nowhere else", async () => {
    const { dump, runs } = await play()
    expect(runs).toBeGreaterThan(5)
    // The search finds what is there: the hosts of the secrets have got them.
    const sent = secrets.filter(({ value }) => isHeader(value))
    const arrived = good.requests.join("\n")
    expect(sent.filter(({ value }) => !arrived.includes(value))).toEqual([])
    expect(dump).toContain("{{ secrets.s_0 }}")
    expect(dump).toContain("•••")
    expect(dump).toContain("may not go to 127.0.0.1")
    expect(foundIn(dump)).toEqual([])
    expect(foundIn(answers.join("\n"))).toEqual([])
    expect(hook.requests.length).toBeGreaterThan(runs)
    expect(foundIn(hook.requests.join("\n"))).toEqual([])
    expect(foundIn(server.output)).toEqual([])
    // Only what was masked went on to the host that no secret may go to.
    expect(evil.requests.length).toBe(runs)
    expect(foundIn(evil.requests.join("\n"))).toEqual([])
  })
})
