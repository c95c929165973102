/**
 * An application that serves the HTTP interface of Millrace beside its own pages: everything below
 * `/automation` goes to `engine.fetch`, the rest stays the application's. The script then calls its
 * own server the way a client would, prints what came back, and ends.
 */
import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createEngine } from "millrace"

const prefix = "/automation"

await using engine = await createEngine({ basePath: prefix })

/** The request as the web standard has it. */
const toRequest = (incoming: IncomingMessage): Request => {
  const { headers, method = "GET", url = "/" } = incoming
  const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
  const init: RequestInit = { method, headers: new Headers(Object.fromEntries(pairs)) }
  const hasBody = method !== "GET" && method !== "HEAD"
  if (hasBody) Object.assign(init, { body: Readable.toWeb(incoming), duplex: "half" })
  return new Request(new URL(url, "http://localhost"), init)
}

const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
  if (!incoming.url?.startsWith(`${prefix}/`)) {
    outgoing.end("the application's own page")
    return
  }
  const response = await engine.fetch(toRequest(incoming))
  outgoing.writeHead(response.status, Object.fromEntries(response.headers))
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body), outgoing)
}

const server = createServer((incoming, outgoing) => {
  answer(incoming, outgoing).catch(() => outgoing.destroy())
})
server.listen(0, "127.0.0.1")
await once(server, "listening")
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const { id: workflowId } = await engine.workflows.create(
  engine
    .workflow("Hello")
    .node("start", "request", { fields: [{ name: "name", type: "string", default: "you" }] })
    .node("greet", "transform", { template: "Hello, {{ values.name }}!" })
    .node("answer", "response")
    .edge("start.values", "greet.input")
    .edge("greet.output", "answer.input"),
)
const { secret } = await engine.keys.create({ label: "example" })

const call = async (path: string, body?: unknown): Promise<Record<string, unknown>> => {
  const response = await fetch(`${origin}${prefix}/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const shown = path.replace(/run_[\w-]+/, "<run>")
  console.log(`${body === undefined ? "GET" : "POST"} ${shown} -> ${response.status}`)
  return (await response.json()) as Record<string, unknown>
}

console.log(await (await fetch(origin)).text())
const { runId } = await call("/runs", { workflowId, values: { name: "Ada" } })
await engine.runs.wait(String(runId))
const { context, status } = await call(`/runs/${String(runId)}`)
console.log(status, (context as { output: unknown }).output)

server.close()
server.closeAllConnections()
await once(server, "close")
