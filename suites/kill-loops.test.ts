/**
 * Two servers on one Postgres, and a loop with a body over many items, while servers are killed:
 * each item has one run, the results are complete and in order, and no server needs more memory
 * than it may. `KILL_ITEMS=100000 KILL_MILLIS=600000` is the loop of the largest size.
 */
import { readFileSync } from "node:fs"
import { afterEach, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { readDiscrepancies } from "../packages/server/test/kill/Evidence.ts"
import type { Fleet } from "../packages/server/test/kill/Fleet.ts"
import { disrupt } from "../packages/server/test/kill/Disruptions.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

/** How many items there are, and how often a server is killed, over how long. */
const asked = process.env["KILL_ITEMS"]
const kills = Number(process.env["KILL_TIMES"] ?? 10)
const overMillis = Number(process.env["KILL_MILLIS"] ?? 20_000)
const mostMegabytes = 300

// A young generation of its usual size leaves so little room in this old one that each of its
// collections is a full one, which takes half of the time.
const env = {
  MILLRACE_LEASE: "2s",
  NODE_OPTIONS: "--max-old-space-size=160 --max-semi-space-size=8",
}

// At least ten items a second, however slow the machine is.
const mostMillis = 300_000 + Number(asked ?? 600) * 100
vi.setConfig({ testTimeout: mostMillis + 60_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

const at = (column: number) => ({ x: column * 300, y: 0 })

/** A loop whose body has a node of this type, and puts out its item. */
const workflowOf = (items: number, type: string) => ({
  name: "Loop",
  nodes: [
    // More numbers than a request may have, or an expression can make in its time.
    {
      id: "items",
      type: "parse",
      position: at(0),
      data: { inputs: { input: JSON.stringify([...Array(items).keys()]) } },
    },
    { id: "each", type: "for_each", position: at(1), data: { inputs: { concurrency: 50 } } },
    {
      id: "work",
      type,
      parentId: "each",
      position: at(2),
      data: { inputs: type === "work" ? { millis: 1 } : {} },
    },
    { id: "done", type: "response", parentId: "each", position: at(3), data: {} },
    { id: "out", type: "response", position: at(4), data: {} },
  ],
  edges: [
    { id: "a", source: "items", target: "each", sourceHandle: "output", targetHandle: "items" },
    {
      id: "b",
      source: "each",
      target: "work",
      sourceHandle: "item",
      targetHandle: type === "work" ? "inputs" : "value",
    },
    { id: "c", source: "each", target: "done", sourceHandle: "item" },
    { id: "d", source: "each", target: "out", sourceHandle: "results" },
  ],
})

/** A node that costs credits and is called, and one that the loop computes. */
const bodies = [
  { what: "call a node", type: "work", items: Number(asked ?? 600) },
  { what: "compute", type: "constant", items: Number(asked ?? 6_000) },
]

/** The most memory that any server of a fleet has had so far, in megabytes. */
const watchMemory = (fleet: Fleet) => {
  let peak = 0
  const timer = setInterval(() => {
    for (const { server } of fleet.seats) {
      if (!server.isRunning) continue
      try {
        const status = readFileSync(`/proc/${server.pid}/status`, "utf8")
        peak = Math.max(peak, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024)
      } catch {
        // It was killed meanwhile, or there is no /proc here.
      }
    }
  }, 200)
  return () => {
    clearInterval(timer)
    return Math.round(peak)
  }
}

it.each(bodies)("items that $what have one result each, in order, over kills", async (body) => {
  const { items, type } = body
  arena = await Arena.open({ seed: seedOf(), size: 2, env })
  const { dice, fleet, postgres, traffic } = arena
  const { id: workflowId } = await traffic.insist<{ readonly id: string }>(
    "POST",
    "/workflows",
    workflowOf(items, type),
  )
  const begun = Date.now()
  const peakOf = watchMemory(fleet)
  const { runId } = await traffic.insist<{ readonly runId: string }>(
    "POST",
    "/runs",
    { workflowId },
    "the loop",
  )
  const done = await disrupt(fleet, postgres, dice, {
    kills,
    terminations: 0,
    restarts: 0,
    overMillis,
  })
  await arena.settled(mostMillis)
  const peak = peakOf()
  console.log(`${items} items in ${Date.now() - begun} ms, ${peak} MiB at most`, done)
  const [run] = await query(
    postgres.url,
    `SELECT status, error, child_credits::float8 AS credits FROM runs WHERE id = '${runId}'`,
  )
  const [sums] = await query(
    postgres.url,
    `SELECT count(*)::int AS runs, count(DISTINCT (parent->>'index')::int)::int AS indexes,
       count(*) FILTER (WHERE status = 'COMPLETED' AND output::text = parent->>'index')::int AS good,
       sum(actual_credits)::float8 AS credits
     FROM runs WHERE parent_id = '${runId}'`,
  )
  const { credits } = sums as { readonly credits: number }
  expect(run).toEqual({ status: "COMPLETED", error: null, credits })
  expect(sums).toMatchObject({ runs: items, indexes: items, good: items })
  const { context } = await traffic.insist<{ readonly context: { readonly output: unknown } }>(
    "GET",
    `/runs/${runId}`,
  )
  expect(context.output).toEqual(Array.from({ length: items }, (_, n) => n))
  expect(peak).toBeLessThan(mostMegabytes)
  expect(await readDiscrepancies(postgres.url)).toEqual([])
})
