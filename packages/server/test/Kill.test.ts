/**
 * Two servers on one database, one of which is killed now and then: a small part of what the long
 * suite does, in a few seconds.
 */
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "./kill/Arena.ts"
import { seedOf } from "./kill/Dice.ts"
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
})
