/**
 * Runs beside one that ends its process: only that one pays for it.
 *
 * `KILL_LONG=1` plays the long ones, too: leases of 3 and 30 s, and 500 runs under kills and stops.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena, type Stored } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { deadly } from "../packages/server/test/kill/Poison.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

const isLong = process.env["KILL_LONG"] === "1"

vi.setConfig({ testTimeout: isLong ? 3_600_000 : 300_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

interface Ended {
  readonly id: string
  readonly status: string
  readonly error: string | null
}

const endsOf = ({ postgres }: Arena) =>
  query<Ended>(postgres.url, "SELECT id, status, error #>> '{}' AS error FROM runs ORDER BY number")

const sentence = 'The run was given up: its process died 5 times while node "boom" was in progress'

/** Stores what one node of ends its process after so long. */
const guiltyOf = async ({ traffic }: Arena, story: Story): Promise<Stored> => {
  const drawing = deadly("guilty", story.guiltyMillis, story.way ?? "kill")
  return [await traffic.store(drawing), drawing]
}

/** How many processes of a fleet have ended by themselves. */
const deathsOf = ({ fleet }: Arena) => fleet.seats.flatMap(({ ends }) => ends).length

interface Story {
  readonly lease: string
  readonly healthy: number
  readonly nodes: number
  readonly nodeMillis: number
  readonly guiltyMillis: number
  /** A signal, unless said. */
  readonly way?: "kill" | "block"
  readonly withinMillis: number
}

/** Starts healthy runs and a guilty one among them, and waits for the end of all. */
const play = async (story: Story) => {
  const begun = Date.now()
  // A server whose event loop is blocked for so long ends itself.
  const env = { MILLRACE_LEASE: story.lease, MILLRACE_LIMIT_BLOCKED_MILLIS: "3000" }
  arena = await Arena.open({ seed: seedOf(), size: 2, env })
  const { traffic } = arena
  const workflow = await arena.line("healthy", story.nodes, story.nodeMillis)
  const guilty = await guiltyOf(arena, story)
  const started: Array<Promise<string>> = []
  let guiltyRun: Promise<string> | undefined
  for (let n = 0; n < story.healthy; n++) {
    if (n === Math.floor(story.healthy / 3)) guiltyRun = traffic.start(...guilty)
    started.push(traffic.start(...workflow))
  }
  const [guiltyId] = await Promise.all([guiltyRun, ...started])
  await arena.settled(story.withinMillis)
  const ends = await endsOf(arena)
  const took = Math.round((Date.now() - begun) / 1_000)
  console.log(`${ends.length} runs, ${deathsOf(arena)} deaths, ${took} s`)
  const attempts = arena.journal().filter(({ runId }) => runId === guiltyId)
  return {
    guilty: ends.find(({ id }) => id === guiltyId),
    others: ends.filter(({ id, status }) => id !== guiltyId && status !== "COMPLETED"),
    attempts: attempts.map(({ attempt }) => attempt),
    deaths: deathsOf(arena),
  }
}

/** All healthy runs are COMPLETED; the guilty one had five processes and is FAILED. */
const expected = {
  guilty: expect.objectContaining({ status: "FAILED", error: sentence }),
  others: [],
  attempts: [1, 2, 3, 4, 5],
  deaths: 5,
}

describe("runs beside one that ends its process", () => {
  it("are not given up for it: 60 with a slow node", async () => {
    const times = { nodeMillis: 3_000, guiltyMillis: 1_000, withinMillis: 200_000 }
    expect(await play({ lease: "2s", healthy: 60, nodes: 2, ...times })).toEqual(expected)
  })

  it("are not given up for it: 200 with quick nodes", async () => {
    const times = { nodeMillis: 60, guiltyMillis: 60, withinMillis: 200_000 }
    expect(await play({ lease: "2s", healthy: 200, nodes: 20, ...times })).toEqual(expected)
  })
})

describe("runs beside one that blocks the event loop", () => {
  it("are not given up for it: 200 that are in progress all the while", async () => {
    const times = { nodeMillis: 2_000, guiltyMillis: 500, withinMillis: 240_000 }
    const story = { lease: "5s", healthy: 200, nodes: 8, ...times, way: "block" } as const
    expect(await play(story)).toEqual(expected)
  })
})

describe.runIf(isLong)("runs beside one that ends its process, for long", () => {
  it.each([["3s"], ["30s"]])("are not given up under a lease of %s", async (lease) => {
    const quick = { nodes: 20, nodeMillis: 60, guiltyMillis: 60, withinMillis: 900_000 }
    expect(await play({ lease, healthy: 200, ...quick })).toEqual(expected)
    await arena?.close()
    const slow = { nodes: 2, nodeMillis: 45_000, guiltyMillis: 5_000, withinMillis: 1_800_000 }
    expect(await play({ lease, healthy: 60, ...slow })).toEqual(expected)
  })

  it("are not given up for kills, freezes and stops of their servers either: 500", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 3, env: { MILLRACE_LEASE: "2s" } })
    const { dice, fleet, traffic } = arena
    const workflows = [await arena.line("a", 4, 4_000), await arena.line("b", 12, 700)]
    const starting = traffic.startMany(500, 30_000, workflows)
    for (let blow = 0; blow < 17; blow++) {
      await sleep(3_000)
      const { server } = dice.pick(fleet.seats)
      if (blow % 3 === 0) server.signal("SIGTERM")
      else if (blow % 3 === 1) server.signal("SIGKILL")
      else {
        server.signal("SIGSTOP")
        await sleep(5_000)
        server.signal("SIGCONT")
      }
      await fleet.ready()
    }
    await starting
    await arena.settled(900_000)
    const ends = await endsOf(arena)
    console.log(`${ends.length} runs, ${deathsOf(arena)} ends`)
    expect(ends.filter(({ status }) => status !== "COMPLETED")).toEqual([])
  })
})
