/**
 * The server of the tutorial "From graph editor to production", started as its reader does, with
 * the drawing of that page.
 *
 * Leaves out: its other programs, which `Readme.test.ts` runs; what other frameworks need.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const packageFolder = resolve(import.meta.dirname, "..")
const page = readFileSync(resolve(packageFolder, "../../docs/tutorials/to-production.md"), "utf8")
const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)]
const blockWith = (text: string): string => blocks.find(([, , code]) => code?.includes(text))![2]!

let folder: string
let port: number
let server: ChildProcess

const start = async (): Promise<void> => {
  server = spawn(process.execPath, ["--conditions=@millrace/source", "server.ts"], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: undefined, PORT: String(port) },
    stdio: ["ignore", "pipe", "inherit"],
  })
  await once(server.stdout!, "data")
}

const end = async (signal: NodeJS.Signals): Promise<unknown> => {
  const ended = once(server, "exit")
  server.kill(signal)
  return await ended
}

const call = (customer: string, path: string, body?: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}/automation/api/v1${path}`, {
    headers: { "x-customer": customer, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body }),
  })

/** What the server answers with to a customer, as JSON. */
const read = async <Answer>(...request: Parameters<typeof call>): Promise<Answer> =>
  (await (await call(...request)).json()) as Answer

beforeAll(async () => {
  folder = mkdtempSync(join(packageFolder, ".readme-tutorial-"))
  writeFileSync(join(folder, "server.ts"), blockWith(".listen("))
  const free = createServer().listen(0, "127.0.0.1")
  await once(free, "listening")
  port = (free.address() as AddressInfo).port
  free.close()
  await once(free, "close")
  await start()
}, 30_000)
afterAll(async () => {
  if (server.exitCode === null && server.signalCode === null) await end("SIGKILL")
  rmSync(folder, { recursive: true, force: true })
})

describe("The server of the tutorial", () => {
  it("goes on with a customer's run after kill -9, and shows it to nobody else", async () => {
    const drawing = blockWith('"Reminder"').replace("30 seconds", "2 seconds")
    const { id: workflowId } = await read<{ id: string }>("acme", "/workflows", drawing)
    const body = JSON.stringify({ workflowId, values: { name: "Ada" } })
    const { runId } = await read<{ runId: string }>("acme", "/runs", body)
    await end("SIGKILL")
    await start()

    expect(await (await call("acme", `/runs/${runId}/events`)).text()).toContain("run.completed")
    const run = await read<{ context: unknown }>("acme", `/runs/${runId}`)
    expect(run.context).toMatchObject({ output: "Time to call Ada" })
    expect((await call("globex", `/runs/${runId}`)).status).toBe(404)
    expect((await call("nobody", `/runs/${runId}`)).status).toBe(401)
    expect(await end("SIGTERM")).toEqual([0, null])
  }, 30_000)
})
