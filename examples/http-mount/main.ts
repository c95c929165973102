/**
 * An application that serves the HTTP interface of Millrace beside its own pages: everything below
 * `/automation` goes to the engine's handler, the rest stays the application's. The script then
 * calls its own server the way a client would, prints what came back, and ends.
 */
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { createEngine, toNodeHandler } from "millrace"

const prefix = "/automation"

await using engine = await createEngine({ basePath: prefix })

const handle = toNodeHandler(engine.fetch)

const server = createServer((incoming, outgoing) => {
  if (incoming.url?.startsWith(`${prefix}/`) === true) handle(incoming, outgoing)
  else outgoing.end("the application's own page")
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
