/**
 * Three servers on one Postgres, and schedules that are due every second, while servers are killed
 * and frozen: each time starts one run, each end of such a run starts one that follows it, and
 * every run completes.
 */
import { TriggerId } from "@millrace/core/domain/Id"
import { runIdAt } from "@millrace/core/domain/Trigger"
import { setTimeout as sleep } from "node:timers/promises"
import { afterEach, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { disrupt } from "../packages/server/test/kill/Disruptions.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 400_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

/** How many schedules are due each second, and for how many seconds. */
const schedules = Number(process.env["KILL_SCHEDULES"] ?? 50)
const seconds = Number(process.env["KILL_SECONDS"] ?? 30)

const drawing = {
  name: "Scheduled",
  nodes: [
    { id: "a", type: "delay", position: { x: 0, y: 0 }, data: { inputs: { for: "10 millis" } } },
  ],
  edges: [],
}

/** Freezes one server after the other for a while. */
const freeze = async ({ dice, fleet }: Arena, times: number, overMillis: number) => {
  for (const at of dice.moments(times, 0, overMillis / times)) {
    await sleep(at)
    const { server } = dice.pick(fleet.seats)
    server.signal("SIGSTOP")
    await sleep(3_000)
    server.signal("SIGCONT")
  }
}

it("start each time once, over kills, lost connections and pauses", async () => {
  arena = await Arena.open({ seed: seedOf(), size: 3, env: { MILLRACE_LEASE: "2s" } })
  const { dice, fleet, postgres, traffic } = arena
  const begin = Math.ceil(Date.now() / 1_000) * 1_000 + Math.max(10_000, schedules * 200)
  const body = {
    type: "schedule",
    everySeconds: 1,
    startAt: new Date(begin).toISOString(),
    endAt: new Date(begin + seconds * 1_000).toISOString(),
    catchUp: "all",
  }
  const triggers: Array<string> = []
  let workflow = ""
  for (let n = 0; n < schedules; n++) {
    if (n % 100 === 0) {
      workflow = (await traffic.insist<{ readonly id: string }>("POST", "/workflows", drawing)).id
      const next = await traffic.insist<{ readonly id: string }>("POST", "/workflows", drawing)
      const follow = { type: "run_end", watch: workflow }
      await traffic.insist("POST", `/workflows/${next.id}/triggers`, follow)
    }
    const path = `/workflows/${workflow}/triggers`
    triggers.push((await traffic.insist<{ readonly id: string }>("POST", path, body)).id)
  }
  expect(Date.now()).toBeLessThan(begin)
  await sleep(begin - Date.now())
  const overMillis = seconds * 1_000
  const options = { kills: 8, terminations: 10, restarts: 0, overMillis }
  const [done] = await Promise.all([
    disrupt(fleet, postgres, dice, options),
    freeze(arena, 3, overMillis),
  ])
  const expected = triggers.flatMap((id) =>
    Array.from({ length: seconds }, (_, n) => runIdAt(TriggerId.make(id), begin + n * 1_000)),
  )
  const statement = `SELECT id FROM runs WHERE source = 'schedule' ORDER BY id`
  for (let left = 120; left > 0; left--) {
    const [row] = await query<{ readonly n: number }>(
      postgres.url,
      "SELECT count(*)::int AS n FROM triggers WHERE next_at IS NOT NULL",
    )
    if (row?.n === 0) break
    await sleep(1_000)
  }
  const took = Date.now() - begin
  await arena.settled()
  for (let left = 60; left > 0; left--) {
    const [row] = await query<{ readonly n: number }>(
      postgres.url,
      "SELECT count(*)::int AS n FROM run_ends",
    )
    if (row?.n === 0) break
    await sleep(1_000)
  }
  await arena.settled()
  const found = await query<{ readonly id: string }>(postgres.url, statement)
  console.log(`${found.length} runs of ${schedules} schedules in ${took} ms`, done)
  expect(found.map(({ id }) => id).toSorted()).toEqual(expected.toSorted())
  const facts = await query(
    postgres.url,
    `SELECT sum(missed)::int AS missed, (SELECT count(*)::int FROM runs
       WHERE status <> 'COMPLETED') AS other FROM triggers`,
  )
  expect(facts).toEqual([{ missed: 0, other: 0 }])
  const followers = await query<{ readonly id: string }>(
    postgres.url,
    `SELECT after_run->>'runId' AS id FROM runs WHERE source = 'run_end'`,
  )
  expect(followers.map(({ id }) => id).toSorted()).toEqual(expected.toSorted())
})
