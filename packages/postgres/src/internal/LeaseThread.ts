/**
 * The thread that keeps the leases of a process's runners while the event loop is blocked. It has
 * its own connection. `LeaseKeeper` loads it as a worker; no module imports it.
 *
 * The event loop says whenever it has renewed a lease. The thread renews a lease itself when it has
 * not heard that for a third of the lease, so it sends nothing while the event loop does its work.
 *
 * The thread reports a block on standard error while the block lasts, because the log needs the
 * event loop. After `blockedMillis` it ends the leases, so other processes take over the runs. Then
 * it ends the process if the settings say so.
 *
 * Guarantees: a lease that the thread has ended does not come back, because the statement renews
 * only what has not expired. A thread that stops closes its connection. Leaves out: starting
 * leases, and which runs a runner owns; the event loop does both. It uses no Effect, which would
 * cost more memory than all the rest of the thread.
 */
import { inSeconds } from "@millrace/core/domain/CalledNode"
import type { RunnerId } from "@millrace/core/domain/Id"
import { writeSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { BlockMeter } from "./BlockMeter.ts"
import * as HandlerBoard from "./HandlerBoard.ts"
import { LeaseConnection, type Statement } from "./LeaseConnection.ts"
import type { LeaseStatements } from "./RunClaims.ts"

/** The settings of the thread. */
export interface LeaseThreadData {
  readonly board: SharedArrayBuffer
  readonly url: string
  /** How many milliseconds a block may last before the leases end. */
  readonly blockedMillis: number
  /** True if the process ends then. */
  readonly endsProcess: boolean
  readonly statements: LeaseStatements
  /** How many handlers a message names. */
  readonly namesShown: number
}

/** What the event loop tells the thread. */
export type LeaseOrder =
  /** A lease was renewed a moment ago. */
  | { readonly _tag: "Renewed"; readonly runner: RunnerId; readonly leaseMillis: number }
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

/** A lease, and when to renew it. */
interface Kept {
  readonly leaseMillis: number
  renewAt: number
}

const data = workerData as LeaseThreadData
const { blockedMillis, board, endsProcess, namesShown, statements, url } = data
const connection = new LeaseConnection(url)
const kept = new Map<RunnerId, Kept>()
const meter = new BlockMeter(HandlerBoard.beatsOf(board), performance.now())
let isTold = false
let hasLetGo = false
let isRenewing = false

/** Renews what is due, one lease after the other. What fails is tried again a moment later. */
const renew = async (now: number): Promise<void> => {
  isRenewing = true
  for (const [runner, lease] of kept) {
    if (now < lease.renewAt || hasLetGo) continue
    const millis = lease.leaseMillis / 4
    try {
      await connection.send(Math.max(500, millis), [statements.keep, runner, lease.leaseMillis])
      lease.renewAt = now + millis
    } catch {
      lease.renewAt = now + tickMillis
    }
  }
  isRenewing = false
}

/**
 * Ends leases. If the run that blocks the loop is known, it gets a loss. Otherwise the leases
 * expire, and every run with a node in progress becomes a suspect, as after a death.
 */
const letGo = (blocked: number, run: string | undefined): Promise<void> => {
  const { block, end, expire, keptMillis } = statements
  const millis = Math.round(blocked)
  const all = [...kept.keys()].flatMap((runner): ReadonlyArray<Statement> =>
    run === undefined
      ? [[expire, runner]]
      : [
          ["BEGIN"],
          [block, runner, run, millis],
          [end, runner, keptMillis, run, millis],
          ["COMMIT"],
        ],
  )
  connection.close()
  return connection.send(releaseMillis, ...all)
}

const overdue = async (blocked: number): Promise<void> => {
  const { clause, run } = HandlerBoard.explain(board, namesShown)
  say(
    `The event loop has been blocked for ${inSeconds(blocked)}: ${clause}. ` +
      `That is longer than blockedMillis allows (${inSeconds(blockedMillis)}): ` +
      (endsProcess
        ? "this server ends itself, and others take its runs over"
        : "others can take the runs of this process over"),
  )
  await letGo(blocked, run).catch(() => undefined)
  if (endsProcess) process.kill(process.pid, "SIGKILL")
}

const look = (): void => {
  const now = performance.now()
  const blocked = meter.look(HandlerBoard.beatsOf(board), now)
  if (blocked === 0) {
    isTold = false
    hasLetGo = false
  }
  if (blocked >= tellMillis && !isTold) {
    isTold = true
    const { clause } = HandlerBoard.explain(board, namesShown)
    say(`The event loop has been blocked for ${inSeconds(blocked)} so far: ${clause}`)
  }
  if (blocked >= blockedMillis && !hasLetGo) {
    hasLetGo = true
    void overdue(blocked)
  }
  if (!hasLetGo && !isRenewing) void renew(now)
}

const timer = setInterval(look, tickMillis)

parentPort?.on("message", (order: LeaseOrder) => {
  if (order._tag === "Stop") {
    clearInterval(timer)
    connection.close()
    parentPort?.close()
  } else if (order._tag === "Forget") {
    kept.delete(order.runner)
  } else {
    const { leaseMillis, runner } = order
    kept.set(runner, { leaseMillis, renewAt: performance.now() + leaseMillis / 3 })
  }
})
