/**
 * What a product with a `pg` pool of its own can rely on: an engine works over that pool, and the
 * pool is the product's again when the engine is closed. And what anybody can rely on whose process
 * was killed.
 */
import { inspect } from "node:util"
import { createEngine, postgres } from "millrace"
import { Pool } from "pg"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { interrupted } from "./Interrupted.ts"
import { patient } from "./Patient.ts"
import { refusal } from "./Sample.ts"

let server: PostgresServer
let pool: Pool
/** Errors of clients that nobody held. */
let errors: Array<Error>

beforeAll(async () => {
  server = await PostgresServer.create()
}, 60_000)
afterAll(() => server.remove())

beforeEach(() => {
  errors = []
  pool = new Pool({ connectionString: server.url, max: 8 })
  pool.on("error", (error) => errors.push(error))
})
afterEach(() => pool.end())

const open = () => createEngine({ store: postgres({ pool }), webhooks: false })

/** Runs a workflow of one node, and returns what the node put out. */
const complete = async (engine: Awaited<ReturnType<typeof open>>) => {
  const drawn = engine.workflow("Pooled").node("a", "constant", { value: "grüezi 😀" })
  const { id } = await engine.workflows.create(drawn)
  const run = await engine.runs.start({ workflowId: id })
  return (await run.wait({ timeout: "10 seconds" })).nodes.a?.output
}

const said = { output: "grüezi 😀" }

describe("postgres({ pool })", () => {
  it("has a lease of 30 seconds, because no thread keeps it, and with a url one of 5", () => {
    expect(postgres({ pool }).leaseMillis).toBe(undefined)
    expect(postgres({ url: server.url }).leaseMillis).toBe(5_000)
    expect(postgres(server.url).leaseMillis).toBe(5_000)
  })

  it("runs an engine over the product's pool, and leaves the pool open", async () => {
    const engine = await open()
    expect(await complete(engine)).toEqual(said)
    const { rows } = await pool.query("SELECT count(*)::int AS runs FROM runs")
    expect(rows).toEqual([{ runs: 1 }])
    await engine.close()
    // All that was checked out is back, and what was still connecting comes back, too.
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(0)
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }])
    expect(errors).toEqual([])
  })

  it("leaves the product room in the pool, also while the engine works", async () => {
    await using engine = await open()
    await Promise.all(Array.from({ length: 40 }, () => complete(engine)))
    expect(pool.totalCount - pool.idleCount).toBeLessThanOrEqual(5)
    const clients = await Promise.all([1, 2, 3].map(() => pool.connect()))
    for (const client of clients) client.release()
  })

  it("goes on with other clients after the database has dropped them all", async () => {
    await using engine = await open()
    await complete(engine)
    await pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity " +
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    // Whatever was on its way over a connection that is gone may have failed.
    const tries = Array.from({ length: 8 }, () => () => complete(engine).catch(() => undefined))
    const answers = []
    for (const attempt of tries) answers.push(await attempt())
    expect(answers.at(-1)).toEqual(said)
  })

  it("refuses a pool in which nothing would be left for the product", async () => {
    const small = new Pool({ connectionString: server.url, max: 4 })
    const error = await refusal(createEngine({ store: postgres({ pool: small }) }))
    expect(error.code).toBe("INVALID_REQUEST")
    expect(error.message).toBe(
      "postgres: the pool has at most 4 clients; the engine needs 4, and the product needs some, " +
        "too: raise the pool's max or lower connections",
    )
    await small.end()
  })

  it("refuses clients without a socket, and says what to give instead", async () => {
    const client = { on: () => client, off: () => client, release: () => undefined }
    const native = { options: { max: 10 }, connect: async () => client }
    const error = await refusal(createEngine({ store: postgres({ pool: native }) }))
    expect(error.code).toBe("STORE_UNAVAILABLE")
    expect(inspect(error, { depth: 9 })).toContain("give the url instead")
  })
})

describe("postgres", () => {
  it("goes on at once with the runs of a process of this machine that was killed", async () => {
    const { id, kill } = await interrupted("postgres", server.url)
    await kill()
    const nodes = [patient(() => Promise.resolve())]
    await using engine = await createEngine({ store: postgres(server.url), nodes, webhooks: false })
    const run = await engine.runs.wait(id, { timeout: "60 seconds" })
    expect(run).toMatchObject({ status: "COMPLETED", output: "done" })
  })
})
