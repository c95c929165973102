/**
 * Three servers share a database while all of them are killed, sessions are terminated and the
 * database is restarted: nothing that was answered for is lost, and nothing happens twice.
 */
import { afterEach, describe, expect, it, vi } from "vitest"
import type { Stored } from "../packages/server/test/kill/Arena.ts"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { disrupt } from "../packages/server/test/kill/Disruptions.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

const runs = 1_000
const overMillis = 60_000
const disruptions = { kills: 20, terminations: 100, restarts: 5, overMillis }

describe("three servers under kill -9", () => {
  it(`execute ${runs} runs of 20 nodes exactly once`, async () => {
    const begun = Date.now()
    const seed = seedOf()
    arena = await Arena.open({ seed, size: 3, env: { MILLRACE_LEASE: "2s" } })
    const { dice, fleet, postgres, traffic } = arena
    const workflows: Array<Stored> = []
    for (let index = 0; index < 5; index++) {
      workflows.push(await arena.workflow(`flow ${index}`, 20, 500))
    }
    const watching = traffic.watch()
    const [done] = await Promise.all([
      disrupt(fleet, postgres, dice, disruptions),
      traffic.startMany(runs, overMillis, workflows),
    ])
    await arena.settled()
    const seconds = (Date.now() - begun) / 1_000
    traffic.end()
    await watching
    const taken = arena.journal().filter(({ attempt }) => attempt > 1).length
    const answers = [...traffic.answers].map(([status, count]) => `${count} x ${status}`)
    console.log(
      `${traffic.acknowledged.length} runs in ${seconds.toFixed(0)} s, ${taken} nodes again;`,
      done,
      `answers: ${answers.join(", ")}`,
    )
    expect(await arena.problems()).toEqual([])
    expect(traffic.acknowledged.length).toBe(runs)
    // The kills did hit servers that were at work.
    expect(taken).toBeGreaterThan(20)
    const ends = await fleet.stop()
    expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })))
  })
})
