/**
 * What becomes of a run whose node computes without giving the event loop back: while its server
 * keeps the lease all the same, and once it has lasted too long.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, describe, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

/** Which attempts of the node that computes have had their effect. */
const effects = (of: Arena) =>
  of
    .journal()
    .filter(({ nodeId }) => nodeId === "busy")
    .map(({ attempt }) => attempt)

/** The statuses of all runs. */
const statuses = async ({ postgres }: Arena) => {
  const rows = await query<{ readonly status: string }>(postgres.url, "SELECT status FROM runs")
  return rows.map(({ status }) => status)
}

describe("a node that computes for five leases", () => {
  it("runs once, has its effect once, and is named in the log", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env: { MILLRACE_LEASE: "2s" } })
    const { fleet, traffic } = arena
    const workflow = await arena.computing("long", 10_000)
    const runId = await traffic.start(...workflow)
    await arena.settled()
    // Whoever had taken the run over would be at it by now.
    await sleep(3_000)
    expect(effects(arena)).toEqual([1])
    expect(await statuses(arena)).toEqual(["COMPLETED"])
    const named = `node "busy" (compute) of run ${runId}`
    const output = fleet.output.replaceAll(String.raw`\"`, '"')
    expect(output).toContain(`${named} gives no control back`)
    expect(output).toMatch(/The event loop was blocked for \d\d\.\d s: /)
    expect(output).toContain(`${named} gave no control back meanwhile`)
    expect(fleet.seats.flatMap(({ ends }) => ends)).toEqual([])
    expect(await fleet.stop()).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ])
  })
})

describe("a node that computes for longer than is allowed", () => {
  const env = { MILLRACE_LEASE: "10m", MILLRACE_LIMIT_BLOCKED_MILLIS: "3000" }

  it("ends its server with a sentence that names it, and others take the run over", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 2, env })
    const { fleet, traffic } = arena
    const workflow = await arena.computing("endless", 600_000)
    const runId = await traffic.start(...workflow)
    // Well within the lease, which was let go.
    await arena.settled()
    expect(await statuses(arena)).toEqual(["COMPLETED"])
    expect(effects(arena)).toEqual([2])
    const ends = fleet.seats.flatMap((seat) => seat.ends)
    expect(ends.map(({ signal }) => signal)).toEqual(["SIGKILL"])
    expect(ends[0]?.output).toMatch(
      new RegExp(
        `The event loop has been blocked for \\d+\\.\\d s: node "busy" \\(compute\\) of run ${runId} ` +
          "gives no control back. .* this server ends itself",
      ),
    )
  })

  it("is not what a frozen server looks like: that one goes on", async () => {
    arena = await Arena.open({ seed: seedOf(), size: 1, env })
    const { fleet, traffic } = arena
    const workflow = await arena.line("slow", 3, 8_000)
    await traffic.start(...workflow)
    await sleep(1_000)
    const { server } = fleet.seats[0]!
    server.signal("SIGSTOP")
    await sleep(6_000)
    server.signal("SIGCONT")
    await arena.settled()
    expect(fleet.seats[0]?.ends).toEqual([])
    expect(fleet.output).not.toContain("ends itself")
  })
})
