/**
 * Three servers are restarted one after another under load, as a rollout does it: clients that go
 * to another server only where a connection is refused notice nothing.
 *
 * A connection that is made in the very moment in which a server stops listening is reset by the
 * system (decision 0061). It is rare, so one is allowed. That the server takes care not to cause
 * more is tested with its listener; here, without that, only one restart in twenty has a reset.
 *
 * `ROLLING_RESTARTS` says how many restarts (6 by default), `ROLLING_PER_SECOND` how many requests
 * a second (50 by default), `ROLLING_STOP_MILLIS` how long the longest stop may take. On a machine
 * of its own 18 restarts, 100 requests and 2,000 ms must hold.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { createKey } from "../packages/server/test/kill/Arena.ts"
import { Balancer } from "../packages/server/test/kill/Balancer.ts"
import { countOpen } from "../packages/server/test/kill/Evidence.ts"
import { Fleet } from "../packages/server/test/kill/Fleet.ts"
import { lateMillis } from "../packages/server/test/kill/Late.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import { ApiClient } from "../packages/server/test/ApiClient.ts"
import { freePort, PostgresServer } from "../packages/postgres/test/PostgresServer.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 })

const restarts = Number(process.env["ROLLING_RESTARTS"] ?? 6)

const stopMillis = Number(process.env["ROLLING_STOP_MILLIS"] ?? lateMillis)

const perSecond = Number(process.env["ROLLING_PER_SECOND"] ?? 50)

let postgres: PostgresServer
let fleet: Fleet
let balancer: Balancer
let folder = ""
let secret = ""
beforeAll(async () => {
  postgres = await PostgresServer.create()
  folder = mkdtempSync(join(tmpdir(), "millrace-rolling-"))
  secret = await createKey(postgres.url)
  const ports = [await freePort(), await freePort(), await freePort()]
  // However slow the machine is, it is not what is tried here.
  const env = { MILLRACE_REQUEST_TIMEOUT: "1m" }
  fleet = new Fleet({ url: postgres.url, journal: join(folder, "journal"), size: 3, ports, env })
  balancer = new Balancer(ports, secret)
  await fleet.ready()
})
afterAll(async () => {
  balancer.close()
  await fleet.clear()
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** Stops a server, and waits until the one in its place has worked for a while. */
const restart = async (index: number): Promise<number> => {
  const begun = performance.now()
  const { code, signal } = await fleet.seats[index]!.restart()
  const millis = performance.now() - begun
  expect({ code, signal }).toEqual({ code: 0, signal: null })
  await fleet.ready()
  await sleep(1_000)
  return millis
}

const statuses = "SELECT status, count(*)::int AS count FROM runs GROUP BY 1"

describe(`three servers that are restarted in turn, ${restarts} times, under load`, () => {
  it("break at most one new connection, answer every request with 2xx, stop quickly", async () => {
    const client = new ApiClient(fleet.origins()[0]!, secret)
    const { id } = await client.call<{ id: string }>("POST", "/workflows", {
      name: "One",
      nodes: [
        { id: "one", type: "constant", position: { x: 0, y: 0 }, data: { inputs: { value: 1 } } },
      ],
      edges: [],
    })
    let isOver = false
    const loading = balancer.load(perSecond, id, () => isOver)
    const stops: Array<number> = []
    try {
      for (let index = 0; index < restarts; index++) stops.push(await restart(index % 3))
    } finally {
      isOver = true
      await loading
    }
    const seconds = stops.toSorted((a, b) => a - b).map((millis) => (millis / 1_000).toFixed(2))
    const { answers, faults, resets } = balancer
    console.log(`${answers} answers, ${resets} resets; stops took ${seconds.join(", ")} s`)
    expect(faults).toEqual([])
    expect(resets).toBeLessThanOrEqual(1)
    expect(Math.max(...stops)).toBeLessThan(stopMillis)
    await vi.waitUntil(async () => (await countOpen(postgres.url)) === 0, { timeout: 60_000 })
    const count = new Set(balancer.started).size
    expect(await query(postgres.url, statuses)).toEqual([{ status: "COMPLETED", count }])
  })
})
