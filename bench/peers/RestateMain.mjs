// Restate: a server with a log of its own, which calls the handlers of this process over HTTP/2.
//
// Does less than an engine: the graph is the function, so users cannot draw one.
import * as restate from "@restatedev/restate-sdk"
import { connect, SendOpts } from "@restatedev/restate-sdk-clients"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer } from "node:http2"
import { createServer as createProbe } from "node:net"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { measuring, offer, payload } from "../contest/Contestant.ts"

const binary = () =>
  createRequire(import.meta.url).resolve(
    `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
  )

const freePort = () =>
  new Promise((resolve) => {
    const server = createProbe().listen(0, "127.0.0.1", () => {
      const address = /** @type {import("node:net").AddressInfo} */ (server.address())
      server.close(() => resolve(address.port))
    })
  })

/** @param {import("@restatedev/restate-sdk").Context} ctx */
const step = (ctx, /** @type {string} */ name) => ctx.run(name, async () => payload)

const service = restate.service({
  name: "bench",
  handlers: {
    single: (ctx) => step(ctx, "0"),
    chain: async (ctx) => {
      for (let index = 0; index < 10; index++) await step(ctx, `${index}`)
      return payload
    },
    fan: async (ctx) => {
      await step(ctx, "first")
      const all = Array.from({ length: 50 }, (_, index) => step(ctx, `m${index}`))
      await restate.RestatePromise.all(all)
      return step(ctx, "last")
    },
  },
})

/** Asks until it is answered well. */
const until = async (/** @type {() => Promise<Response>} */ ask) => {
  for (let attempt = 0; attempt < 200; attempt++) {
    const response = await ask().catch(() => undefined)
    if (response?.ok === true) return
    await sleep(100)
  }
  throw new Error("The server did not become ready")
}

const open = async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-restate-"))
  const [ingress, admin, fabric] = await Promise.all([1, 2, 3].map(freePort))
  const handlers = createServer(
    restate.createEndpointHandler({ services: [service], logger: () => undefined }),
  )
  await new Promise((resolve) => handlers.listen(0, "127.0.0.1", () => resolve(undefined)))
  const address = /** @type {import("node:net").AddressInfo} */ (handlers.address())
  const server = spawn(binary(), ["--base-dir", folder, "--bind-address", `127.0.0.1:${fabric}`], {
    stdio: "ignore",
    env: {
      PATH: process.env["PATH"],
      RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
      RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
      RESTATE_LOG_FILTER: "error",
      DO_NOT_TRACK: "1",
    },
  })
  const gone = new Promise((resolve) => server.once("exit", resolve))
  await until(() => fetch(`http://127.0.0.1:${admin}/health`))
  await until(() =>
    fetch(`http://127.0.0.1:${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri: `http://127.0.0.1:${address.port}` }),
    }),
  )
  const client = connect({ url: `http://127.0.0.1:${ingress}` })
  /** @typedef {"single" | "chain" | "fan"} Name */
  const caller = client.serviceClient(service)
  const sender = client.serviceSendClient(service)
  const call = async (/** @type {string} */ graph) => ({
    ended: caller[/** @type {Name} */ (graph)](),
  })
  // A run that is only accepted needs a key, so that somebody can ask for its result.
  const send = async (/** @type {string} */ graph) => {
    const options = SendOpts.from({ idempotencyKey: randomUUID() })
    const accepted = await sender[/** @type {Name} */ (graph)](options)
    return { ended: client.result(accepted) }
  }
  return {
    store: [server.pid ?? 0],
    measure: (workload, millis) => measuring(workload === "W4" ? send : call)(workload, millis),
    close: async () => {
      server.kill()
      await gone
      handlers.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

offer(open)
