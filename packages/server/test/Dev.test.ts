/**
 * `millrace dev` as a person meets it: the command itself, in a process of its own.
 */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { RunView } from "./ApiClient.ts"
import { ApiClient, hasEnded } from "./ApiClient.ts"
import { expectedOf, orders } from "./OrderFile.ts"
import type { ServerProcess } from "./ServerProcess.ts"
import { ready, Workshop } from "./ServerProcess.ts"

const workshop = new Workshop()

interface Page<A> {
  readonly items: ReadonlyArray<A>
}
interface Named {
  readonly id: string
  readonly name: string
}

const secretPattern = /\bmr_[0-9A-Za-z]{49}\b/g

/** Does what a pasted `curl` line does. */
const pasted = (line: string): Promise<Response> => {
  const url = /(http:\S+)$/.exec(line)?.[1] ?? ""
  const headers = [...line.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(
    ([, name = "", value = ""]) => [name, value] as [string, string],
  )
  const body = / -d '([^']+)'/.exec(line)?.[1]
  return fetch(url, body === undefined ? { headers } : { method: "POST", headers, body })
}

const curlsOf = (server: ServerProcess): ReadonlyArray<string> =>
  server.stdout.split("\n").filter((line) => line.trim().startsWith("curl "))

// The steps of one story: each goes on in the folder that the one before it left.
describe("dev with a folder", () => {
  const folder = join(workshop.folder(), "data")
  const args = ["dev", "--port", "0", "--data", folder]
  let server: ServerProcess
  let client: ApiClient
  let secret = ""
  let origin = ""

  const digestId = async () => {
    const { items } = await client.call<Page<Named>>("GET", "/workflows")
    return items.find(({ name }) => name === "Order digest")?.id ?? ""
  }

  it("shows the order digest node by node, and its result, on the first start", async () => {
    server = workshop.start(args)
    origin = await ready(server)
    const nodeLines = server.stdout
      .split("\n")
      .filter((line) => /COMPLETED +[\d.]+ m?s$/.test(line))
    expect(nodeLines.map((line) => line.trim().split(" ")[0])).toEqual([
      "request",
      "fetch",
      "paid",
      "countries",
      "total",
      "is_good_day",
      "good_day",
      "parts",
      "digest",
      "response",
    ])
    expect(server.stdout).toMatch(/slow_day +transform +– SKIPPED /)
    expect(server.stdout).toMatch(/Order digest: COMPLETED in [\d.]+ m?s/)
    const { orders: paid, total } = expectedOf(orders)
    expect(server.stdout).toContain(`A good day: ${total} euro from ${paid} paid orders`)
    expect(server.stderr).toBe("")
  })

  it("prints a link first, which signs in as the owner, and makes more of them", async () => {
    const signIn = async (link: string) => {
      const [, ticket] = /^http:\/\/[\d.:]+\/dashboard\/login#t=(mrt_\w{49})$/.exec(link) ?? []
      const response = await fetch(`${origin}/api/console/v1/sign-in`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ticket }),
      })
      const body = (await response.json()) as { readonly role?: string }
      return [response.status, body.role]
    }
    const link = server.stdout.split("\n")[0]!.trim()
    expect(await signIn(link)).toEqual([200, "owner"])
    expect(await signIn(link)).toEqual([401, undefined])
    const [, token = ""] = await server.waitFor(/token until it stops: (\w+)/)
    const open = ["open", "--url", origin, "--admin-token", token]
    const command = workshop.start(open)
    expect(await command.ended).toEqual({ code: 0, signal: null })
    expect(await signIn(command.stdout.trim())).toEqual([200, "operator"])
    const ofAccount = workshop.start([...open, "--account", "default"])
    expect(await ofAccount.ended).toEqual({ code: 0, signal: null })
    expect(await signIn(ofAccount.stdout.trim())).toEqual([200, "owner"])
  })

  it("prints a key on the first start, and requests that work as they are printed", async () => {
    const printed = new Set(server.stdout.match(secretPattern))
    expect(printed.size).toBe(1)
    secret = [...printed].join("")
    client = new ApiClient(origin, secret)
    const [list = "", start = ""] = curlsOf(server)
    const listed = await pasted(list)
    expect(listed.status).toBe(200)
    const { items } = (await listed.json()) as Page<RunView>
    expect(items.map((run) => [run.workflowName, run.status])).toEqual([
      ["Order digest", "COMPLETED"],
    ])
    const started = await pasted(start)
    expect(started.status).toBe(201)
    const { runId } = (await started.json()) as { readonly runId: string }
    const run = await client.runWhen(runId, hasEnded)
    expect(run.context.output).toBe("Hello, world!")
  })

  it("gives the API the same digest that it shows", async () => {
    const { items } = await client.call<Page<RunView>>("GET", "/runs?search=Order")
    const run = await client.call<RunView>("GET", `/runs/${items[0]?.id}`)
    expect(run.context.output).toMatchObject(expectedOf(orders))
  })

  it("answers for health and documents without a key", async () => {
    const paths = ["/healthz", "/readyz", "/api/openapi.json", "/api/docs", "/demo/orders.json"]
    const statuses = await Promise.all(
      paths.map(async (path) => {
        const response = await fetch(origin + path)
        await response.arrayBuffer()
        return response.status
      }),
    )
    expect(statuses).toEqual(paths.map(() => 200))
    expect((await fetch(`${origin}/api/v1/runs`)).status).toBe(401)
  })

  it("refuses a second server on the same folder, in one line that names the first", async () => {
    const second = workshop.start(args)
    expect(await second.ended).toEqual({ code: 1, signal: null })
    expect(second.stdout).toBe("")
    expect(second.stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(new RegExp(`${folder} is in use by process ${server.pid}\\b`)),
    ])
    expect((await fetch(`${origin}/healthz`)).status).toBe(200)
  })

  it("refuses a busy port in one line, and touches no folder", async () => {
    const { port } = new URL(origin)
    const untouched = join(workshop.folder(), "data")
    const second = workshop.start(["dev", "--port", port, "--data", untouched])
    expect(await second.ended).toEqual({ code: 1, signal: null })
    expect(second.stdout).toBe("")
    expect(second.stderr).toBe(`Port ${port} is in use; choose another with --port\n`)
    expect(existsSync(untouched)).toBe(false)
  })

  it("stops cleanly on Ctrl-C: code 0, one line, no lock left", async () => {
    const before = server.stdout
    expect(await server.end("SIGINT")).toEqual({ code: 0, signal: null })
    expect(server.stdout).toBe(`${before}stopped\n`)
    expect(server.stderr).toBe("")
    const names = [".gitignore", "database", "master.key", "millrace.json"]
    expect(readdirSync(folder).toSorted()).toEqual(names)
  })

  it("keeps everything when it starts again, and prints no key", async () => {
    server = workshop.start(args)
    origin = await ready(server)
    expect(server.stdout).toMatch(/kept: +3 workflows, 2 runs$/m)
    expect(server.stdout).not.toMatch(secretPattern)
    expect(server.stdout).not.toContain("COMPLETED")
    const [health = ""] = curlsOf(server)
    expect((await pasted(health)).status).toBe(200)
    client = new ApiClient(origin, secret)
    const { items } = await client.call<Page<RunView>>("GET", "/runs")
    expect(items.map((run) => [run.workflowName, run.status])).toEqual([
      ["Hello", "COMPLETED"],
      ["Order digest", "COMPLETED"],
    ])
  })

  it("says how to make another key, with a command that works as it is printed", async () => {
    const [, line = ""] = await server.waitFor(/^ +npx millrace (keys create .+)$/m)
    const command = workshop.start(line.split(" "))
    expect(await command.ended).toEqual({ code: 0, signal: null })
    const another = new ApiClient(origin, command.stdout.trimEnd())
    expect((await another.call<Page<RunView>>("GET", "/runs")).items).toHaveLength(2)
  })

  it("still finds the orders after a restart on another port", async () => {
    const run = await client.runWhen(await client.start(await digestId()), hasEnded)
    expect(run.error).toBeNull()
    expect(run.context.output).toMatchObject(expectedOf(orders))
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null })
  })
})

