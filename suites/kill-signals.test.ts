/**
 * Three servers on one Postgres, and signals by correlation: a third come before their runs, a third
 * after them, and a third at the same time, while servers are killed. Each is taken by one run, none
 * is lost, and a repetition says which run has it.
 */
import { afterEach, expect, it, vi } from "vitest"
import { Arena } from "../packages/server/test/kill/Arena.ts"
import { seedOf } from "../packages/server/test/kill/Dice.ts"
import { disrupt } from "../packages/server/test/kill/Disruptions.ts"
import { query } from "../packages/server/test/kill/Sql.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 120_000 })

let arena: Arena | undefined
afterEach(() => arena?.close())

/** How many signals are sent, and how often a server is killed. */
const signals = Number(process.env["KILL_SIGNALS"] ?? 1_000)
const kills = Number(process.env["KILL_TIMES"] ?? 4)

/** How many requests are on their way at once. */
const atOnce = 20

/** Every tenth has a correlation that others have, too. */
const correlationOf = (n: number): string => (n % 10 === 0 ? "shared" : `order ${n}`)

const at = (column: number) => ({ x: column * 300, y: 0 })

const drawing = {
  name: "Order",
  nodes: [
    {
      id: "in",
      type: "request",
      position: at(0),
      data: { inputs: { fields: [{ name: "order", type: "string" }] } },
    },
    {
      id: "pay",
      type: "wait_signal",
      position: at(1),
      data: { inputs: { name: "paid", correlation: "{{ input }}" } },
    },
    { id: "out", type: "response", position: at(2), data: {} },
  ],
  edges: [
    { id: "a", source: "in", target: "pay", sourceHandle: "order", targetHandle: "input" },
    { id: "b", source: "pay", target: "out", sourceHandle: "payload" },
  ],
}

/** Does something for each number, some at once. */
const each = async (numbers: ReadonlyArray<number>, act: (n: number) => Promise<unknown>) => {
  const left = [...numbers]
  const work = async () => {
    for (let n = left.shift(); n !== undefined; n = left.shift()) await act(n)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
}

it("give each signal to one run, early, late and racing, over kills", async () => {
  arena = await Arena.open({ seed: seedOf(), size: 3, env: { MILLRACE_LEASE: "2s" } })
  const { dice, fleet, postgres, traffic } = arena
  const { id } = await traffic.insist<{ readonly id: string }>("POST", "/workflows", drawing)
  const send = (n: number) => {
    const body = { correlation: correlationOf(n), payload: { signal: n } }
    const path = `/workflows/${id}/signals/paid`
    return traffic.insist<{ readonly runId: string | null }>("POST", path, body, `signal ${n}`)
  }
  const start = (n: number) => {
    const body = { workflowId: id, values: { order: correlationOf(n) } }
    return traffic.insist<{ readonly runId: string }>("POST", "/runs", body, `run ${n}`)
  }
  const numbers = Array.from({ length: signals }, (_, n) => n)
  const [early, late, racing] = [0, 1, 2].map((third) => numbers.filter((n) => n % 3 === third))
  const begun = Date.now()
  const disruptions = disrupt(fleet, postgres, dice, {
    kills,
    terminations: 4,
    restarts: 0,
    overMillis: 10_000,
  })
  await Promise.all([each(early!, send), each(late!, start)])
  await Promise.all([
    each(early!, start),
    each(late!, send),
    each(racing!, (n) =>
      Promise.all(dice.pick([true, false]) ? [send(n), start(n)] : [start(n), send(n)]),
    ),
  ])
  const done = await disruptions
  await arena.settled(300_000)
  console.log(`${signals} signals in ${Date.now() - begun} ms`, done)

  const runs = await query<{
    readonly id: string
    readonly order: string
    readonly output: string
  }>(
    postgres.url,
    `SELECT id, input_values->>'order' AS order, status || coalesce(output::text, '') AS output
     FROM runs`,
  )
  expect(runs.length).toBe(signals)
  const expected = numbers.map((n) => `${correlationOf(n)}: COMPLETED{"signal":${n}}`)
  expect(runs.map(({ order, output }) => `${order}: ${output}`).toSorted()).toEqual(
    expected.toSorted(),
  )
  const takers = new Map(runs.map((run) => [run.output, run.id]))
  await each(numbers, async (n) => {
    expect((await send(n)).runId).toBe(takers.get(`COMPLETED{"signal":${n}}`))
  })
  const [left] = await query(
    postgres.url,
    `SELECT (SELECT count(*)::int FROM signal_waits) AS waits,
       (SELECT count(*)::int FROM workflow_signals WHERE run_id IS NULL) AS kept,
       (SELECT count(*)::int FROM run_messages WHERE taken_by IS NULL) AS untaken`,
  )
  expect(left).toEqual({ waits: 0, kept: 0, untaken: 0 })
  expect(traffic.violations).toEqual([])
})
