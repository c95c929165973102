// Starts over HTTP without an engine: fastify, without keys or limits, adds a job for each request
// to graphile-worker in bulk, in the same process, which also executes it.
//
// With an address as its argument it is that server, otherwise the contestant that calls it.
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import Fastify from "fastify"
import { offer } from "../contest/Contestant.ts"
import { post } from "../contest/Posts.ts"
import { openGraphile } from "./Graphile.mjs"

/** @param {string} url */
const serve = async (url) => {
  const { close, runs, start } = await openGraphile(url, "bulk")
  const app = Fastify()
  app.post("/runs", async (_, reply) => {
    await start("single")
    return reply.code(201).send({ status: "QUEUED" })
  })
  app.get("/idle", () => ({ idle: runs.isIdle }))
  const origin = await app.listen({ host: "127.0.0.1", port: 0 })
  process.send?.(origin)
  process.on("disconnect", () => {
    void app
      .close()
      .then(close)
      .then(() => process.exit())
  })
}

/** @param {string} url */
const open = async (url) => {
  const file = fileURLToPath(import.meta.url)
  const server = spawn(process.execPath, [file, url], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  })
  const ended = new Promise((resolve) => server.once("exit", resolve))
  const origin = await new Promise((resolve, reject) => {
    server.once("message", (message) => resolve(String(message)))
    server.once("exit", () => reject(new Error("The server ended")))
  })
  const asks = [{ path: "/runs", body: JSON.stringify({ workflowId: "single" }) }]
  const hasEnded = async () => (await (await fetch(`${origin}/idle`)).json()).idle
  return {
    engine: [server.pid ?? 0],
    measure: (/** @type {unknown} */ _, /** @type {number} */ millis) =>
      post(origin, asks, millis, hasEnded),
    close: async () => {
      server.disconnect()
      await ended
    },
  }
}

const url = process.argv[2]
if (url === undefined) offer(open)
else await serve(url)
