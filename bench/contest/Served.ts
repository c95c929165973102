// Millrace over HTTP: `millrace serve` in a process of its own, called with keys that have limits.
// W1 to W3 through the client of the package `millrace`, which follows the events of its runs;
// starts by requests alone. Only the server's time counts as the engine's. The server stays, and
// stays warm, as the processes of the other contestants do.
import { createEngine, defineNode, postgres } from "millrace"
import { createClient, MillraceError } from "millrace/client"
import { Postgres } from "@millrace/postgres"
import { ManagedRuntime, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { fileURLToPath } from "node:url"
import { z } from "zod"
import { masterKey, ServerProcess } from "../../packages/server/test/ServerProcess.ts"
import { chain, fan } from "../Workloads.ts"
import type { Contestant, Graph } from "./Contestant.ts"
import { measuring, offer, payload } from "./Contestant.ts"
import { post } from "./Posts.ts"

const entry = fileURLToPath(new URL("./ServedMain.ts", import.meta.url))
/** A key may have so many streams of events at the same time. */
const streamsPerKey = 10
const accounts = 2
const keysPerAccount = 10

const outputs = { output: z.unknown() }
const run = () => ({ output: payload })
const nodes = [
  defineNode({ type: "step", inputs: { input: z.unknown().optional() }, outputs, run }),
  defineNode({
    type: "gather",
    inputs: { input: z.array(z.unknown()) },
    multiple: ["input"],
    outputs,
    run,
  }),
]

/** Who calls: a key, and the workflows of its account. */
interface Caller {
  readonly secret: string
  readonly ids: { readonly [graph: string]: string }
}

/** Keys and workflows of an account. The engine that makes them is closed at once. */
const prepare = async (url: string, account: string): Promise<ReadonlyArray<Caller>> => {
  await using engine = await createEngine({ store: postgres(url), nodes, account })
  const save = async (drawing: ReturnType<typeof chain>) =>
    (await engine.workflows.create({ name: "Bench", ...drawing })).id
  const ids = {
    chain: await save(chain(10)),
    fan: await save(fan(50)),
    single: await save(chain(1)),
  }
  const callers: Array<Caller> = []
  for (let number = 0; number < keysPerAccount; number++) {
    const { secret } = await engine.keys.create({ label: `${number}` })
    callers.push({ secret, ids })
  }
  return callers
}

/** Limits that hold and are never reached. */
const widen = SqlClient.use(
  (sql) => sql`UPDATE api_keys SET per_minute = 1000000000, per_day = 1000000000`,
)

const countOpen = SqlClient.use(
  (sql) => sql<{ readonly runs: number }>`SELECT count(*)::float8 AS runs FROM open_runs`,
)

/** Tries again as long as the server says that it is too busy, as a caller does. */
const persist = async <A>(call: () => Promise<A>): Promise<A> => {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (!(error instanceof MillraceError) || error.code !== "STORE_UNAVAILABLE") throw error
    }
  }
}

/** A server, its address, and who calls it. */
interface Running {
  readonly server: ServerProcess
  readonly origin: string
  readonly callers: ReadonlyArray<Caller>
}

const start = async (url: string): Promise<Running> => {
  const callers: Array<Caller> = []
  for (let number = 0; number < accounts; number++) {
    callers.push(...(await prepare(url, `bench ${number}`)))
  }
  const env = {
    DATABASE_URL: url,
    MILLRACE_MASTER_KEY: masterKey,
    MILLRACE_PORT: "0",
    NODE_ENV: "production",
  }
  const server = new ServerProcess([], env, entry)
  const [, origin = ""] = await server.waitFor(/listens on (http:[^" ]+)/)
  return { server, origin, callers }
}

let running: Promise<Running> | undefined

const open = async (url: string): Promise<Contestant> => {
  const { callers, origin, server } = await (running ??= start(url))
  const database = ManagedRuntime.make(Postgres.layer({ url: Redacted.make(url) }))
  await database.runPromise(widen)
  const clients = callers.map(({ ids, secret }) => ({
    ids,
    streams: 0,
    client: createClient({ url: origin, apiKey: secret }),
  }))
  const measure = measuring(async (graph: Graph) => {
    const caller = clients.find(({ streams }) => streams < streamsPerKey)!
    caller.streams += 1
    const handle = await persist(() => caller.client.runs.start({ workflowId: caller.ids[graph]! }))
    const ended = handle.wait().then(({ status }) => {
      caller.streams -= 1
      if (status !== "COMPLETED") throw new Error(`A run is ${status}`)
    })
    return { ended }
  })
  const asks = callers.map(({ ids, secret }) => ({
    path: "/api/v1/runs",
    secret,
    body: JSON.stringify({ workflowId: ids["single"] }),
  }))
  const hasEnded = async () => (await database.runPromise(countOpen))[0]?.runs === 0
  return {
    engine: [server.pid],
    measure: (workload, millis) =>
      workload === "HTTP" || workload === "W4"
        ? post(origin, asks, millis, hasEnded)
        : measure(workload, millis),
    close: () => database.dispose(),
  }
}

offer(open, async () => {
  await (await running)?.server.end("SIGTERM")
})
