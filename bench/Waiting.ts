// What runs cost that wait: a server with few of them beside one with a hundred times as many, each
// on a database of its own. None of them goes on during the measurement, so what is seen is what
// waiting costs: memory, statements, and what a claim takes to find that nothing is due.
//
// One run is started and parked by the engine; the others are copies of its rows.
import { AccountId, RunnerId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { constant } from "@millrace/nodes/Constant"
import { delay } from "@millrace/nodes/Delay"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, Option, Redacted, References } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { readFileSync } from "node:fs"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import { ServerProcess } from "../packages/server/test/ServerProcess.ts"
import { counting, ticksOf } from "./Meter.ts"

const counts = [1_000, 100_000] as const
/** By then a server has given back what only its start needed, which takes V8 two collections. */
const settleMillis = 30_000
const idleMillis = 15_000
const dueAtOnce = 50
const claimRounds = 9

/** Postgres plans the first calls of a statement anew each time. They are not timed. */
const plannedRounds = 6

const account = AccountId.make("acc_bench")

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

/** Memory of a process in megabytes; none where there is no /proc. */
const residentOf = (pid: number): number => {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kilobytes ?? 0) / 1_024
}

const services = (url: Redacted.Redacted) =>
  Stores.layer.pipe(
    Layer.provideMerge(Postgres.layer({ url, maxConnections: 1 })),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn")),
    Layer.provideMerge(Layer.succeed(CurrentLimits, defaultLimits)),
  )

const engine = Engine.layerWithoutWebhooks.pipe(Layer.provide(NodeTypes.layer(constant, delay)))

/** One run that waits for a year, parked. */
const parkOne = Effect.gen(function* () {
  const workflows = yield* Workflows
  const runs = yield* Runs
  const store = yield* RunStore
  const content = {
    name: "Bench",
    description: null,
    thumbnailUrl: null,
    nodes: [
      { id: "first", type: "constant", position: { x: 0, y: 0 }, data: { inputs: { value: 1 } } },
      {
        id: "wait",
        type: "delay",
        position: { x: 300, y: 0 },
        data: { inputs: { for: "52 weeks" } },
      },
    ],
    edges: [{ id: "edge", source: "first", target: "wait", targetHandle: "input" }],
  }
  const { id: workflowId } = yield* workflows.create(account, content)
  const { id } = yield* runs.start(account, { workflowId })
  const isParked = Effect.map(store.find(account, id), (found) =>
    Option.exists(found, ({ run }) => run.dueAt !== null),
  )
  while (!(yield* isParked)) yield* Effect.sleep(20)
}).pipe(Effect.provide(engine))

