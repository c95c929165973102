/**
 * A product's rows and its runs, in transactions of the product, under kill -9 and rollbacks.
 *
 * Guarantees: none exists without the other, each run once, and the ledger says what the runs cost.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { Pool } from "pg"
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"
import { isRolledBack, open } from "./transactions/Program.ts"

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.create()
}, 60_000)
afterAll(() => server.remove())

const script = fileURLToPath(new URL("transactions/Program.ts", import.meta.url))
const kills = 6

/** Lets the other process work. */
const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

it("stores 200 orders with their runs, through six kills and fifty rollbacks", async () => {
  const pool = new Pool({ connectionString: server.url, max: 8 })
  onTestFinished(() => pool.end())
  pool.on("error", () => undefined)
  const read = async (text: string) => (await pool.query(text)).rows
  const count = async (text: string) => Number((await read(`SELECT count(*) AS n ${text}`))[0].n)
  await pool.query("CREATE TABLE orders (number int PRIMARY KEY, run_id text)")
  const engine = await open(pool)
  const operation = { actor: "shop", reason: "suite" }
  await engine.credits.meter({ ...operation, metered: true })
  await engine.credits.grant({ ...operation, id: "all", amount: 1_000 })
  await engine.close()

  const begin = () => {
    let printed = ""
    const options = ["--conditions=@millrace/source", script, server.url]
    const child = spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] })
    onTestFinished(() => void child.kill("SIGKILL"))
    child.stdout.on("data", (data) => (printed += String(data)))
    return {
      child,
      ended: once(child, "exit"),
      begun: () => printed.trim().split("\n").map(Number),
    }
  }
  let cut = 0
  for (let killed = 0; killed < kills; killed++) {
    const { begun, child, ended } = begin()
    while ((await count("FROM orders")) < 30 * (killed + 1)) await pause()
    child.kill("SIGKILL")
    await ended
    // The database ends the transactions of a process that is gone.
    while ((await count("FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")) > 0) {
      await pause()
    }
    const orphans = "FROM orders o FULL JOIN runs r ON r.id = o.run_id"
    expect(await count(`${orphans} WHERE o.number IS NULL OR r.id IS NULL`)).toBe(0)
    const stored = new Set((await read("SELECT number FROM orders")).map(({ number }) => number))
    cut += begun().filter((number) => !isRolledBack(number) && !stored.has(number)).length
  }
  expect(cut).toBeGreaterThan(0)
  expect((await begin().ended)[0]).toBe(0)

  await using last = await open(pool)
  const orders = await read("SELECT number, run_id FROM orders ORDER BY number")
  expect(orders).toHaveLength(200)
  for (const { run_id: id } of orders) await last.runs.wait(id, { timeout: "1 minute" })
  const runs = await read("SELECT id FROM runs")
  expect(runs).toHaveLength(200)
  expect(new Set(runs.map(({ id }) => id))).toEqual(new Set(orders.map((each) => each.run_id)))
  const keys = await read("SELECT key, run_id FROM start_keys")
  expect(new Map(keys.map((each) => [each.key, each.run_id]))).toEqual(
    new Map(orders.map((each) => [`order-${each.number}`, each.run_id])),
  )

  const [ledger] = await read(`SELECT posted::float8, reserved::float8,
    (SELECT sum(posted)::float8 FROM credit_entries) AS moved,
    (SELECT sum(reserved)::float8 FROM credit_entries) AS held,
    (SELECT sum(amount)::float8 FROM credit_grants) - (SELECT sum(actual_credits)::float8 FROM runs)
      AS rest FROM credit_accounts`)
  expect(ledger).toMatchObject({ reserved: 0, held: 0, posted: ledger.rest, moved: ledger.rest })
}, 290_000)
