/**
 * What a product can rely on that starts runs inside its own transactions: its rows and the runs
 * exist together or not at all.
 */
import type { Engine, RunHandle } from "millrace"
import { createEngine, defineNode, postgres } from "millrace"
import { createClient } from "millrace/client"
import type { PoolClient } from "pg"
import { Client, Pool } from "pg"
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { refusal } from "./Sample.ts"

const render = defineNode({
  type: "render",
  inputs: {},
  outputs: {},
  credits: 2,
  run: () => ({}),
})

let server: PostgresServer
let pool: Pool
let engine: Engine
let workflowId: string
let paidId: string

const operation = { actor: "shop", reason: "test" }

beforeAll(async () => {
  server = await PostgresServer.create()
  pool = new Pool({ connectionString: server.url, max: 12 })
  pool.on("error", () => undefined)
  engine = await createEngine({ store: postgres({ pool }), nodes: [render], webhooks: false })
  await pool.query("CREATE TABLE orders (id text PRIMARY KEY, run_id text)")
  await engine.credits.meter({ ...operation, metered: true })
  await engine.credits.grant({ ...operation, id: "g", amount: 100 })
  const paid = engine.workflow("Paid").node("r", "render" as never)
  paidId = (await engine.workflows.create(paid)).id
}, 60_000)
afterAll(async () => {
  await engine.close()
  await pool.end()
  await server.remove()
})

/** A new one for each test, so nothing is known of it. */
beforeEach(async () => {
  const drawn = engine.workflow("Hello").node("a", "constant", { value: 1 })
  workflowId = (await engine.workflows.create(drawn)).id
})

/** A client of the pool with an open transaction; at the end of the test it is rolled back. */
const begin = async (how = ""): Promise<PoolClient> => {
  const client = await pool.connect()
  await client.query(`BEGIN ${how}`)
  onTestFinished(async () => {
    await client.query("ROLLBACK").catch(() => undefined)
    client.release()
  })
  return client
}

/** Inserts an order and starts its run. */
const order = async (client: PoolClient, id: string, options = {}): Promise<RunHandle> => {
  const run = await engine.runs.start({ workflowId }, { client, ...options })
  await client.query("INSERT INTO orders VALUES ($1, $2)", [id, run.id])
  return run
}

const one = async (text: string, values: Array<unknown> = []): Promise<unknown> =>
  (await pool.query(text, values)).rows[0]

const everything = () =>
  one(`SELECT
    (SELECT count(*)::int FROM orders) AS orders, (SELECT count(*)::int FROM runs) AS runs,
    (SELECT count(*)::int FROM open_runs) AS open, (SELECT count(*)::int FROM start_keys) AS keys,
    (SELECT count(*)::int FROM definitions WHERE id NOT LIKE '%@%') AS definitions,
    (SELECT count(*)::int FROM credit_entries) AS entries,
    (SELECT sum(runs)::int FROM usage_changes) AS usage,
    (SELECT array_agg(c.*::text) FROM credit_accounts c) AS accounts`)

