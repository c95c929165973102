/**
 * How work changes hands: from a server that is frozen, from one that was killed, and from one that
 * stops in order.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { lateMillis } from "../packages/server/test/kill/Late.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

const leaseMillis = 2_000
const env = { MILLRACE_LEASE: `${leaseMillis}ms` }

describe("a server that is frozen for three leases", () => {
  it("has its old writes refused, and takes new work again", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 3, env })
    const { fleet, traffic } = arena
    const workflow = await arena.workflow("flow", 20, 500)
    const starting = traffic.startMany(200, 8_000, [workflow])
    await sleep(3_000)
    const frozen = arena.dice.pick(fleet.seats)
    const { pid } = frozen.server
    frozen.server.signal("SIGSTOP")
    const before = arena.journal()
    await sleep(3 * leaseMillis)
    frozen.server.signal("SIGCONT")
    const after = arena.journal().length
    await starting
    await traffic.startMany(30, 3_000, [workflow])
    await arena.settled()
    expect(await arena.problems()).toEqual([])

    // What it was at work on when it was frozen was done by others meanwhile, so what it had to
    // write when it woke up was refused: recorded is what they did.
    const again = new Set(
      arena
        .journal()
        .slice(before.length)
        .filter((each) => each.attempt > 1 && each.pid !== pid)
        .map(({ nodeId, runId }) => `${runId} ${nodeId}`),
    )
    const lost = before.filter(
      (each) => each.pid === pid && again.has(`${each.runId} ${each.nodeId}`),
    )
    expect(lost.length).toBeGreaterThan(0)
    expect(frozen.server.pid).toBe(pid)
    const fresh = arena
      .journal()
      .slice(after)
      .filter((each) => each.pid === pid)
    console.log(`${lost.length} nodes done by others, ${fresh.length} new ones after waking up`)
    expect(fresh.length).toBeGreaterThan(0)
  })
})

describe("a server that ends", () => {
  it("is followed by another one when it is killed and its lease is over", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env })
    const { fleet, traffic } = arena
    const workflow = await arena.workflow("flow", 20, 600)
    for (let round = 0; round < 3; round++) {
      const runId = await traffic.start(...workflow)
      const { pid } = await arena.begun(0, (each) => each.runId === runId)
      const owner = fleet.seats.find(({ server }) => server.pid === pid)!
      await sleep(300)
      const killed = Date.now()
      owner.server.signal("SIGKILL")
      const before = arena.journal().length
      const next = (each: { readonly runId: string; readonly pid: number }) =>
        each.runId === runId && each.pid !== pid
      await arena.begun(before, next)
      const took = Date.now() - killed
      console.log(`killed: the next server continued after ${took} ms`)
      expect(took).toBeLessThan(leaseMillis + lateMillis)
      await fleet.ready()
    }
    await arena.settled()
    expect(await arena.problems()).toEqual([])
  })

  it("is followed by another one long before its lease ends, when it stops in order", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env: { MILLRACE_LEASE: "30s" } })
    const { fleet, traffic } = arena
    const workflow = await arena.workflow("flow", 40, 300)
    for (let round = 0; round < 3; round++) {
      const runId = await traffic.start(...workflow)
      const { pid } = await arena.begun(0, (each) => each.runId === runId)
      const owner = fleet.seats.find(({ server }) => server.pid === pid)!
      await sleep(300)
      const stopped = Date.now()
      const ended = owner.server.end("SIGTERM")
      const before = arena.journal().length
      await arena.begun(before, (each) => each.runId === runId && each.pid !== pid)
      const took = Date.now() - stopped
      console.log(`stopped: the next server continued after ${took} ms`)
      expect(took).toBeLessThan(lateMillis)
      expect(await ended).toEqual({ code: 0, signal: null })
      await fleet.ready()
    }
    await arena.settled()
    expect(await arena.problems()).toEqual([])
    // Nothing was begun twice: what was in progress could finish.
    expect(arena.journal().filter(({ attempt }) => attempt > 1)).toEqual([])
  })

  it("hands a run over although another one keeps it busy", async () => {
    const patient = { MILLRACE_LEASE: "2s", MILLRACE_GRACE: "40s" }
    arena = await Arena.open({ seed: seedOf(), size: 2, env: patient })
    const { fleet, traffic } = arena
    const slow = await arena.line("slow", 3, 15_000)
    const quick = await arena.line("quick", 40, 100)
    const slowId = await traffic.start(...slow)
    const { pid } = await arena.begun(0, (each) => each.runId === slowId)
    const owner = fleet.seats.find(({ server }) => server.pid === pid)!
    let quickId = ""
    for (let found = -1; found !== pid;) {
      quickId = await traffic.start(...quick)
      found = (await arena.begun(0, (each) => each.runId === quickId)).pid
    }
    const stopped = Date.now()
    const ended = owner.server.end("SIGTERM")
    const before = arena.journal().length
    await arena.begun(before, (each) => each.runId === quickId && each.pid !== pid)
    const took = Date.now() - stopped
    console.log(`stopped while busy: the next server continued after ${took} ms`)
    expect(took).toBeLessThan(lateMillis)
    expect(await ended).toEqual({ code: 0, signal: null })
    await arena.settled()
    expect(await arena.problems()).toEqual([])
    // The slow node could finish within the grace time, although that is longer than the lease.
    const attempts = arena.journal().filter(({ runId }) => runId === slowId)
    expect(attempts.map(({ attempt }) => attempt)).toEqual([1, 1])
  })
})
