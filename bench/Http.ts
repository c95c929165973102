// Reading a workflow over HTTP, with a key that has limits, on Postgres: the server as operators
// run it, beside what one would write by hand for just that; and starting runs of one step. All
// servers are processes of their own on one database; rounds are interleaved, and only good answers
// count. `MILLRACE_BASE` names the folder of another checkout, which then runs beside this one.
import type { AccountId } from "@millrace/core/domain/Id"
import * as Ids from "@millrace/core/engine/Ids"
import { Keys } from "@millrace/core/engine/Keys"
import { WorkflowId } from "@millrace/core/domain/Id"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { Digest } from "effect/crypto"
import { SqlClient } from "effect/sql/SqlClient"
import { fileURLToPath } from "node:url"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import type { Ask, Reply } from "../packages/server/test/Load.ts"
import { load } from "../packages/server/test/Load.ts"
import { ServerProcess } from "../packages/server/test/ServerProcess.ts"
import { counting, ticksOf } from "./Meter.ts"

const entry = fileURLToPath(new URL("./HttpRival.ts", import.meta.url))
const connections = 64
const roundMillis = 4_000

/** What each line of the result is called, and how its server is started. */
const contestants = {
  millrace: (env: Env) => new ServerProcess(["serve", "--port", "0"], env),
  fastify: (env: Env) => new ServerProcess([], { ...env, RIVAL: "fastify" }, entry),
  "node:http": (env: Env) => new ServerProcess([], { ...env, RIVAL: "node" }, entry),
  "fastify, gathered": (env: Env) =>
    new ServerProcess([], { ...env, RIVAL: "fastify+gathered" }, entry),
  "node:http, gathered": (env: Env) =>
    new ServerProcess([], { ...env, RIVAL: "node+gathered" }, entry),
}

type Env = Readonly<Record<string, string>>
type Name = keyof typeof contestants | "base"

const base = process.env["MILLRACE_BASE"]

/** Every server that takes part, by name. */
const servers: ReadonlyArray<readonly [Name, (env: Env) => ServerProcess]> = [
  ...(Object.entries(contestants) as Array<[Name, (env: Env) => ServerProcess]>),
  ...(base === undefined
    ? []
    : [
        [
          "base",
          (env: Env) =>
            new ServerProcess(["serve", "--port", "0"], env, `${base}/packages/server/src/main.ts`),
        ] as const,
      ]),
]

interface Server {
  readonly name: Name
  readonly process: ServerProcess
  readonly origin: string
}

/** A workflow of about two kilobytes. */
const content = (account: AccountId, number: number) => ({
  id: WorkflowId.make(`wf_bench_${number}`),
  accountId: account,
  name: "Bench",
  description: "What is read again and again",
  thumbnailUrl: null,
  nodes: Array.from({ length: 10 }, (_, index) => ({
    id: `node_${index}`,
    type: "transform",
    position: { x: 360 * index, y: 40 },
    data: { inputs: { template: "x".repeat(70), mode: "text", options: { trim: true } } },
  })),
  edges: Array.from({ length: 9 }, (_, index) => ({
    id: `edge_${index}`,
    source: `node_${index}`,
    target: `node_${index + 1}`,
  })),
  settings: {},
  revision: 1,
  createdAt: 1_700_000_000_000,
  updatedAt: 1_700_000_000_000,
})

/** A step that is done at once. */
const oneStep = {
  id: "only",
  type: "constant",
  position: { x: 0, y: 0 },
  data: { inputs: { value: { text: "x".repeat(150) } } },
}

/** A key and a workflow for each connection. Their limits hold, but are never reached. */
const seed = Effect.gen(function* () {
  const keys = yield* Keys
  const workflows = yield* WorkflowStore
  const sql = yield* SqlClient
  const asks: Array<Ask> = []
  const starts: Array<Ask> = []
  for (let number = 0; asks.length < connections; number++) {
    const account = yield* keys.createAccount(`Bench ${number}`)
    const workflow = content(account.id, number)
    yield* workflows.insert(workflow)
    const step = WorkflowId.make(`wf_step_${number}`)
    yield* workflows.insert({ ...workflow, id: step, nodes: [oneStep], edges: [] })
    for (let label = 0; label < 10; label++) {
      const { secret } = yield* keys.create(account.id, { label: `${label}` })
      const key = Redacted.value(secret)
      asks.push({ path: `/api/v1/workflows/${workflow.id}`, secret: key })
      const body = JSON.stringify({ workflowId: step, values: {} })
      starts.push({ path: "/api/v1/runs", secret: key, body })
    }
  }
  yield* sql`CREATE EXTENSION pg_stat_statements`
  yield* sql`UPDATE api_keys SET per_minute = 1000000000, per_day = 1000000000`
  return { asks, starts }
})

const services = (url: Redacted.Redacted) =>
  Keys.layer.pipe(
    Layer.provide([Ids.Ids.layer, Digest.layerWebCrypto]),
    Layer.provideMerge(Stores.layer),
    Layer.provideMerge(Postgres.layer({ url, maxConnections: 2 })),
  )

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

const percentile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0

const expectGood = (replies: ReadonlyArray<Reply>): void => {
  const bad = replies.find(({ status }) => status >= 300)
  if (bad !== undefined) throw new Error(`A request was answered with ${bad.status}`)
}

/** As fast as it goes, for one round: requests a second, and microseconds of each in the server. */
const race = async ({ origin, process }: Server, asks: ReadonlyArray<Ask>) => {
  const ticks = ticksOf(process.pid)
  const begun = performance.now()
  const isOver = () => performance.now() - begun > roundMillis
  const count = Number.POSITIVE_INFINITY
  const replies = await load({ origins: [origin], asks, count, connections, isOver })
  const seconds = (performance.now() - begun) / 1_000
  expectGood(replies)
  const cpuMicros = ((ticksOf(process.pid) - ticks) * 10_000) / replies.length
  return { perSecond: replies.length / seconds, cpuMicros }
}

