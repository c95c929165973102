/**
 * Keeps leases while the event loop is blocked. A thread with its own connection renews them until
 * the block has lasted too long. While the event loop renews them, the thread does nothing.
 *
 * Guarantees: the event loop still asks which runs it owns, and stops those that another process
 * has taken over. The thread does not keep the process alive. If the thread ends, it is started
 * again. Leaves out: PGlite, whose database is blocked with its process.
 */
import type { RunnerId } from "@millrace/core/domain/Id"
import { namesShown } from "@millrace/core/domain/Limits"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { Watchdog } from "@millrace/core/ports/Watchdog"
import type { Scope } from "effect"
import { Effect, Redacted } from "effect"
import { Worker } from "node:worker_threads"
import * as HandlerBoard from "./HandlerBoard.ts"
import type { LeaseOrder, LeaseThreadData } from "./LeaseThread.ts"
import { leaseStatements as statements } from "./RunClaims.ts"
import type { ConnectionOptions } from "../Postgres.ts"

/** The settings of a keeper. */
export interface KeeperOptions {
  readonly connection: Extract<ConnectionOptions, { readonly url: unknown }>
  /** How many milliseconds the event loop may be blocked before its leases end. */
  readonly blockedMillis: number
  /** True if the process ends then. */
  readonly endsProcess: boolean
}

/** The methods that renew or end a lease. */
type Renewing = Pick<RunStore["Service"], "heartbeat" | "claim" | "endLease">

/** What a runner does through its keeper. */
export interface LeaseKeeper extends Renewing {
  /** Records handlers, so a message about a block can name them. */
  readonly watchdog: Watchdog
}

/** How often the event loop records that it runs. */
const beatMillis = 250

/** How long a thread may take to stop. */
const stopMillis = 3_000

/** How long a keeper waits before it starts the thread again. */
const againMillis = 5_000

const isSource = import.meta.url.endsWith(".ts")

const entry = new URL(isSource ? "./LeaseThread.ts" : "./LeaseThread.js", import.meta.url)

/** Not those of the process: a thread does not start with some, such as `--input-type`. */
const execArgv = isSource ? ["--conditions=@millrace/source"] : []

/** Enough for the thread. Without limits it would use a quarter more memory. */
const resourceLimits = { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 96 }

const start = (data: LeaseThreadData): Worker => {
  const worker = new Worker(entry, {
    execArgv,
    resourceLimits,
    workerData: data,
    name: "millrace-lease",
  })
  worker.unref()
  return worker
}

/** Keeps leases until its scope closes. */
export const make = Effect.fnUntraced(function* (
  { blockedMillis, connection, endsProcess }: KeeperOptions,
  store: Renewing,
): Effect.fn.Return<LeaseKeeper, never, Scope.Scope> {
  const board = HandlerBoard.make()
  const kept = new Map<RunnerId, number>()
  const url = Redacted.value(connection.url)
  const data = { board, url, blockedMillis, endsProcess, statements, namesShown }
  let worker: Worker | undefined
  const tell = (order: LeaseOrder) => worker?.postMessage(order, [])

  const thread = Effect.callback<string>((resume) => {
    const started = start(data)
    worker = started
    for (const [runner, leaseMillis] of kept) tell({ _tag: "Renewed", runner, leaseMillis })
    started.once("error", (error) => resume(Effect.succeed(String(error))))
    started.once("exit", (code) => resume(Effect.succeed(`it ended with ${code}`)))
    const stopped = Effect.callback<void>((done) => {
      started.removeAllListeners()
      // An error no longer matters. Without a listener, it would be thrown.
      started.on("error", () => undefined)
      started.once("exit", () => done(Effect.void))
      tell({ _tag: "Stop" })
    })
    const end = Effect.promise(() => started.terminate())
    return Effect.asVoid(Effect.timeoutOrElse(stopped, { duration: stopMillis, orElse: () => end }))
  })
  const again = Effect.flatMap(thread, (reason) =>
    Effect.logWarning(`the thread that keeps the lease has ended and is started again: ${reason}`),
  )
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(again, Effect.sleep(againMillis))))
  const beat = Effect.sync(() => HandlerBoard.beat(board))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(beat, Effect.sleep(beatMillis))))

  const renewed = (runner: RunnerId, leaseMillis: number) =>
    Effect.sync(() => {
      kept.set(runner, leaseMillis)
      tell({ _tag: "Renewed", runner, leaseMillis })
    })

  return {
    watchdog: HandlerBoard.writer(board),
    heartbeat: (runner, leaseMillis, blocked) =>
      Effect.tap(store.heartbeat(runner, leaseMillis, blocked), renewed(runner, leaseMillis)),
    claim: (request) =>
      Effect.tap(store.claim(request), renewed(request.runner, request.leaseMillis)),
    endLease: (runner, blocked) =>
      Effect.suspend(() => {
        kept.delete(runner)
        tell({ _tag: "Forget", runner })
        return store.endLease(runner, blocked)
      }),
  }
})
