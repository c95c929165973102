/**
 * The process as an executor of runs: it owns runs under a lease, executes each in a fiber of its
 * own, takes over what others left behind, and lets go of what it lost.
 *
 * Guarantees: safety does not depend on any of this; every write is fenced by the store. The lease
 * only decides who tries. On shutdown nothing new is started, nodes in progress may finish within a
 * grace time, what is left is interrupted, and the lease ends at once, so that another runner, or
 * this one after a restart, can continue.
 */
import { Clock, Context, Duration, Effect, Fiber, FiberMap, Layer, Option } from "effect"
import type { RunId } from "../domain/Id.ts"
import { RunnerId } from "../domain/Id.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { RunRecord } from "../domain/Run.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { execute } from "./Execution.ts"
import type { Graphs } from "./Graphs.ts"
import { Ids } from "./Ids.ts"
import type { NodeTypes } from "./NodeTypes.ts"

/** How a runner keeps and looks for work. */
export interface RunnerOptions {
  /** How long a runner's ownership outlives its last sign of life. */
  readonly leaseMillis: number
  /** How often it looks for runs that nobody executes. */
  readonly pollMillis: number
  /** How many runs one look takes at most. */
  readonly claimLimit: number
  /** How long nodes in progress may go on after the runner was told to stop. */
  readonly graceMillis: number
  /** A process whose timers fire later than this has too much to do to take more. */
  readonly lagMillis: number
}

/** The options in force; override with `Layer.succeed` or `Effect.provideService`. */
export const CurrentRunnerOptions = Context.Reference<RunnerOptions>(
  "@millrace/core/engine/RunnerOptions",
  {
    defaultValue: () => ({
      leaseMillis: 30_000,
      pollMillis: 500,
      claimLimit: 100,
      graceMillis: 10_000,
      lagMillis: 250,
    }),
  },
)

export class Runner extends Context.Service<
  Runner,
  {
    readonly id: RunnerId
    /** False when this process executes as many runs as it may, or is about to stop. */
    readonly hasRoom: () => boolean
    /** Executes a run that this runner owns. */
    readonly launch: (record: RunRecord) => Effect.Effect<void>
    /** Interrupts the execution of a run, if it is here. */
    readonly stop: (id: RunId) => Effect.Effect<void>
    /** Waits until the execution of a run that is here has ended; none when it is not here. */
    readonly ended: (id: RunId) => Option.Option<Effect.Effect<void>>
  }
>()("@millrace/core/engine/Runner") {
  /** Starts with a heartbeat and a claim, and keeps both up until its scope closes. */
  static readonly layer: Layer.Layer<Runner, StorageError, RunStore | NodeTypes | Graphs | Ids> =
    Layer.effect(
      Runner,
      Effect.suspend(() => make),
    )
}

const make = Effect.gen(function* () {
  const store = yield* RunStore
  const ids = yield* Ids
  const options = yield* CurrentRunnerOptions
  const { runsAtOnce } = yield* CurrentLimits
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<RunStore | NodeTypes | Graphs>()
  const id = RunnerId.make(yield* ids.make("execution"))
  const fences = new Map<RunId, number>()

  yield* store.heartbeat(id, options.leaseMillis)
  yield* Effect.addFinalizer(() => Effect.ignore(store.release(id)))
  const fibers = yield* FiberMap.make<RunId, void>()
  let draining = false
  yield* Effect.addFinalizer(() => {
    draining = true
    return Effect.ignore(Effect.timeout(FiberMap.awaitEmpty(fibers), options.graceMillis))
  })

  const launch = (record: RunRecord) => {
    const { fence, id: runId } = record.run
    const execution = execute(record, () => draining).pipe(
      Effect.provideContext(context),
      Effect.catchTag("StaleRun", () => Effect.logDebug("lost a run to somebody else", runId)),
      Effect.catchCause((cause) => Effect.logError("an execution broke off", runId, cause)),
      Effect.ensuring(
        Effect.sync(() => {
          if (fences.get(runId) === fence) fences.delete(runId)
        }),
      ),
    )
    return Effect.suspend(() => {
      fences.set(runId, fence)
      return Effect.asVoid(FiberMap.run(fibers, runId, execution))
    })
  }

  const hasRoom = () => !draining && fences.size < runsAtOnce

  const claim = Effect.gen(function* () {
    let more = true
    while (more && hasRoom()) {
      const limit = Math.min(options.claimLimit, runsAtOnce - fences.size)
      const { leaseMillis } = options
      const claimed = yield* store.claim({ runner: id, leaseMillis, limit })
      yield* Effect.forEach(claimed, launch, { discard: true })
      more = claimed.length === limit
    }
  })

  /** Lets go of runs that the store says are not ours any more. */
  const letGo = (owned: ReadonlyMap<RunId, number>, before: ReadonlyMap<RunId, number>) =>
    Effect.forEach(
      [...before].filter(([runId, fence]) => {
        const still = fences.get(runId) === fence
        return still && owned.get(runId) !== fence
      }),
      ([runId]) => FiberMap.remove(fibers, runId),
      { discard: true },
    )

  let confirmedAt = clock.currentTimeMillisUnsafe()
  const beat = Effect.gen(function* () {
    // Runs that were launched while the store answered are not in its answer.
    const before = new Map(fences)
    const at = clock.currentTimeMillisUnsafe()
    const owned = yield* store.heartbeat(id, options.leaseMillis)
    confirmedAt = at
    yield* letGo(owned, before)
  }).pipe(
    Effect.catchTag("StorageError", (error) =>
      clock.currentTimeMillisUnsafe() - confirmedAt < (options.leaseMillis * 2) / 3
        ? Effect.logWarning("no heartbeat", error)
        : Effect.andThen(
            Effect.logError("no heartbeat for two thirds of the lease: stopping all runs", error),
            FiberMap.clear(fibers),
          ),
    ),
  )

  let expectedAt = clock.currentTimeMillisUnsafe()
  const poll = Effect.suspend(() => {
    const lag = clock.currentTimeMillisUnsafe() - expectedAt
    return lag > options.lagMillis ? Effect.void : claim
  }).pipe(
    Effect.catchTag("StorageError", (error) => Effect.logWarning("could not look for runs", error)),
    Effect.tap(() =>
      Effect.sync(() => {
        expectedAt = clock.currentTimeMillisUnsafe() + options.pollMillis
      }),
    ),
  )
  const every = (millis: number, effect: Effect.Effect<void>) =>
    Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))
  yield* every(options.leaseMillis / 4, beat)
  yield* every(options.pollMillis, poll)

  return Runner.of({
    id,
    hasRoom,
    launch,
    stop: (runId) => FiberMap.remove(fibers, runId),
    ended: (runId) =>
      Option.map(FiberMap.getUnsafe(fibers, runId), (fiber) => Effect.asVoid(Fiber.await(fiber))),
  })
})
