/**
 * What a killed server leaves behind, and what the next one makes of it.
 */
import type { ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { RunView } from "./ApiClient.ts"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { ready, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()

/** An endpoint that holds every answer until it is asked for it. */
const holding = async () => {
  const waiting: Array<ServerResponse> = []
  const arrivals: Array<(response: ServerResponse) => void> = []
  const server = createServer((_, response) => {
    const arrival = arrivals.shift()
    if (arrival === undefined) waiting.push(response)
    else arrival(response)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    port: (server.address() as AddressInfo).port,
    /** The next request, as what answers it. */
    next: () =>
      new Promise<ServerResponse>((resolve) => {
        const first = waiting.shift()
        if (first === undefined) arrivals.push(resolve)
        else resolve(first)
      }),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const at = (x: number) => ({ x, y: 0 })

const workflowAround = (url: string) => ({
  name: "Patient",
  nodes: [
    { id: "quick", type: "constant", position: at(0), data: { inputs: { value: "done" } } },
    { id: "slow", type: "http_request", position: at(400), data: { inputs: { url } } },
    { id: "both", type: "merge", position: at(800), data: {} },
    { id: "answer", type: "response", position: at(1200), data: {} },
  ],
  edges: [
    { id: "e1", source: "quick", target: "both", targetHandle: "inputs" },
    { id: "e2", source: "slow", sourceHandle: "body", target: "both", targetHandle: "inputs" },
    { id: "e3", source: "both", target: "answer" },
  ],
})

const nodeOf = (run: RunView, id: string) => run.nodeRuns.find(({ nodeId }) => nodeId === id)

describe("dev after kill -9", () => {
  it("finishes the interrupted run, and runs no finished node again", async () => {
    const endpoint = await holding()
    const folder = join(workshop.folder(), "data")
    const args = ["dev", "--port", "0", "--no-seed", "--data", folder]
    const env = { MILLRACE_EGRESS_ALLOW: `127.0.0.1/32:${endpoint.port}` }

    const first = workshop.start(args, env)
    const origin = await ready(first)
    const [secret = ""] = await first.waitFor(/mr_[0-9A-Za-z]{49}/)
    const before = new ApiClient(origin, secret)
    const workflow = workflowAround(`http://127.0.0.1:${endpoint.port}/`)
    const { id } = await before.call<{ id: string }>("POST", "/workflows", workflow)
    const runId = await before.start(id)
    await endpoint.next()
    const interrupted = await before.runWhen(
      runId,
      (run) => nodeOf(run, "quick")?.status === "COMPLETED",
    )
    expect(nodeOf(interrupted, "slow")?.status).toBe("RUNNING")
    expect(await first.end("SIGKILL")).toEqual({ code: null, signal: "SIGKILL" })
    expect(existsSync(join(folder, "lock"))).toBe(true)

    const second = workshop.start(args, env)
    const after = new ApiClient(await ready(second), secret)
    expect(second.stdout).toMatch(/kept: +1 workflow, 1 run; 1 interrupted run will go on$/m)
    const held = await endpoint.next()
    held.setHeader("content-type", "application/json").end('"late"')
    const run = await after.runWhen(runId, hasEnded)
    expect(run.status).toBe("COMPLETED")
    expect(run.context.output).toEqual(["done", "late"])
    expect(nodeOf(run, "quick")).toEqual(nodeOf(interrupted, "quick"))
    expect(await second.end("SIGINT")).toEqual({ code: 0, signal: null })
    endpoint.close()
  })
})
