/**
 * An Express application whose own sign-in decides who may use the engine: there are no API keys.
 * The application parses JSON for its own routes before the engine is mounted. The script calls its
 * own server as the browser of a customer would, and ends.
 */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import express from "express"
import { createEngine, toNodeHandler } from "millrace"

/** Who is signed in, by session. Yours are in a database. */
const sessions = new Map([["session-of-ada", "acme"]])

await using engine = await createEngine({
  account: "acme",
  basePath: "/automation",
  authorize: (request) => {
    const account = sessions.get(request.headers.get("x-session") ?? "")
    return account === undefined ? null : { account }
  },
})

const app = express()
app.use(express.json())
app.get("/", (_, response) => void response.send("the application's own page"))
app.use("/automation", toNodeHandler(engine.fetch))
const server = app.listen(0, "127.0.0.1")
await once(server, "listening")
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const call = async (session: string, path: string, body?: unknown): Promise<unknown> => {
  const response = await fetch(`${origin}/automation/api/v1${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { "x-session": session, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  console.log(session, body === undefined ? "GET" : "POST", response.status)
  return await response.json()
}

const position = { x: 0, y: 0 }
const { id: workflowId } = (await call("session-of-ada", "/workflows", {
  name: "Hello",
  nodes: [
    { id: "hi", type: "constant", position, data: { inputs: { value: "{{ values.name }}" } } },
    { id: "answer", type: "response", position },
  ],
  edges: [{ id: "e1", source: "hi", target: "answer" }],
})) as { id: string }
const start = { workflowId, values: { name: "Ada" } }
const { runId } = (await call("session-of-ada", "/runs", start)) as { runId: string }
console.log((await engine.runs.wait(runId)).output)

console.log(await call("no session", `/workflows/${workflowId}`))

server.close()
server.closeAllConnections()
await once(server, "close")
