// What a piece of work cost: time, processor time of this process and of Postgres, and what
// Postgres wrote to its log. Its processor time comes from /proc, where there is one.
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { readFileSync } from "node:fs"

/** One measurement, per node where that makes sense. */
export interface Figure {
  readonly perSecond: number
  readonly walBytesPerNode?: number
  readonly transactionsPerNode?: number
  /** CPU seconds per 1,000 nodes: this process. */
  readonly cpu: number
  /** CPU seconds per 1,000 nodes: Postgres. */
  readonly postgresCpu?: number
}

interface Reading {
  readonly wal: number
  readonly transactions: number
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
  readonly transactions: number
  readonly pids: ReadonlyArray<number>
}

const read = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_stat_clear_snapshot()`
  const rows = yield* sql<Row>`
    SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS wal,
      (SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database())
        AS transactions,
      (SELECT array_agg(pid) FROM pg_stat_activity) AS pids`
  const { pids, transactions, wal } = rows[0]!
  const ticks = pids.reduce((sum, pid) => sum + ticksOf(pid), 0)
  return { wal, transactions, ticks } satisfies Reading
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

/** Measures work on Postgres. Backends report what they did when they are idle for a second. */
export const onPostgres = Effect.fnUntraced(function* <E, R>(
  units: number,
  nodes: number,
  work: Effect.Effect<unknown, E, R>,
) {
  const before = yield* read
  const time = yield* timed(units, nodes, work)
  yield* Effect.sleep("1100 millis")
  const after = yield* read
  return {
    ...time,
    walBytesPerNode: (after.wal - before.wal) / nodes,
    transactionsPerNode: (after.transactions - before.transactions) / nodes,
    // A tick is ten milliseconds.
    postgresCpu: ((after.ticks - before.ticks) * 10) / nodes,
  } satisfies Figure
})
