// Starts over HTTP without an engine: fastify, without keys or limits, adds a job for each request
// to graphile-worker in bulk, in the same process, which also executes it. The server stays, and
// stays warm.
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
const launch = async (url) => {
  const file = fileURLToPath(import.meta.url)
  const server = spawn(process.execPath, [file, url], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  })
  const origin = await new Promise((resolve, reject) => {
    server.once("message", (message) => resolve(String(message)))
    server.once("exit", () => reject(new Error("The server ended")))
  })
  return { server, origin }
}

/** @type {ReturnType<typeof launch> | undefined} */
let running

/** @param {string} url */
const open = async (url) => {
  const { origin, server } = await (running ??= launch(url))
  const asks = [{ path: "/runs", body: JSON.stringify({ workflowId: "single" }) }]
  const hasEnded = async () => (await (await fetch(`${origin}/idle`)).json()).idle
  return {
    engine: [server.pid ?? 0],
    measure: (/** @type {unknown} */ _, /** @type {number} */ millis) =>
      post(origin, asks, millis, hasEnded),
    close: () => Promise.resolve(),
  }
}

/** Lets the server close what it has opened. */
const end = async () => {
  if (running === undefined) return
  const { server } = await running
  const ended = new Promise((resolve) => server.once("exit", resolve))
  server.disconnect()
  await ended
}

const url = process.argv[2]
if (url === undefined) offer(open, end)
else await serve(url)
