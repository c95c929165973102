// Starts a server with the node types of ./nodes/index.ts, and runs a workflow that uses one.
import { createClient } from "millrace/client"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

// In a project of your own: npx millrace dev --nodes ./nodes/index.ts
const main = fileURLToPath(import.meta.resolve("@millrace/server/main"))
const options = ["--memory", "--no-seed", "--port", "0", "--nodes", "./nodes/index.ts"]
const server = spawn(process.execPath, ["--conditions=@millrace/source", main, "dev", ...options], {
  cwd: import.meta.dirname,
  env: { PATH: process.env["PATH"], NO_COLOR: "1" },
  stdio: ["ignore", "pipe", "inherit"],
})
const banner = await new Promise<string>((resolve) => {
  let printed = ""
  server.stdout.on("data", (text: Buffer) => {
    printed += text.toString()
    if (printed.includes("Ctrl-C")) resolve(printed)
  })
})
const [, url = ""] = /API +(http:\S+)\/api\/v1/.exec(banner) ?? []
const [apiKey = ""] = /\bmr_\w+/.exec(banner) ?? []

const client = createClient({ url, apiKey })
const types = await client.nodeTypes.list()
const own = types.find(({ key }) => key === "shop.price")
console.log(`${own?.key} ${own?.version}, from ${own?.origin}: ${own?.description}`)

const position = { x: 0, y: 0 }
const { id: workflowId } = await client.workflows.create({
  name: "Price",
  nodes: [
    {
      id: "price",
      type: "shop.price",
      position,
      data: { inputs: { quantity: 3, price: 9.9, country: "DE" } },
    },
    { id: "answer", type: "response", position: { x: 360, y: 0 } },
  ],
  edges: [{ id: "e1", source: "price", sourceHandle: "total", target: "answer" }],
})
const run = await client.runs.start({ workflowId })
const { output, status } = await run.wait({ timeout: "10 seconds" })
console.log(`${status}: ${JSON.stringify(output)}`)

server.kill("SIGTERM")
await once(server, "close")
