/**
 * The HTTP interface mounted in Node's servers, as frameworks mount it.
 */
import { createEngine, defineNode, toNodeHandler } from "millrace"
import type { NodeHandler } from "millrace"
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { afterEach, describe, expect, it, vi } from "vitest"

const closers: Array<() => Promise<unknown>> = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** Listens, and says where. */
const listen = async (handler: (request: IncomingMessage, response: ServerResponse) => void) => {
  const server = createServer(handler).listen(0, "127.0.0.1")
  await once(server, "listening")
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, "close")
  })
  return (server.address() as AddressInfo).port
}

/** Never ends by itself. */
const hang = defineNode({
  type: "test.hang",
  inputs: {},
  outputs: {},
  run: ({ signal }) => once(signal, "abort").then(() => ({})),
})

const makeEngine = async (basePath?: string) => {
  const options = basePath === undefined ? {} : { basePath }
  const engine = await createEngine({ nodes: [hang], ...options })
  closers.push(() => engine.close())
  const { secret } = await engine.keys.create({ label: "test", perMinute: 1_000 })
  return { engine, secret }
}

/** What Express does with `app.use(path, handler)`. */
const use = (path: string, handler: NodeHandler) => {
  return (request: IncomingMessage & { originalUrl?: string }, response: ServerResponse) => {
    const { url = "/" } = request
    if (url !== path && !url.startsWith(`${path}/`)) return void response.end("the page of the app")
    request.originalUrl = url
    request.url = url.slice(path.length) || "/"
    return handler(request, response)
  }
}

const asking =
  (origin: string, secret: string) => (path: string, body?: unknown, method?: string) =>
    fetch(`${origin}${path}`, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })

describe("toNodeHandler", () => {
  for (const mount of ["/x/y", "/x/y/api", "/x"]) {
    it(`answers below /x/y/api where it is mounted at ${mount}`, async () => {
      const { engine, secret } = await makeEngine("/x/y")
      const port = await listen(use(mount, toNodeHandler(engine.fetch)))
      const ask = asking(`http://127.0.0.1:${port}`, secret)
      const made = await ask("/x/y/api/v1/workflows", { name: "Mounted" })
      expect(made.status).toBe(201)
      const { id } = (await made.json()) as { id: string }
      const location = made.headers.get("location") ?? ""
      expect(location).toBe(`/x/y/api/v1/workflows/${id}`)
      expect(await (await ask(location)).json()).toMatchObject({ name: "Mounted" })
      const found = await ask("/x/y/api/v1/workflows?search=mount&limit=1")
      expect(await found.json()).toMatchObject({ items: [{ id }] })
      const wrong = await ask("/x/y/api/v1/workflows", undefined, "DELETE")
      expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"])
      expect((await ask("/x/y/api/v1/nope")).status).toBe(404)
      const removed = await ask(location, undefined, "DELETE")
      expect([removed.status, await removed.text()]).toEqual([204, ""])
      const document = (await (await ask("/x/y/api/openapi.json")).json()) as { servers: unknown }
      expect(document.servers).toEqual([{ url: "/x/y" }])
      expect(await (await ask("/elsewhere")).text()).toBe("the page of the app")
    })
  }

  it("serves node:http itself, and refuses a body that is too large unread", async () => {
    const { engine, secret } = await makeEngine()
    const port = await listen(toNodeHandler(engine.fetch))
    const ask = asking(`http://127.0.0.1:${port}`, secret)
    expect((await ask("/healthz")).status).toBe(200)
    const large = await ask("/api/v1/workflows", { name: "x".repeat(1_100_000) })
    expect(large.status).toBe(413)
    expect((await ask("/api/v1/runs")).status).toBe(200)
  })

  it("streams events while they happen, and stops when the client hangs up", async () => {
    const { engine, secret } = await makeEngine()
    const port = await listen(toNodeHandler(engine.fetch))
    const node = { id: "h", type: "test.hang", position: { x: 0, y: 0 } }
    const { id } = await engine.workflows.create({ name: "W", nodes: [node] })
    const run = await engine.runs.start({ workflowId: id })
    const follow = (signal?: AbortSignal) =>
      fetch(`http://127.0.0.1:${port}/api/v1/runs/${run.id}/events`, {
        headers: { authorization: `Bearer ${secret}` },
        signal: signal ?? null,
      })
    const gone = new AbortController()
    const streams = await Promise.all(Array.from({ length: 10 }, () => follow(gone.signal)))
    expect(streams.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect((await follow()).status).toBe(429)
    gone.abort()
    const open = await vi.waitFor(async () => {
      const next = await follow()
      expect(next.status).toBe(200)
      return next
    }, 60_000)
    await run.cancel()
    const text = await open.text()
    expect([...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual([
      "snapshot",
      "run.started",
      "run.canceled",
    ])
  })

  it("takes no part of a path for a host, and answers what is no request with 400", async () => {
    const { engine } = await makeEngine()
    const port = await listen(toNodeHandler(engine.fetch))
    const exchange = (target: string, method = "GET") =>
      new Promise<string>((resolve) => {
        let answer = ""
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(`${method} ${target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`)
        })
        socket.setEncoding("utf8").on("data", (part: string) => (answer += part))
        socket.on("close", () => resolve(answer))
      })
    expect(await exchange("//evil/api/v1/runs")).toMatch(/^HTTP\/1\.1 404 /)
    expect(await exchange("//api/v1/runs")).toMatch(/^HTTP\/1\.1 404 /)
    expect(await exchange("/healthz", "TRACE")).toMatch(/^HTTP\/1\.1 400 .*"The request is malf/s)
    expect(await exchange("/healthz")).toMatch(/^HTTP\/1\.1 200 /)
  })

  it("answers 503 once the engine is closed", async () => {
    const { engine, secret } = await makeEngine()
    const port = await listen(toNodeHandler(engine.fetch))
    await engine.close()
    const ask = asking(`http://127.0.0.1:${port}`, secret)
    expect((await ask("/api/v1/runs")).status).toBe(503)
  })
})
