/**
 * The thread that keeps the leases of a process's runners while the event loop is blocked, over a
 * connection of its own. Loaded by `LeaseKeeper` as a worker; nobody imports it.
 *
 * It tells of a block on standard error while it lasts, since the log needs the event loop. When
 * the block has lasted too long it lets the leases go, so that others take the runs over, and ends
 * the process where it was told to.
 *
 * Guarantees: a lease that was let go does not come back: no renewal is on its way then, and later
 * ones renew only rows that are there; a thread that stops leaves nothing open. Leaves out: what a
 * runner still owns; the event loop asks that, and begins its leases.
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

/** What the thread is given. */
export interface LeaseThreadData {
  readonly board: SharedArrayBuffer
  readonly url: string
  readonly prepare: boolean | undefined
  /** How long a block may last before leases are let go. */
  readonly blockedMillis: number
  /** Whether the process ends then. */
  readonly endsProcess: boolean
}

/** What the thread is told. */
export type LeaseOrder =
  | { readonly _tag: "Keep"; readonly runner: RunnerId; readonly leaseMillis: number }
  | { readonly _tag: "Forget"; readonly runner: RunnerId }
  | { readonly _tag: "Stop" }

/** How often the thread looks. */
const tickMillis = 250

/** A block that lasts as long is told. */
const tellMillis = 1_000

/** How long the thread waits for the database before it ends the process. */
const releaseMillis = 2_000

const say = (sentence: string): void => {
  try {
    writeSync(2, `${sentence}\n`)
  } catch {
    // Nobody listens on standard error.
  }
}

const monotonicMillis = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / 1_000_000)

/** A lease, and when it is to be renewed. */
interface Kept {
  readonly leaseMillis: number
  renewAt: number
}

const expiry = `UPDATE runners SET lease_until = ${nowMillis} WHERE id = $1`

/**
 * Lets leases go. Where it is known which run is to blame, that is recorded; else each lease just
 * runs out, so that runs with nodes in progress are suspects, as after a death.
 */
const letGo = (sql: SqlClient, runners: Iterable<RunnerId>, known: Blocked | undefined) =>
  Effect.forEach(
    runners,
    (runner) =>
      known === undefined
        ? Effect.asVoid(sql.unsafe(expiry, [Rows.text(runner)]))
        : RunClaims.endLease(sql, runner, known),
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

/** Listens to orders until told to stop. */
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
