// What a piece of work cost: time, processor time of this process and of Postgres, and what
// Postgres wrote to its log. Its processor time comes from /proc, where there is one.
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { readFileSync } from "node:fs"

/** One measurement, per node where that makes sense. */
export interface Figure {
  readonly perSecond: number
  readonly walBytesPerNode?: number
  /** Statements, each of which is a transaction or a part of one. */
  readonly statementsPerNode?: number
  /** CPU seconds per 1,000 nodes: this process. */
  readonly cpu: number
  /** CPU seconds per 1,000 nodes: Postgres. */
  readonly postgresCpu?: number
}

/**
 * Lets a server count its statements, which it knows at once; it counts transactions, too, but
 * tells of them seconds later.
 */
export const counting = "-c shared_preload_libraries=pg_stat_statements"

/** Begins to count; once for each database. */
export const layerCounting = Layer.effectDiscard(
  SqlClient.use((sql) => sql`CREATE EXTENSION pg_stat_statements`),
)

interface Reading {
  readonly wal: number
  readonly statements: number
  readonly ticks: number
}

/** Processor time of a process in hundredths of a second; none where there is no /proc. */
export const ticksOf = (pid: number): number => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}

interface Row {
  readonly wal: number
  readonly statements: number
  readonly pids: ReadonlyArray<number>
}

const read = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<Row>`
    SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS wal,
      (SELECT sum(calls)::float8 FROM pg_stat_statements) AS statements,
      (SELECT array_agg(pid) FROM pg_stat_activity) AS pids`
  const { pids, statements, wal } = rows[0]!
  const ticks = pids.reduce((sum, pid) => sum + ticksOf(pid), 0)
  return { wal, statements, ticks } satisfies Reading
})

/** Time and processor time of `work`, which executes so many nodes. */
const timed = Effect.fnUntraced(function* <E, R>(
  units: number,
  nodes: number,
  work: Effect.Effect<unknown, E, R>,
) {
  const cpu = process.cpuUsage()
  const begin = performance.now()
  yield* work
  const seconds = (performance.now() - begin) / 1_000
  const { system, user } = process.cpuUsage(cpu)
  return { perSecond: units / seconds, cpu: (user + system) / 1_000 / nodes }
})

/** Measures work that has no database. `units` are what is counted per second. */
export const inMemory = timed

/** Measures work on Postgres, where {@link counting} is in force. */
export const onPostgres = Effect.fnUntraced(function* <E, R>(
  units: number,
  nodes: number,
  work: Effect.Effect<unknown, E, R>,
) {
  const before = yield* read
  const time = yield* timed(units, nodes, work)
  const after = yield* read
  return {
    ...time,
    walBytesPerNode: (after.wal - before.wal) / nodes,
    statementsPerNode: (after.statements - before.statements) / nodes,
    // A tick is ten milliseconds.
    postgresCpu: ((after.ticks - before.ticks) * 10) / nodes,
  } satisfies Figure
})