describe("dev in memory", () => {
  it("makes no examples with --no-seed, but a key, without which nobody could use it", async () => {
    const server = workshop.start(["dev", "--memory", "--no-seed", "--port", "0"])
    const origin = await ready(server)
    expect(server.stdout).not.toContain("Order digest")
    const [list = "", ...more] = curlsOf(server)
    expect(more).toEqual([])
    expect(await (await pasted(list)).json()).toEqual({ items: [], nextCursor: null })
    const [secret = ""] = server.stdout.match(secretPattern) ?? []
    const client = new ApiClient(origin, secret)
    expect((await client.call<Page<Named>>("GET", "/workflows")).items).toEqual([])
    expect(await server.end("SIGINT")).toEqual({ code: 0, signal: null })
  })

  it("obeys limits that variables set, and refuses one that it does not know", async () => {
    const args = ["dev", "--memory", "--no-seed", "--port", "0"]
    const server = workshop.start(args, { MILLRACE_LIMIT_BODY_BYTES: "100" })
    const origin = await ready(server)
    const [authorization = ""] = server.stdout.match(secretPattern) ?? []
    const response = await fetch(`${origin}/api/v1/workflows`, {
      method: "POST",
      headers: { authorization: `Bearer ${authorization}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "x".repeat(100), nodes: [], edges: [] }),
    })
    expect(response.status).toBe(413)
    const misspelt = workshop.start(args, { MILLRACE_LIMIT_BODY_BYTE: "100" })
    expect((await misspelt.ended).code).toBe(2)
    expect(misspelt.stderr).toContain("did you mean MILLRACE_LIMIT_BODY_BYTES?")
  })

  it("begins anew every time", async () => {
    const folder = workshop.folder()
    const env = { MILLRACE_DATA: folder, MILLRACE_PROT: "1" }
    const server = workshop.start(["dev", "--memory", "--port=0"], env)
    await ready(server)
    expect(server.stdout).toMatch(/Order digest: COMPLETED/)
    expect(server.stdout).toMatch(secretPattern)
    expect(readdirSync(folder)).toEqual([])
    expect(server.stderr).toBe(
      "MILLRACE_PROT is not read by anything; did you mean MILLRACE_PORT?\n",
    )
  })
})
