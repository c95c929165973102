/**
 * A shop that the suite kills: it inserts each order and starts its run in one transaction, eight
 * at once. Every fifth transaction is rolled back. A new process goes on with the orders that are
 * not there yet.
 */
import { createEngine, defineNode, postgres } from "millrace"
import type { PoolClient } from "pg"
import { Pool } from "pg"

/** The numbers of the orders; those of every fifth one are rolled back. */
const numbers = Array.from({ length: 250 }, (_, index) => index + 1)
export const isRolledBack = (number: number): boolean => number % 5 === 0
const atOnce = 8

const ship = defineNode({
  type: "ship",
  inputs: {},
  outputs: {},
  credits: 1,
  run: () => ({}),
})

/** An engine over the pool. */
export const open = (pool: Pool) =>
  createEngine({
    store: postgres({ pool }),
    nodes: [ship],
    webhooks: false,
    lease: "5 seconds",
  })
type Shop = Awaited<ReturnType<typeof open>>

const workflowOf = async (engine: Shop): Promise<string> => {
  for await (const { id } of engine.workflows.list()) return id
  return (await engine.workflows.create(engine.workflow("Order").node("ship", "ship"))).id
}

/** One transaction. Prints the number when it has begun. */
const order = async (engine: Shop, workflowId: string, client: PoolClient, number: number) => {
  await client.query("BEGIN")
  console.log(number)
  const insert = () => client.query("INSERT INTO orders (number) VALUES ($1)", [number])
  if (number % 2 === 0) await insert()
  const idempotencyKey = `order-${number}`
  const run = await engine.runs.start({ workflowId }, { client, idempotencyKey })
  if (number % 2 !== 0) await insert()
  await client.query("UPDATE orders SET run_id = $2 WHERE number = $1", [number, run.id])
  await client.query(isRolledBack(number) ? "ROLLBACK" : "COMMIT")
}

const work = async (url: string): Promise<void> => {
  const pool = new Pool({ connectionString: url, max: 20 })
  const engine = await open(pool)
  const workflowId = await workflowOf(engine)
  const { rows } = await pool.query<{ number: number }>("SELECT number FROM orders")
  const there = new Set(rows.map(({ number }) => number))
  const left = numbers.filter((number) => !there.has(number))
  const lane = async () => {
    const client = await pool.connect()
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      await order(engine, workflowId, client, next)
    }
    client.release()
  }
  await Promise.all(Array.from({ length: atOnce }, lane))
  await engine.close()
  await pool.end()
}

if (process.argv[2] !== undefined) await work(process.argv[2])
