/**
 * Three servers on one Postgres, and runs that start children, while servers are killed: each item
 * has one child, every parent ends with all results in order, and the ledger adds up.
 */
import { afterEach, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { readDiscrepancies } from "../packages/server/test/kill/Evidence.ts"
import { disrupt } from "../packages/server/test/kill/Disruptions.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

/** How many parents there are, how many items each has, and how often a server is killed. */
const parents = Number(process.env["KILL_PARENTS"] ?? 40)
const items = Number(process.env["KILL_ITEMS"] ?? 20)
const kills = Number(process.env["KILL_TIMES"] ?? 8)
const overMillis = Number(process.env["KILL_MILLIS"] ?? 20_000)

const at = (column: number) => ({ x: column * 300, y: 0 })

/** Puts out its item, after a node that costs credits. */
const child = {
  name: "Child",
  nodes: [
    {
      id: "in",
      type: "request",
      position: at(0),
      data: { inputs: { fields: [{ name: "item", type: "number" }] } },
    },
    { id: "work", type: "work", position: at(1), data: { inputs: { millis: 5 } } },
    { id: "out", type: "response", position: at(2), data: {} },
  ],
  edges: [
    { id: "a", source: "in", target: "work", sourceHandle: "item", targetHandle: "inputs" },
    { id: "b", source: "in", target: "out", sourceHandle: "item" },
  ],
}

const parentOf = (workflowId: string) => ({
  name: "Parent",
  nodes: [
    {
      id: "each",
      type: "for_each",
      position: at(0),
      data: {
        inputs: { workflowId, items: Array.from({ length: items }, (_, n) => n), concurrency: 4 },
      },
    },
    { id: "out", type: "response", position: at(1), data: {} },
  ],
  edges: [{ id: "e", source: "each", target: "out", sourceHandle: "results" }],
})

it("start each child once, and end with every result, over kills", async () => {
  arena = await Arena.open({ seed: seedOf(), size: 3, env: { MILLRACE_LEASE: "2s" } })
  const { dice, fleet, postgres, traffic } = arena
  const stored = async (body: object) =>
    (await traffic.insist<{ readonly id: string }>("POST", "/workflows", body)).id
  const workflowId = await stored(parentOf(await stored(child)))
  const begun = Date.now()
  const disruptions = disrupt(fleet, postgres, dice, {
    kills,
    terminations: 5,
    restarts: 0,
    overMillis,
  })
  const ids: Array<string> = []
  for (let n = 0; n < parents; n++) {
    ids.push(
      (await traffic.insist<{ readonly runId: string }>("POST", "/runs", { workflowId })).runId,
    )
  }
  const done = await disruptions
  await arena.settled(400_000)
  console.log(`${parents} parents of ${items} children in ${Date.now() - begun} ms`, done)
  const results = await query<{ readonly id: string; readonly output: unknown }>(
    postgres.url,
    `SELECT id, status || coalesce(output::text, '') || coalesce(error::text, '') AS output
     FROM runs WHERE parent_id IS NULL ORDER BY id`,
  )
  const expected = `COMPLETED${JSON.stringify(Array.from({ length: items }, (_, n) => n))}`
  const started = new Set(results.map(({ id }) => id))
  expect(ids.filter((id) => !started.has(id))).toEqual([])
  expect(new Set(results.map(({ output }) => output))).toEqual(new Set([expected]))
  const odd = await query(
    postgres.url,
    `SELECT parent_id, count(*)::int AS children,
       count(DISTINCT (parent->>'index')::int)::int AS indexes,
       count(*) FILTER (WHERE status <> 'COMPLETED')::int AS other
     FROM runs WHERE parent_id IS NOT NULL GROUP BY parent_id
     HAVING count(*) <> ${items} OR count(DISTINCT (parent->>'index')::int) <> ${items}
       OR count(*) FILTER (WHERE status <> 'COMPLETED') > 0`,
  )
  expect(odd).toEqual([])
  const [sums] = await query(
    postgres.url,
    `SELECT (sum(actual_credits) FILTER (WHERE parent_id IS NOT NULL))::float8 AS children,
       (sum(child_credits))::float8 AS parents FROM runs`,
  )
  expect(sums).toMatchObject({ parents: (sums as { readonly children: number }).children })
  expect(await readDiscrepancies(postgres.url)).toEqual([])
})
