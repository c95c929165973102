/**
 * Accounts beside each other, on two servers with one Postgres: whatever one of them has in
 * progress, queued or due, runs of another one start.
 *
 * What is asserted is who comes before whom, not how fast. Slow nodes are calls to a server of this
 * process, which answers when it is told to.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
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

// Runs that a test leaves behind would take slots from the next one.
beforeEach(async () => {
  postgres = await PostgresServer.create()
})

beforeAll(async () => {
  slow = createServer((_, response) => {
    if (patience === undefined) held.add(response)
    else setTimeout(answer, patience, response)
  })
  await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
})

afterAll(() => {
  slow.closeAllConnections()
  slow.close()
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
  await postgres.remove()
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

/** Copies a queued run of an account until so many more wait. */
const multiply = async ({ id }: Account, count: number) => {
  const copy = async (table: string, key: string, changes: Record<string, string>) => {
    const columns = await query<{ readonly name: string }>(
      postgres.url,
      `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0
        AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
      [table],
    )
    const names = columns.map(({ name }) => name)
    await query(
      postgres.url,
      `INSERT INTO ${table} (${names.join()}) OVERRIDING SYSTEM VALUE
        SELECT ${names.map((name) => changes[name] ?? `t.${name}`).join()}
        FROM ${table} t CROSS JOIN generate_series(1, ${count}) AS g
        WHERE t.${key} = (SELECT min(run) FROM open_runs
          WHERE account_id = $1 AND state = 'queued' AND run > 0)`,
      [id],
    )
  }
  // No run of the servers has a negative number.
  await copy("runs", "number", { number: "-g", id: "t.id || '_' || g" })
  await copy("open_runs", "run", { run: "-g" })
}

/** The middle, the 95th percentile and the most of some milliseconds, for people. */
const figuresOf = (millis: ReadonlyArray<number>): string => {
  const sorted = millis.toSorted((left, right) => left - right)
  const at = (share: number) => (sorted[Math.ceil(sorted.length * share) - 1] ?? 0).toFixed(1)
  return `${at(0.5)} / ${at(0.95)} / ${at(1)} ms (median / p95 / most of ${sorted.length})`
}

interface QuietStart {
  /** From the request to the start of the first node. */
  readonly millis: number
  readonly hadSlot: boolean
}

/** True for a run for which there was a slot: it is stored as started. No claim is as quick. */
const hasBegunAtOnce = async (id: string) => {
  const [row] = await query<{ readonly isSame: boolean }>(
    postgres.url,
    `SELECT started_at = created_at AS "isSame" FROM runs WHERE id = $1`,
    [id],
  )
  return row!.isSame
}

/**
 * The first run of each of forty accounts, on both servers in turn, each after the end of the one
 * before. A second run of an account may come before its process has given back the slot.
 */
const quietStarts = async (name: string, more: object) => {
  const starts: Array<QuietStart> = []
  for (let place = 0; place < 40; place++) {
    const account = await newAccount(`${name} ${place}`)
    const client = account.clients[place % 2]!
    const body = { workflowId: await draw(account, [quick]), ...more }
    const begun = Date.now()
    const { runId } = await client.call<{ readonly runId: string }>("POST", "/runs", body)
    const run = await client.runWhen(runId, ({ status }) => status === "COMPLETED")
    const millis = Date.parse(run.nodeRuns[0]!.startedAt!) - begun
    starts.push({ millis, hadSlot: await hasBegunAtOnce(runId) })
  }
  return starts
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
    for (const client of few.clients) {
      const id = await client.start(quickId)
      const run = await client.runWhen(id, ({ status }) => status === "COMPLETED")
      expect(run.status).toBe("COMPLETED")
      expect(await hasBegunAtOnce(id)).toBe(true)
    }
    const counts = await countsOf(many)
    // A share, and what starts took while a claim was under way; never all slots.
    expect(counts.owned).toBeGreaterThanOrEqual(30)
    expect(counts.owned).toBeLessThan(40)
    expect(counts.waiting).toBeGreaterThan(0)
  })

  it("start what quiet accounts ask for while others fill all they may, with 100,000 waiting", async () => {
    await boot(20)
    const noisy = [await newAccount("Many"), await newAccount("More")] as const
    for (const each of noisy) await startMany(each, await draw(each, [call()]), 60)
    const busy = async () => {
      const counts = await Promise.all(noisy.map(countsOf))
      return counts.reduce((sum, { owned }) => sum + owned, 0)
    }
    // Two of twenty slots are kept on each server. An account's first run may have one of them.
    await until(async () => (await busy()) >= 36)
    expect(await busy()).toBeLessThanOrEqual(38)
    await multiply(noisy[0], 100_000)
    const plain = await quietStarts("Plain", {})
    for (const { hadSlot } of plain) expect(hadSlot).toBe(true)
    // A run with a key waits for a claim.
    const keyed = await quietStarts("Keyed", { concurrencyKey: "key" })
    for (const { hadSlot } of keyed) expect(hadSlot).toBe(false)
    expect(await busy()).toBeLessThanOrEqual(38)
    expect((await countsOf(noisy[0])).waiting).toBeGreaterThan(100_000)
    const figures = [plain, keyed].map((starts) => figuresOf(starts.map(({ millis }) => millis)))
    console.log(`from POST to the first node: ${figures[0]}; with a key: ${figures[1]}`)
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