/** The replies of each quarter of a second, by when they were due. */
const quarters = (replies: ReadonlyArray<Reply>): ReadonlyArray<ReadonlyArray<number>> => {
  const times = new Map<number, Array<number>>()
  for (const { dueAt, endedAt } of replies) {
    const quarter = Math.floor(dueAt / 250)
    const known = times.get(quarter)
    if (known === undefined) times.set(quarter, [endedAt - dueAt])
    else known.push(endedAt - dueAt)
  }
  return [...times.values()]
}

/**
 * At a steady pace: how long a request takes from when it was due. A machine that stops for a few
 * hundredths of a second now and then has that in the p99 of every server; the middle one of all
 * quarters of a second is without.
 */
const pace = async ({ origin }: Server, asks: ReadonlyArray<Ask>, perSecond: number) => {
  const count = Math.round((perSecond * roundMillis) / 1_000)
  const replies = await load({ origins: [origin], asks, count, connections, perSecond })
  expectGood(replies)
  const times = replies.map(({ dueAt, endedAt }) => endedAt - dueAt)
  const usual = median(quarters(replies).map((each) => percentile(each, 0.99)))
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), usual }
}

/** Statements of a request for each one that comes alone, as the database counts them. */
const roundTrips = (sql: SqlClient, { origin }: Server, asks: ReadonlyArray<Ask>) =>
  Effect.gen(function* () {
    const count = 2_000
    yield* sql`SELECT pg_stat_statements_reset()`
    const one = { origins: [origin], asks: asks.slice(0, 1), count, connections: 1 }
    expectGood(yield* Effect.promise(() => load(one)))
    // What a server does besides is about runs.
    const [row] = yield* sql<{ readonly calls: number }>`
      SELECT sum(calls)::float8 AS calls FROM pg_stat_statements
      WHERE query ~ 'api_keys|key_usage|accounts|workflows'`
    return (row?.calls ?? 0) / count
  })

const start = async (env: Env): Promise<ReadonlyArray<Server>> => {
  const processes = servers.map(([name, make]) => ({ name, process: make(env) }))
  return Promise.all(
    processes.map(async ({ name, process }) => {
      const [, origin = ""] = await process.waitFor(/listens on (http:[^" ]+)/)
      return { name, process, origin }
    }),
  )
}

type Race = Awaited<ReturnType<typeof race>>

/** Interleaved rounds of all servers. */
const races = async (
  running: ReadonlyArray<Server>,
  asks: ReadonlyArray<Ask>,
  rounds: number,
  label: string,
): Promise<ReadonlyMap<Name, ReadonlyArray<Race>>> => {
  const samples = new Map<Name, Array<Race>>()
  for (let round = -1; round < rounds; round++) {
    for (const server of running) {
      const figure = await race(server, asks)
      // Round -1 warms up the compilers and does not count.
      if (round >= 0) samples.set(server.name, [...(samples.get(server.name) ?? []), figure])
    }
    process.stderr.write(`${label}: ${round < 0 ? "warmed up" : `round ${round + 1}`}\n`)
  }
  return samples
}

const middle = (samples: ReadonlyArray<Race> = [], of: (race: Race) => number): number =>
  median(samples.map(of))

/** Starts over HTTP, with what executing the run takes. */
const measureStarts = async (
  running: ReadonlyArray<Server>,
  asks: ReadonlyArray<Ask>,
  rounds: number,
) => {
  const own = running.filter(({ name }) => name === "millrace" || name === "base")
  const samples = await races(own, asks, rounds, "starts")
  const rows = own.map(({ name }) => ({
    server: name,
    "starts/s": Math.round(middle(samples.get(name), (each) => each.perSecond)),
    "CPU us": Math.round(middle(samples.get(name), (each) => each.cpuMicros)),
  }))
  console.table(rows)
  return rows
}

/** Runs everything and prints a table. */
export const measure = async (rounds: number) => {
  const scope = Scope.makeUnsafe()
  const run = <A, E>(work: Effect.Effect<A, E, Scope.Scope>) =>
    Effect.runPromise(Scope.provide(work, scope))
  const url = await run(TestPostgres.ownServer("durable", counting))
  const context = await run(Layer.build(services(url)))
  const { asks, starts } = await run(Effect.provideContext(seed, context))
  const running = await start({ DATABASE_URL: Redacted.value(url) })
  try {
    const samples = await races(running, asks, rounds, "reads")
    const rows: Array<Record<string, string | number>> = []
    const rateOf = (name: Name) => middle(samples.get(name), (each) => each.perSecond)
    const sql = Context.get(context, SqlClient)
    for (const server of running) {
      const { name } = server
      const { p50, p99, usual } = await pace(server, asks, rateOf(name) / 2)
      const statements = await run(roundTrips(sql, server, asks))
      rows.push({
        server: name,
        "requests/s": Math.round(rateOf(name)),
        "of fastify": (rateOf(name) / rateOf("fastify")).toFixed(2),
        "of fastify, gathered": (rateOf(name) / rateOf("fastify, gathered")).toFixed(2),
        "CPU us": Math.round(middle(samples.get(name), (each) => each.cpuMicros)),
        "p50 ms at half load": p50.toFixed(1),
        "p99 ms": p99.toFixed(1),
        "p99 ms, middle quarter second": usual.toFixed(1),
        "statements/request": statements.toFixed(2),
      })
    }
    console.table(rows)
    return { reads: rows, starts: await measureStarts(running, starts, rounds) }
  } finally {
    await Promise.all(running.map((server) => server.process.end("SIGKILL")))
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}
