// Starts a receiver, a server beside it, and a run whose events the receiver is to hear.
import { spawn } from "node:child_process"
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import type { Payload } from "./receiver.ts"
import { makeReceiver } from "./receiver.ts"

let secret = ""
const events: Array<Payload> = []
let arrived: () => void = () => undefined
const all = new Promise<void>((resolve) => (arrived = resolve))
const receiver = makeReceiver(
  () => secret,
  (payload) => {
    events.push(payload)
    if (events.length === 4) arrived()
  },
)
receiver.listen(0, "127.0.0.1")
await once(receiver, "listening")
const { port } = receiver.address() as AddressInfo
const url = `http://127.0.0.1:${port}/hook`

// A server for development. It calls no private address, unless it is told that it may.
const token = "an-operator-token-for-this-example"
const main = fileURLToPath(import.meta.resolve("@millrace/server/main"))
const server = spawn(
  process.execPath,
  ["--conditions=@millrace/source", main, "dev", "--memory", "--no-seed", "--port", "0"],
  {
    env: {
      PATH: process.env["PATH"],
      NO_COLOR: "1",
      MILLRACE_ADMIN_TOKEN: token,
      MILLRACE_EGRESS_ALLOW: `127.0.0.1/32:${port}`,
    },
    stdio: ["ignore", "pipe", "inherit"],
  },
)
const origin = await new Promise<string>((resolve) => {
  let printed = ""
  server.stdout.on("data", (text: Buffer) => {
    printed += text.toString()
    const [, found] = /API +(http:\S+)\/api\/v1/.exec(printed) ?? []
    if (found !== undefined && printed.includes("Ctrl-C")) resolve(found)
  })
})

const call = async <A>(path: string, bearer: string, body?: object): Promise<A> => {
  const response = await fetch(`${origin}/api${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()) as A
}

interface Items<A> {
  readonly items: ReadonlyArray<A>
}

// What an operator does once: hand out a key, and the secret that deliveries are signed with.
const accounts = await call<Items<{ id: string }>>("/admin/v1/accounts", token)
const account = `/admin/v1/accounts/${accounts.items[0]!.id}`
const key = await call<{ secret: string }>(`${account}/keys`, token, { label: "example" })
const secrets = await call<Items<{ secret: string }>>(`${account}/webhook-secrets`, token)
secret = secrets.items[0]!.secret

// What a client does: start a run and say where its events are to go.
const position = { x: 0, y: 0 }
const workflow = await call<{ id: string }>("/v1/workflows", key.secret, {
  name: "Greeting",
  nodes: [
    { id: "hello", type: "constant", position, data: { inputs: { value: "Hello" } } },
    { id: "answer", type: "response", position },
  ],
  edges: [{ id: "e", source: "hello", target: "answer" }],
})
const webhook = { url, metadata: { order: 7 } }
await call("/v1/runs", key.secret, { workflowId: workflow.id, webhook })
await all

// Deliveries may overtake each other; their numbers tell the order.
for (const { data, metadata, type } of events.toSorted(
  (a, b) => a.data.sequence - b.data.sequence,
)) {
  console.log(`${data.sequence} ${type} ${JSON.stringify(metadata)}`)
}

// What somebody does who does not know the secret.
const headers = { "webhook-id": "msg_1", "webhook-timestamp": "0", "webhook-signature": "v1,x" }
const forged = await fetch(url, { method: "POST", headers, body: "{}" })
console.log(`a forged request is answered with ${forged.status}`)

server.kill("SIGINT")
await once(server, "close")
receiver.close()
receiver.closeAllConnections()
