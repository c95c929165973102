/**
 * The thread that keeps the leases of a process's runners while the event loop is blocked. It has
 * its own connection. `LeaseKeeper` loads it as a worker; no module imports it.
 *
 * The thread reports a block on standard error while the block lasts, because the log needs the
 * event loop. After `blockedMillis` it ends the leases, so other processes take over the runs. Then
 * it ends the process if the settings say so.
 *
 * Guarantees: a lease that the thread has ended does not come back. The thread waits for renewals
 * in progress first, and later renewals only change rows that exist. A thread that stops closes its
 * connection. Leaves out: starting leases, and which runs a runner owns; the event loop does both.
 */
import { inSeconds } from "@millrace/core/domain/CalledNode"
import type { RunnerId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import { Clock, Context, Effect, Exit, Layer, Redacted, Schedule, Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { writeSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { BlockMeter } from "./BlockMeter.ts"
import { nowMillis } from "./ClaimStatement.ts"
import * as HandlerBoard from "./HandlerBoard.ts"
import * as Postgres from "../Postgres.ts"
import { Renewals, within } from "./Renewals.ts"
import * as Rows from "./Rows.ts"
import * as RunClaims from "./RunClaims.ts"

/** The settings of the thread. */
export interface LeaseThreadData {
  readonly board: SharedArrayBuffer
  readonly url: string
  readonly prepare: boolean | undefined
  /** How many milliseconds a block may last before the leases end. */
  readonly blockedMillis: number
  /** True if the process ends then. */
  readonly endsProcess: boolean
}

/** What the event loop tells the thread. */
export type LeaseOrder =
  | { readonly _tag: "Keep"; readonly runner: RunnerId; readonly leaseMillis: number }
  | { readonly _tag: "Forget"; readonly runner: RunnerId }
  | { readonly _tag: "Stop" }

/** How often the thread looks at the board. */
const tickMillis = 250

/** A block that lasts this long is reported. */
const tellMillis = 1_000

/** How long the thread waits for the database before it ends the process. */
const releaseMillis = 2_000

const say = (sentence: string): void => {
  try {
    writeSync(2, `${sentence}\n`)
  } catch {
    // Standard error is closed.
  }
}

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1_000_000)

/** A lease, and when to renew it. */
interface Kept {
  readonly leaseMillis: number
  renewAt: number
}

const expiry = `UPDATE runners SET lease_until = ${nowMillis} WHERE id = $1`

/**
 * Ends leases. If the run that blocks the loop is known, it gets a loss. Otherwise the leases
 * expire, and every run with a node in progress becomes a suspect, as after a death.
 */
const letGo = (sql: SqlClient, runners: Iterable<RunnerId>, known: Blocked | undefined) =>
  Effect.forEach(
    runners,
    (runner) =>
      known === undefined
        ? Effect.asVoid(sql.unsafe(expiry, [Rows.text(runner)]))
        : RunClaims.make(sql).endLease(runner, known),
    { discard: true },
  )

const watching = (
  data: LeaseThreadData,
  kept: Map<RunnerId, Kept>,
  sqlOf: () => SqlClient | undefined,
) =>
  Effect.gen(function* () {
    const { blockedMillis, board, endsProcess } = data
    const renewals = new Renewals()
    const meter = new BlockMeter(HandlerBoard.beatsOf(board), yield* monotonicMillis)
    let isTold = false
    let hasLetGo = false

    const keepAll = (now: number) =>
      Effect.forEach(
        kept,
        ([runner, lease]) => {
          const sql = sqlOf()
          if (sql === undefined || now < lease.renewAt) return Effect.void
          lease.renewAt = now + lease.leaseMillis / 4
          const millis = Math.max(500, lease.leaseMillis / 4)
          return renewals.begin(millis, RunClaims.keep(sql, runner, lease.leaseMillis))
        },
        { discard: true },
      )

    const overdue = (blocked: number) =>
      Effect.gen(function* () {
        hasLetGo = true
        const { clause, run } = HandlerBoard.explain(board)
        say(
          `The event loop has been blocked for ${inSeconds(blocked)}: ${clause}. ` +
            `That is longer than blockedMillis allows (${inSeconds(blockedMillis)}): ` +
            (endsProcess
              ? "this server ends itself, and others take its runs over"
              : "others can take the runs of this process over"),
        )
        yield* renewals.over(releaseMillis)
        const sql = sqlOf()
        const known = run === undefined ? undefined : { run, millis: blocked }
        if (sql !== undefined) yield* within(releaseMillis, letGo(sql, kept.keys(), known))
        if (endsProcess) process.kill(process.pid, "SIGKILL")
      })

    const look = Effect.gen(function* () {
      const now = yield* monotonicMillis
      const blocked = meter.look(HandlerBoard.beatsOf(board), now)
      if (blocked === 0) {
        isTold = false
        hasLetGo = false
      }
      if (blocked >= tellMillis && !isTold) {
        isTold = true
        const { clause } = HandlerBoard.explain(board)
        say(`The event loop has been blocked for ${inSeconds(blocked)} so far: ${clause}`)
      }
      if (blocked >= blockedMillis && !hasLetGo) yield* overdue(blocked)
      if (!hasLetGo) yield* keepAll(now)
    })
    return yield* Effect.forever(Effect.andThen(look, Effect.sleep(tickMillis)))
  })

/** Follows orders until the order to stop. */
const obey = (kept: Map<RunnerId, Kept>) =>
  Effect.callback<void>((resume) => {
    parentPort?.on("message", (order: LeaseOrder) => {
      if (order._tag === "Stop") return resume(Effect.void)
      if (order._tag === "Forget") return kept.delete(order.runner)
      return kept.set(order.runner, { leaseMillis: order.leaseMillis, renewAt: 0 })
    })
  })

const main = Effect.gen(function* () {
  const data = workerData as LeaseThreadData
  const { prepare, url } = data
  const kept = new Map<RunnerId, Kept>()
  const scope = yield* Scope.make()
  let sql: SqlClient | undefined
  const options = { url: Redacted.make(url), prepare, maxConnections: 2 }
  const connect = Layer.buildWithScope(Postgres.layer(options), scope).pipe(
    Effect.retry(Schedule.spaced(1_000)),
    Effect.map((context) => {
      sql = Context.get(context, SqlClient)
    }),
  )
  yield* Effect.forkChild(connect)
  yield* Effect.raceFirst(
    obey(kept),
    watching(data, kept, () => sql),
  )
  yield* Effect.timeout(Scope.close(scope, Exit.void), releaseMillis).pipe(Effect.ignore)
})

await Effect.runPromise(main)
parentPort?.close()
