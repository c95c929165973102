/**
 * Limits, keys and revocation over several server processes on one Postgres: exact, whatever
 * arrives when.
 *
 * The database's clock is one that the tests move, so that a window ends when it is to end.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import * as Clock from "../packages/postgres/test/TestClock.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import type { Reply } from "../packages/server/test/Load.ts"
import { load } from "../packages/server/test/Load.ts"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"
import { ServerProcess } from "../packages/server/test/ServerProcess.ts"

vi.setConfig({ testTimeout: 900_000, hookTimeout: 120_000 })

const token = "operator-token-of-this-suite"
const servers: Array<ServerProcess> = []
const origins: Array<string> = []
let postgres: PostgresServer

beforeAll(async () => {
  postgres = await PostgresServer.create()
  for (const statement of Clock.statements) await query(postgres.url, statement)
  const env = {
    DATABASE_URL: Clock.withClock(postgres.url),
    MILLRACE_ADMIN_TOKEN: token,
    // A busy machine is no reason to give a request up here.
    MILLRACE_REQUEST_TIMEOUT: "30s",
  }
  for (let index = 0; index < 4; index++) {
    servers.push(new ServerProcess(["serve", "--port", "0"], env))
  }
  for (const server of servers) {
    const [, origin = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
    origins.push(origin)
  }
})

afterAll(async () => {
  await Promise.all(servers.map((server) => server.end("SIGKILL")))
  await postgres.remove()
})

/** A call of an operator to one of the servers. */
const admin = async (index: number, method: string, path: string, body?: object) => {
  const response = await fetch(`${origins[index % origins.length]}/api/admin/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

const newAccount = async (): Promise<string> =>
  (await admin(0, "POST", "/accounts", { name: "Limits" })).body["id"] ?? ""

/** A key of an account of its own. */
const newKey = async (perMinute: number) => {
  const path = `/accounts/${await newAccount()}/keys`
  const { body } = await admin(0, "POST", path, { label: "one", perMinute, perDay: 100_000 })
  return { path, id: body["id"] ?? "", secret: body["secret"] ?? "" }
}

const path = "/api/v1/workflows/wf_none"

/** How many requests each window was offered, and how many of them it admitted. */
const tally = (replies: ReadonlyArray<Reply>) => {
  const windows = new Map<string, { offered: number; admitted: number }>()
  for (const { headers, status } of replies) {
    expect([404, 429]).toContain(status)
    const reset = headers.get("x-ratelimit-reset") ?? ""
    const window = windows.get(reset) ?? { offered: 0, admitted: 0 }
    window.offered += 1
    if (status === 404) window.admitted += 1
    windows.set(reset, window)
  }
  return [...windows.values()]
}

describe("four servers on one database", () => {
  for (const limit of [1, 60, 1_000, 10_000]) {
    for (const times of limit === 10_000 ? [2] : [2, 10]) {
      it(`admit exactly ${limit} a minute of ${times} times as many, for two`, async () => {
        const { secret } = await newKey(limit)
        await query(postgres.url, Clock.moveToMinute)
        const count = 2 * limit * times
        let moved: Promise<unknown> = Promise.resolve()
        const replies = await load({
          origins,
          asks: [{ path, secret }],
          count,
          // Some are answered before the clock is moved, however few there are.
          connections: Math.min(64, count / 4),
          onSend: (number) => {
            if (number === count / 2) moved = query(postgres.url, Clock.moveBy(60_000))
          },
        })
        await moved
        // One more after the clock was moved for certain, where all others were faster.
        const last = await load({ origins, asks: [{ path, secret }], count: 4, connections: 4 })
        const windows = tally([...replies, ...last])
        console.log(`limit ${limit}, ${times} times: ${JSON.stringify(windows)}`)
        expect(windows.length).toBeGreaterThanOrEqual(2)
        expect(windows.reduce((sum, { offered }) => sum + offered, 0)).toBe(count + 4)
        for (const { admitted, offered } of windows) expect(admitted).toBe(Math.min(limit, offered))
        expect(windows.some(({ admitted }) => admitted === limit)).toBe(true)
      })
    }
  }

  it("write nothing for a flood of refused requests", async () => {
    const { secret } = await newKey(1)
    await query(postgres.url, Clock.moveToMinute)
    await load({ origins, asks: [{ path, secret }], count: 8, connections: 4 })
    const row = "SELECT ctid::text, xmin::text, xmax::text FROM key_usage ORDER BY used_at DESC"
    const before = await query(postgres.url, row)
    const begun = performance.now()
    const replies = await load({
      origins,
      asks: [{ path, secret }],
      count: 20_000,
      connections: 64,
    })
    const perSecond = Math.round((20_000 * 1_000) / (performance.now() - begun))
    console.log(`${perSecond} refused requests a second`)
    const windows = tally(replies)
    for (const { admitted } of windows) expect(admitted).toBeLessThanOrEqual(1)
    // Where the minute ended meanwhile, one more was admitted and written.
    const after = await query(postgres.url, row)
    expect(windows.length > 1 ? before : after).toEqual(before)
  })

  it("make exactly ten of fifty keys that are asked for at once", async () => {
    for (let round = 0; round < 5; round++) {
      const keys = `/accounts/${await newAccount()}/keys`
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, n) => admin(n, "POST", keys, { label: `label ${n}` })),
      )
      const statuses = answers.map(({ status }) => status)
      expect(statuses.filter((status) => status === 201)).toHaveLength(10)
      expect(statuses.filter((status) => status === 409)).toHaveLength(40)
      const { body } = await admin(0, "GET", keys)
      expect(body["items"]).toHaveLength(10)
    }
  })

  it("make one of fifty keys of one label", async () => {
    const keys = `/accounts/${await newAccount()}/keys`
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        admin(n, "POST", keys, { label: n % 2 === 0 ? "Same" : "sAME" }),
      ),
    )
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  })
})

describe("three servers under many requests a second", () => {
  it("accept a key no more once its revocation was answered", async () => {
    for (let round = 0; round < 3; round++) {
      const { id, path: keys, secret } = await newKey(10_000)
      let isOver = false
      const flow = load({
        origins: origins.slice(0, 3),
        asks: [{ path, secret }],
        count: 1_000_000,
        connections: 48,
        perSecond: 1_200,
        isOver: () => isOver,
      })
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      const { status } = await admin(3, "POST", `${keys}/${id}/revoke`)
      const revokedAt = performance.now()
      expect(status).toBe(200)
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      isOver = true
      const replies = await flow
      const before = replies.filter(({ sentAt }) => sentAt <= revokedAt)
      const after = replies.filter(({ sentAt }) => sentAt > revokedAt)
      const millis = revokedAt - Math.min(...before.map(({ sentAt }) => sentAt))
      console.log(`${Math.round((before.length * 1_000) / millis)} requests a second before`)
      expect(before.length).toBeGreaterThan(20)
      expect(before.some((reply) => reply.status === 404)).toBe(true)
      expect(after.length).toBeGreaterThan(20)
      // Beyond its budget an address is told to wait, which is no less of a refusal.
      const accepted = after.filter((reply) => reply.status !== 401 && reply.status !== 429)
      expect(accepted).toEqual([])
    }
  })
})
