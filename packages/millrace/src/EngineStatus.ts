/**
 * How an engine is doing, and how it is told to finish.
 */
import type { Duration } from "@millrace/api/Duration"
import { millisOf } from "@millrace/api/Duration"
import { invalid } from "@millrace/api/MillraceError"
import { unknownFields } from "@millrace/core/domain/Nearest"
import type { Keys } from "@millrace/core/engine/Keys"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { Runner } from "@millrace/core/engine/Runner"
import { monotonicMillis, problemOfClock, StoreClock } from "@millrace/core/engine/StoreClock"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { reachStore } from "@millrace/http/Health"
import { CurrentDispatcher } from "@millrace/webhooks/Dispatcher"
import { Clock, Effect, Result } from "effect"

/** How an engine is doing. */
export interface EngineStatus {
  /** True if the engine can work: its store answers, and it is not draining. */
  readonly isReady: boolean
  /** True from `drain` on. */
  readonly isDraining: boolean
  /** How many runs it executes now. Queued runs, and those that only wait, do not count. */
  readonly runsInProgress: number
  /** How many webhooks it sends now: attempts that no receiver has answered yet. */
  readonly deliveriesInProgress: number
  /** By how much the last timer of this process was late, in milliseconds. */
  readonly lagMillis: number
  /** The store, asked now. */
  readonly store: {
    /** `memory`, `sqlite` or `postgres`; PGlite is a `postgres`, too. */
    readonly name: string
    /** How long it took to answer; `null` if it did not within a second. */
    readonly millis: number | null
  }
  /** A sentence for each thing that somebody has to look after. */
  readonly warnings: ReadonlyArray<string>
}

/** How long to wait for what is in progress. */
export interface DrainOptions {
  /** The engine's `grace` by default. */
  readonly within?: Duration
}

/** How an engine is doing now. The store is asked. */
export const status = Effect.gen(function* (): Effect.fn.Return<
  EngineStatus,
  never,
  Keys | Runner | StoreClock | StoreManifest | WorkflowStore
> {
  const clock = yield* Clock.Clock
  const { name } = yield* StoreManifest
  const { aheadMillis } = yield* StoreClock
  const before = monotonicMillis(clock)
  const reached = yield* Effect.result(reachStore)
  const millis = Result.isSuccess(reached) ? monotonicMillis(clock) - before : null
  const { isDraining, lagMillis, runsInProgress } = (yield* Runner).status()
  const problem = problemOfClock(aheadMillis())
  return {
    isReady: millis !== null && !isDraining,
    isDraining,
    runsInProgress,
    deliveriesInProgress: (yield* CurrentDispatcher).sending(),
    lagMillis,
    store: { name, millis },
    warnings: [
      ...(Result.isFailure(reached)
        ? [`The store does not answer: ${reached.failure.message}`]
        : []),
      ...(problem === undefined ? [] : [problem]),
    ],
  }
})

/** Lets an engine finish, and says how far it came. */
export const drain = Effect.fnUntraced(function* (options: DrainOptions) {
  const clauses = unknownFields(Object.keys(options), ["within"])
  if (clauses.length > 0) throw invalid(`options: ${clauses.join("; ")}`)
  const { graceMillis } = yield* CurrentRunnerOptions
  const { within } = options
  const clock = yield* Clock.Clock
  const millis = within === undefined ? graceMillis : millisOf(within, "within")
  const before = monotonicMillis(clock)
  yield* (yield* Runner).drain(millis)
  // After the runs, so that the events of those that have ended are sent, too.
  const left = Math.max(0, millis - (monotonicMillis(clock) - before))
  yield* (yield* CurrentDispatcher).drain(left)
  return yield* status
})
