/**
 * The default lease: how soon another server takes over from one that was killed, and that none
 * takes over from one that is only busy.
 */
import { spawn } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { serveDefaults } from "../packages/server/src/Config.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { lateMillis } from "../packages/server/test/kill/Late.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

const { leaseMillis } = serveDefaults

/** Processes that compute without a pause, more than there are processors. */
const computing = (count: number) =>
  Array.from({ length: count }, () =>
    spawn(process.execPath, ["-e", "for (;;) {}"], { stdio: "ignore" }),
  )

describe("a server with the default lease", () => {
  it("is followed by another one when it is killed and its lease is over", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2 })
    const { fleet, traffic } = arena
    const workflow = await arena.workflow("flow", 20, 600)
    const runId = await traffic.start(...workflow)
    const { pid } = await arena.begun(0, (each) => each.runId === runId)
    const owner = fleet.seats.find(({ server }) => server.pid === pid)!
    await sleep(300)
    const killed = Date.now()
    owner.server.signal("SIGKILL")
    const before = arena.journal().length
    await arena.begun(before, (each) => each.runId === runId && each.pid !== pid)
    const took = Date.now() - killed
    console.log(`killed: the next server continued after ${took} ms`)
    expect(took).toBeLessThan(leaseMillis + lateMillis)
    await arena.settled()
    expect(await arena.problems()).toEqual([])
  })

  it("keeps its runs while a handler blocks its event loop for three leases", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2 })
    const workflow = await arena.computing("long", 3 * leaseMillis)
    await arena.traffic.start(...workflow)
    await arena.settled()
    const attempts = arena.journal().filter(({ nodeId }) => nodeId === "busy")
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1])
    const runs = await query(arena.postgres.url, "SELECT status FROM runs")
    expect(runs).toEqual([{ status: "COMPLETED" }])
  })

  it("keeps its runs while other processes take all processors for a minute", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2 })
    const { traffic } = arena
    const slow = await arena.line("slow", 3, 20_000)
    const quick = await arena.workflow("quick", 20, 500)
    const others = computing(8)
    try {
      for (let n = 0; n < 10; n++) await traffic.start(...slow)
      await traffic.startMany(100, 45_000, [quick])
      await sleep(15_000)
    } finally {
      for (const each of others) each.kill("SIGKILL")
    }
    await arena.settled(120_000)
    expect(arena.journal().filter(({ attempt }) => attempt > 1)).toEqual([])
    expect(await arena.problems()).toEqual([])
  })
})
