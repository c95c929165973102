/**
 * Two servers on one database, one of which is killed now and then: a small part of what the long
 * suite does, in a few seconds.
 */
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "./kill/Arena.ts"
import { seedOf } from "./kill/Dice.ts"
import { lateMillis } from "./kill/Late.ts"
import { disrupt } from "./kill/Disruptions.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

describe("two servers on one database", () => {
  it("execute every run once, though they are killed and the database restarts", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env: { MILLRACE_LEASE: "1s" } })
    const { dice, fleet, postgres, traffic } = arena
    const workflow = await arena.workflow("flow", 20, 250)
    const watching = traffic.watch()
    await Promise.all([
      disrupt(fleet, postgres, dice, { kills: 2, terminations: 8, restarts: 1, overMillis: 3_000 }),
      traffic.startMany(40, 3_000, [workflow]),
    ])
    await arena.settled()
    traffic.end()
    await watching
    expect(traffic.acknowledged.length).toBe(40)
    expect(await arena.problems()).toEqual([])
    const ends = await fleet.stop()
    expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })))
  })

  // The long suite tells how soon exactly: here it only matters which of the two ways it was.
  it.each([
    ["a kill", "SIGKILL", "when its lease is over", 1],
    ["a stop", "SIGTERM", "long before", 30],
  ] as const)("follow each other after %s (%s), %s", async (_, signal, __, leaseSeconds) => {
    const env = { MILLRACE_LEASE: `${leaseSeconds}s` }
    arena = await Arena.open({ seed: seedOf(), size: 2, env })
    const { fleet, traffic } = arena
    const workflow = await arena.workflow("flow", 20, 400)
    const runId = await traffic.start(...workflow)
    const { pid } = await arena.begun(0, (each) => each.runId === runId)
    const owner = fleet.seats.find(({ server }) => server.pid === pid)!
    const before = arena.journal().length
    const signaled = Date.now()
    owner.server.signal(signal)
    await arena.begun(before, (each) => each.runId === runId && each.pid !== pid)
    expect(Date.now() - signaled).toBeLessThan(lateMillis)
    await arena.settled()
    expect(await arena.problems()).toEqual([])
  })
})
