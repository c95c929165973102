/**
 * Accounts beside each other, on two servers with one Postgres: whatever one of them has in
 * progress, queued or due, runs of another one start.
 *
 * What is asserted is who comes before whom, not how fast. Slow nodes are calls to a server of this
 * process, which answers when it is told to.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { Server, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { ApiClient } from "../packages/server/test/ApiClient.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"
import { ServerProcess } from "../packages/server/test/ServerProcess.ts"

const token = "operator-token-of-this-suite"

let postgres: PostgresServer
let slow: Server
let servers: Array<ServerProcess> = []
let origins: Array<string> = []
const held = new Set<ServerResponse>()
/** After how many milliseconds a slow call is answered; none: when the test says so. */
let patience: number | undefined

const answer = (response: ServerResponse) => response.end("{}")

beforeAll(async () => {
  postgres = await PostgresServer.create()
  slow = createServer((_, response) => {
    if (patience === undefined) held.add(response)
    else setTimeout(answer, patience, response)
  })
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
})

afterAll(async () => {
  slow.closeAllConnections()
  slow.close()
  await postgres.remove()
})

/** Two servers that execute so many runs at once each. */
const boot = async (runsAtOnce: number) => {
  const env = {
    DATABASE_URL: postgres.url,
    MILLRACE_ADMIN_TOKEN: token,
    MILLRACE_EGRESS_ALLOW: "127.0.0.1/32",
    MILLRACE_REQUEST_TIMEOUT: "30s",
    MILLRACE_LIMIT_RUNS_AT_ONCE: String(runsAtOnce),
  }
  servers = [0, 1].map(() => new ServerProcess(["serve", "--port", "0"], env))
  const ready = servers.map((server) => server.waitFor(/listens on (http:[^" ]+)/))
  origins = (await Promise.all(ready)).map(([, origin = ""]) => origin)
}

afterEach(async () => {
  patience = 0
  for (const response of held) answer(response)
  held.clear()
  await Promise.all(servers.map((server) => server.end("SIGKILL")))
  patience = undefined
})

const admin = async (path: string, body: object) => {
  const response = await fetch(`${origins[0]}/api/admin/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  return (await response.json()) as { readonly id: string; readonly secret: string }
}

interface Account {
  readonly id: string
  /** One client for each server. */
  readonly clients: ReadonlyArray<ApiClient>
}

const newAccount = async (name: string): Promise<Account> => {
  const { id } = await admin("/accounts", { name })
  const limits = { perMinute: 10_000, perDay: 100_000 }
  const { secret } = await admin(`/accounts/${id}/keys`, { label: "one", ...limits })
  return { id, clients: origins.map((origin) => new ApiClient(origin, secret)) }
}

const position = { x: 0, y: 0 }

const call = () => {
  const { port } = slow.address() as AddressInfo
  const inputs = { url: `http://127.0.0.1:${port}/`, timeoutSeconds: 60, method: "POST" }
  return { id: "call", type: "http_request", position, data: { inputs } }
}

const quick = { id: "quick", type: "constant", position, data: { inputs: { value: 1 } } }

/** A short wait that parks the run, and then a call. */
const late = {
  nodes: [
    { id: "wait", type: "delay", position, data: { inputs: { input: 1, for: "3 seconds" } } },
  ],
  edges: [{ id: "edge", source: "wait", target: "call", targetHandle: "body" }],
}

const draw = async ({ clients }: Account, nodes: ReadonlyArray<object>, edges: object = []) =>
  (await clients[0]!.call<{ id: string }>("POST", "/workflows", { name: "One", nodes, edges })).id

/** Starts so many runs, on both servers in turn. */
const startMany = async ({ clients }: Account, workflowId: string, count: number) => {
  const ids: Array<string> = []
  const next = async () => {
    for (;;) {
      const place = ids.length
      if (place >= count) return
      ids.push("")
      ids[place] = await clients[place % clients.length]!.start(workflowId)
    }
  }
  await Promise.all(Array.from({ length: 16 }, next))
  return ids
}

/** How many runs of an account have an owner, and how many open ones have none. */
const countsOf = async ({ id }: Account) => {
  const [row] = await query<{ readonly owned: number; readonly waiting: number }>(
    postgres.url,
    `SELECT count(owner)::int AS owned, count(*) FILTER (WHERE owner IS NULL)::int AS waiting
    FROM open_runs WHERE account_id = $1`,
    [id],
  )
  return row!
}

const until = async (isTrue: () => Promise<boolean>) => {
  while (!(await isTrue())) await sleep(100)
}

describe("two servers on one database", () => {
  it("start one account's runs at once while another one has all it may in progress", async () => {
    await boot(20)
    const [many, few] = [await newAccount("Many"), await newAccount("Few")]
    const slowId = await draw(many, [call()])
    const quickId = await draw(few, [quick])
    await startMany(many, slowId, 150)
    await until(async () => (await countsOf(many)).owned >= 30)
    for (const client of [...few.clients, ...few.clients]) {
      const id = await client.start(quickId)
      const run = await client.runWhen(id, ({ status }) => status === "COMPLETED")
      expect(run.status).toBe("COMPLETED")
      // Born with an owner, and never claimed: there was a slot for it.
      const rows = await query(
        postgres.url,
        "SELECT fencing_token AS fence FROM runs WHERE id = $1",
        [id],
      )
      expect(rows).toEqual([{ fence: 1 }])
    }
    const counts = await countsOf(many)
    // A share, and what starts took while a claim was under way; never all slots.
    expect(counts.owned).toBeGreaterThanOrEqual(30)
    expect(counts.owned).toBeLessThan(40)
    expect(counts.waiting).toBeGreaterThan(0)
  })

  it("run what one account has queued while another one's due runs are more than they can", async () => {
    await boot(4)
    const [many, few] = [await newAccount("Due"), await newAccount("Queued")]
    patience = 100
    const lateId = await draw(many, [...late.nodes, call()], late.edges)
    const slowId = await draw(few, [call()])
    await startMany(many, lateId, 300)
    await until(async () => {
      const [row] = await query<{ readonly due: boolean }>(
        postgres.url,
        `SELECT count(*) > 0 AS due FROM open_runs WHERE account_id = $1 AND owner IS NOT NULL`,
        [many.id],
      )
      return row!.due && (await countsOf(many)).waiting > 200
    })
    const ids = await startMany(few, slowId, 30)
    for (const id of ids) {
      const run = await few.clients[0]!.runWhen(id, ({ status }) => status === "COMPLETED")
      expect(run.status).toBe("COMPLETED")
    }
    expect((await countsOf(many)).waiting).toBeGreaterThan(0)
  })
})