describe("runs.start(request, { client })", () => {
  it("starts the run when the transaction is committed, with the rows of the product", async () => {
    const client = await begin()
    const run = await order(client, "a")
    expect(await one("SELECT FROM runs WHERE id = $1", [run.id])).toBe(undefined)
    await client.query("COMMIT")
    const ended = await run.wait({ timeout: "10 seconds" })
    expect([ended.status, ended.nodes["a"]?.output]).toEqual(["COMPLETED", { output: 1 }])
    expect(await one("SELECT run_id FROM orders WHERE id = 'a'")).toEqual({ run_id: run.id })
  })

  it("leaves nothing after a rollback: no run, no key, no definition, no credits", async () => {
    const client = await begin()
    const before = await everything()
    await order(client, "b", { idempotencyKey: "order-b" })
    await engine.runs.start({ workflowId: paidId }, { client, idempotencyKey: "paid-b" })
    await client.query("ROLLBACK")
    expect(await everything()).toEqual(before)
    // What the process remembers does not come from the transaction either.
    const again = await engine.runs.start({ workflowId }, { idempotencyKey: "order-b" })
    expect(again.isReplay).toBe(false)
    expect((await again.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
  })

  it("reserves credits with the commit, and refuses a run that they do not cover", async () => {
    const client = await begin()
    const { balance: before } = await engine.credits.get()
    const run = await engine.runs.start({ workflowId: paidId }, { client })
    expect((await engine.credits.get()).balance).toEqual(before)
    const dear = await refusal(engine.runs.start({ workflowId: paidId, maxCredits: 1 }, { client }))
    expect(dear.code).toBe("BEYOND_MAX_CREDITS")
    await client.query("COMMIT")
    expect((await run.wait({ timeout: "10 seconds" })).actualCredits).toBe(2)
    expect((await engine.credits.get()).balance.posted).toBe(before.posted - 2)
  })

  it("takes back credits that have expired, also in the transaction", async () => {
    const expiresAt = new Date(Date.now() + 200).toISOString()
    await engine.credits.grant({ ...operation, id: "short", amount: 50, expiresAt })
    const isOver = "SELECT FROM credit_accounts WHERE due_at <= extract(epoch FROM now()) * 1000"
    while ((await one(isOver)) === undefined);
    const client = await begin()
    const run = await engine.runs.start({ workflowId: paidId }, { client })
    await client.query("COMMIT")
    expect((await run.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
  })

  it("answers a wait before the commit in one sentence", async () => {
    const client = await begin()
    const run = await order(client, "c")
    const why = "its transaction is not committed, or was rolled back"
    const message = `Run ${run.id} is not stored: ${why}`
    const collect = async () => {
      for await (const _ of run.events());
    }
    for (const call of [() => run.wait(), () => run.cancel(), collect]) {
      const error = await refusal(call())
      expect([error.code, error.message]).toEqual(["RUN_NOT_FOUND", message])
    }
    await client.query("COMMIT")
    expect((await run.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
  })

  it("starts one run for one idempotency key, in one transaction and over several", async () => {
    const client = await begin()
    const first = await order(client, "d", { idempotencyKey: "order-d" })
    const again = await engine.runs.start({ workflowId }, { client, idempotencyKey: "order-d" })
    expect([again.id, again.isReplay]).toEqual([first.id, true])
    const other = await begin()
    const waiting = engine.runs.start({ workflowId }, { client: other, idempotencyKey: "order-d" })
    await client.query("COMMIT")
    const replay = await waiting
    expect([replay.id, replay.isReplay]).toEqual([first.id, true])
    await other.query("COMMIT")
  })

  it("starts its own run where the other transaction of a key is rolled back", async () => {
    const client = await begin()
    const first = await order(client, "e", { idempotencyKey: "order-e" })
    const other = await begin()
    const waiting = engine.runs.start({ workflowId }, { client: other, idempotencyKey: "order-e" })
    await client.query("ROLLBACK")
    const own = await waiting
    expect(own.isReplay).toBe(false)
    expect(own.id).not.toBe(first.id)
    await other.query("COMMIT")
    expect((await own.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
  })

  it("keeps no other start of the workflow waiting while the transaction is open", async () => {
    const client = await begin()
    await order(client, "f")
    const ended = await (await engine.runs.start({ workflowId })).wait({ timeout: "10 seconds" })
    expect(ended.status).toBe("COMPLETED")
    await client.query("COMMIT")
  })

  it("shares the definition of a workflow with later starts", async () => {
    const shared = async () => {
      const client = await begin()
      const run = await engine.runs.start({ workflowId }, { client })
      await client.query("COMMIT")
      await run.wait({ timeout: "10 seconds" })
      const stored = await one("SELECT definition_id AS id FROM runs WHERE id = $1", [run.id])
      return (stored as { id: string }).id.startsWith(workflowId)
    }
    const found: Array<boolean> = []
    while (found.length < 9 && found.at(-1) !== true) found.push(await shared())
    expect(found.at(0)).toBe(false)
    expect(found.at(-1)).toBe(true)
  })

  it("leaves the transaction as it was when it refuses the start", async () => {
    const client = await begin()
    const unknown = await refusal(engine.runs.start({ workflowId: "wf_none" }, { client }))
    expect(unknown.code).toBe("WORKFLOW_NOT_FOUND")
    const run = await order(client, "g")
    await client.query("COMMIT")
    expect((await run.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
  })

  it("names the error of the database as the cause", async () => {
    const client = await begin("READ ONLY")
    const error = await refusal(engine.runs.start({ workflowId }, { client }))
    expect(error.code).toBe("STORE_UNAVAILABLE")
    expect(error.cause).toMatchObject({ cause: { code: "25006" } })
  })

  it("reads values as usual, whatever parsers the product has set", async () => {
    const types = { getTypeParser: () => () => "mine" }
    const client = new Client({ connectionString: server.url, types })
    await client.connect()
    onTestFinished(() => client.end())
    await client.query("BEGIN")
    const run = await engine.runs.start({ workflowId: paidId }, { client, idempotencyKey: "own" })
    await client.query("COMMIT")
    expect((await run.wait({ timeout: "10 seconds" })).status).toBe("COMPLETED")
    const { rows } = await client.query("SELECT 1 AS one")
    expect(rows).toEqual([{ one: "mine" }])
  })

  it("needs no client of the pool beside the one it is given", async () => {
    const drawn = engine.workflow("Crowd").node("a", "constant", { value: 1 })
    workflowId = (await engine.workflows.create(drawn)).id
    const free = 12 - pool.totalCount + pool.idleCount
    const clients = await Promise.all(Array.from({ length: free }, () => begin()))
    const runs = await Promise.all(clients.map((client, n) => order(client, `crowd-${n}`)))
    await Promise.all(clients.map((client) => client.query("COMMIT")))
    expect(new Set(runs.map(({ id }) => id)).size).toBe(free)
  })
})

const refused = async (start: Promise<unknown>) => {
  const { code, message } = await refusal(start)
  expect(code).toBe("INVALID_REQUEST")
  return message
}

describe("A client that cannot be used", () => {
  it("is one without a transaction, or a pool", async () => {
    const client = await pool.connect()
    onTestFinished(() => client.release())
    const message =
      "client: no transaction is open on it: send BEGIN on this client first, not on its pool"
    expect(await refused(engine.runs.start({ workflowId }, { client }))).toBe(message)
    expect(await refused(engine.runs.start({ workflowId }, { client: pool }))).toBe(message)
    expect(await refused(engine.runs.start({ workflowId }, { client: {} as never }))).toBe(
      "client: expected a client of the package pg on which a transaction is open",
    )
  })

  it("is one that reaches other tables, even of another engine", async () => {
    const message = "client: it does not reach the engine's tables: database and schema differ"
    const client = await begin()
    await client.query("CREATE SCHEMA other; SET LOCAL search_path = other, public")
    await client.query("CREATE TABLE other.workflows (id text)")
    expect(await refused(engine.runs.start({ workflowId }, { client }))).toBe(message)
    // It wrote nothing, and the transaction goes on.
    await client.query("SET LOCAL search_path = public")
    await order(client, "h")

    await pool.query("CREATE DATABASE copy")
    const url = new URL(server.url)
    url.pathname = "/copy"
    const copy = await createEngine({ store: postgres(url.href), webhooks: false })
    onTestFinished(() => copy.close())
    const elsewhere = new Client({ connectionString: url.href })
    await elsewhere.connect()
    onTestFinished(() => elsewhere.end())
    await elsewhere.query("BEGIN")
    expect(await refused(engine.runs.start({ workflowId }, { client: elsewhere }))).toBe(message)
  })

  it("is every client for a store in memory, and for a client of a server", async () => {
    const client = await begin()
    const inMemory = await createEngine()
    onTestFinished(() => inMemory.close())
    expect(await refused(inMemory.runs.start({ workflowId }, { client }))).toBe(
      'client: the store "memory" takes part in no transaction: start without a client, or open ' +
        "the engine on the Postgres of that client",
    )
    const remote = createClient({ url: "http://millrace.test", apiKey: "k" })
    expect(await refused(remote.runs.start({ workflowId }, { client }))).toBe(
      "client: a server takes part in no transaction of this process: use an engine on that " +
        "database",
    )
    // Nothing of this harms the transaction.
    await client.query("COMMIT")
  })
})