const columnsOf = (sql: SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly name: string }>`SELECT attname AS name FROM pg_attribute
      WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    (rows) => rows.map(({ name }) => name),
  )

/** Copies the only run, with all of its rows, until there are so many. */
const multiply = Effect.fnUntraced(function* (count: number) {
  const sql = yield* SqlClient
  const copyOf = Effect.fnUntraced(function* (table: string, changes: Record<string, string>) {
    const columns = (yield* columnsOf(sql, table)).filter((name) => changes[name] !== "")
    const values = columns.map((name) => changes[name] ?? `t.${name}`)
    const copies = `(SELECT * FROM ${table}) t CROSS JOIN generate_series(1, ${count - 1}) AS g`
    const into = `INSERT INTO ${table} (${columns.join()}) OVERRIDING SYSTEM VALUE`
    yield* sql.unsafe(`${into} SELECT ${values.join()} FROM ${copies}`)
  })
  // Their times are a second apart, so that none is like another.
  const due = "t.due_at + g * 1000"
  yield* copyOf("node_runs", { run: "t.run + g" })
  yield* copyOf("run_events", { run: "t.run + g" })
  // The state follows from the other columns.
  yield* copyOf("open_runs", { run: "t.run + g", due_at: due, state: "" })
  yield* copyOf("runs", { number: "t.number + g", id: "t.id || '_' || g", due_at: due })
  yield* sql`ANALYZE`
})

interface Totals {
  readonly calls: number
  readonly claims: number
  readonly claimMillis: number
}

/** By this the statement of a claim is known. */
const claimText = "%owner (id, step) AS%"

/** What servers had a database do so far; what we ask ourselves does not count. */
const totals = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<Totals>`
    SELECT coalesce(sum(calls), 0)::float8 AS calls,
      coalesce(sum(calls) FILTER (WHERE query LIKE ${claimText}), 0)::float8 AS claims,
      coalesce(sum(total_exec_time) FILTER (WHERE query LIKE ${claimText}), 0)::float8
        AS "claimMillis"
    FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'
      AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())`
  return rows[0]!
})

/** A server that has nothing to do: what it takes all the same. */
const idle = Effect.fnUntraced(function* (url: string) {
  const server = new ServerProcess(["serve", "--port", "0"], { DATABASE_URL: url })
  return yield* Effect.gen(function* () {
    yield* Effect.promise(() => server.waitFor(/listens on http:/))
    yield* Effect.sleep(settleMillis)
    const before = yield* totals
    const ticks = ticksOf(server.pid)
    const begun = performance.now()
    yield* Effect.sleep(idleMillis)
    const seconds = (performance.now() - begun) / 1_000
    const after = yield* totals
    return {
      megabytes: residentOf(server.pid),
      statements: (after.calls - before.calls) / seconds,
      claimMillis: (after.claimMillis - before.claimMillis) / (after.claims - before.claims),
      cpuShare: (ticksOf(server.pid) - ticks) / 100 / seconds,
    }
  }).pipe(Effect.ensuring(Effect.promise(() => server.end("SIGKILL"))))
})

/** How long it takes to claim what has become due, in milliseconds, while nobody else looks. */
const claimDue = Effect.gen(function* () {
  const sql = yield* SqlClient
  const store = yield* RunStore
  const runner = RunnerId.make("bench")
  const times: Array<number> = []
  for (let round = -plannedRounds; round < claimRounds; round++) {
    yield* sql`
      WITH due AS (
        UPDATE open_runs SET due_at = 1 WHERE run IN (
          SELECT run FROM open_runs WHERE owner IS NULL ORDER BY due_at, run LIMIT ${dueAtOnce}
        ) RETURNING run
      )
      UPDATE runs SET due_at = 1 WHERE number IN (SELECT run FROM due)`
    const begun = performance.now()
    const claimed = yield* store.claim({ runner, leaseMillis: 3_600_000, limit: 100, except: [] })
    if (round >= 0) times.push(performance.now() - begun)
    if (claimed.length !== dueAtOnce) return yield* Effect.die(new Error(`${claimed.length} due`))
    // They go back to the end of the line.
    yield* sql`UPDATE open_runs SET owner = NULL, due_at = 9000000000000 WHERE owner = 'bench'`
    yield* sql`UPDATE runs SET owner = NULL, due_at = 9000000000000 WHERE owner = 'bench'`
  }
  return median(times)
})

/** Databases of one server, with so many runs that wait in each. */
const prepare = Effect.fnUntraced(function* (server: Redacted.Redacted) {
  const databases: Array<{ readonly count: number; readonly url: string }> = []
  for (const count of counts) {
    const url = Redacted.value(server).replace(/\/postgres$/, `/waiting_${count}`)
    const create = SqlClient.use((sql) => sql.unsafe(`CREATE DATABASE waiting_${count}`))
    yield* Effect.provide(create, Postgres.layer({ url: server, maxConnections: 1 }))
    const fill = Effect.gen(function* () {
      yield* parkOne
      yield* multiply(count)
      yield* SqlClient.use((sql) => sql`CREATE EXTENSION pg_stat_statements`)
    })
    yield* Effect.provide(fill, services(Redacted.make(url)))
    databases.push({ count, url })
    process.stderr.write(`${count} runs wait\n`)
  }
  return databases
})

/** Runs everything and prints a table. */
export const measure = (rounds: number) =>
  Effect.gen(function* () {
    const databases = yield* prepare(yield* TestPostgres.ownServer("durable", counting))
    const samples = databases.map((database) => ({ ...database, figures: [] as Array<Figures> }))
    for (let round = 0; round < rounds; round++) {
      for (const { figures, url } of samples) {
        const figure = Effect.gen(function* () {
          const server = yield* idle(url)
          return { ...server, claimDueMillis: yield* claimDue }
        })
        figures.push(yield* Effect.provide(figure, services(Redacted.make(url))))
      }
      process.stderr.write(`round ${round + 1} of ${rounds}\n`)
    }
    const rows = samples.map(({ count, figures }) => {
      const of = (key: keyof Figures) => median(figures.map((figure) => figure[key]))
      return {
        "waiting runs": count,
        "server MB": Math.round(of("megabytes")),
        "statements/s": Number(of("statements").toFixed(2)),
        "CPU %": Number((of("cpuShare") * 100).toFixed(1)),
        "idle claim ms": Number(of("claimMillis").toFixed(3)),
        [`claim of ${dueAtOnce} due ms`]: Number(of("claimDueMillis").toFixed(1)),
      }
    })
    console.table(rows)
    return rows
  }).pipe(Effect.scoped, Effect.runPromise)

interface Figures {
  readonly megabytes: number
  readonly statements: number
  readonly claimMillis: number
  readonly cpuShare: number
  readonly claimDueMillis: number
}
