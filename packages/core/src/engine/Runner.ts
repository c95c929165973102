/**
 * The process as an executor of runs: it owns runs under a lease, executes each in a fiber of its
 * own, takes over what others left behind, and lets go of what it lost.
 *
 * Guarantees: safety does not depend on any of this; every write is fenced by the store. The lease
 * only decides who tries. On shutdown nothing new is started, nodes in progress may finish within a
 * grace time, what is left is interrupted, and the lease ends at once, so that another runner, or
 * this one after a restart, can continue.
 */
import { Clock, Context, Duration, Effect, FiberMap, Layer, Queue } from "effect"
import type { Option } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import { RunnerId } from "../domain/Id.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { Run } from "../domain/Run.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { CurrentWatchdog } from "../ports/Watchdog.ts"
import { CurrentWakeups } from "../ports/Wakeups.ts"
import { Caps } from "./internal/Caps.ts"
import { claiming } from "./internal/Claiming.ts"
import type { RunResult, Prepared } from "./internal/RunExecution.ts"
import type { Requirements } from "./internal/RunSupervisor.ts"
import { RunSupervisor, lost as tellLost } from "./internal/RunSupervisor.ts"
import type { GraphCache } from "./GraphCache.ts"
import { Handlers } from "./internal/Handlers.ts"
import { Ids } from "./Ids.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { RunnerOptions } from "./RunnerOptions.ts"
import { CurrentRunnerOptions } from "./RunnerOptions.ts"
import { monotonicMillis } from "./StoreClock.ts"
import { Slots } from "./internal/Slots.ts"
import type { ChargedSoFar } from "./internal/Step.ts"

export class Runner extends Context.Service<
  Runner,
  {
    readonly id: RunnerId
    /**
     * Takes a slot for a run of this account that is about to start, until it is given back. False
     * where the start has to queue: too many runs, or of this account; caps on runs; about to stop.
     */
    readonly takeSlot: (account: AccountId) => boolean
    /** Gives back a slot that was taken for a start: the run is executed, or was not stored. */
    readonly giveSlot: (account: AccountId) => void
    /** Says that there may be a run to claim, here and in other processes. */
    readonly look: Effect.Effect<void>
    /** Executes a run that this runner owns, from a first step whose commit is stored. */
    readonly launch: (run: Run, prepared: Prepared) => Effect.Effect<void>
    /** What attempts of a run have charged so far, as far as they are in progress here. */
    readonly spentOf: (id: RunId) => ChargedSoFar
    /** Interrupts the execution of a run, if it is here. */
    readonly stop: (id: RunId) => Effect.Effect<void>
    /**
     * Waits until an execution that is here is over, and gives the run if it has ended with it.
     * None when the account has none here.
     */
    readonly ended: (account: AccountId, id: RunId) => Option.Option<Effect.Effect<RunResult>>
  }
>()("@millrace/core/engine/Runner") {
  /** Starts with a heartbeat and a claim, and keeps both up until its scope closes. */
  static readonly layer: Layer.Layer<
    Runner,
    StorageError,
    RunStore | NodeTypes | GraphCache | Ids
  > = Layer.effect(
    Runner,
    Effect.suspend(() => make),
  )
}

/** Keeps the lease, and brings what is executed here in line with what the store says is ours. */
const heartbeat = (
  id: RunnerId,
  store: RunStore["Service"],
  supervisor: RunSupervisor,
  clock: Clock.Clock,
  { leaseMillis }: RunnerOptions,
): Effect.Effect<void> => {
  let confirmedAt = monotonicMillis(clock)
  // What we own and do not execute: an answer got lost, or an execution broke off. Only one that
  // is found twice in a row is not just on its way to us.
  let orphansBefore: ReadonlySet<RunId> = new Set()

  const beat = Effect.gen(function* () {
    // Runs that are launched while the store answers are not in its answer.
    const before = [...supervisor.runs.values()]
    const at = monotonicMillis(clock)
    const blocked = supervisor.handlers.takeBlocked()
    const owned = yield* Effect.tapError(store.heartbeat(id, leaseMillis, blocked), () =>
      Effect.sync(() => blocked && supervisor.handlers.blame(blocked)),
    )
    confirmedAt = at
    const lost = before.filter(
      (run) => supervisor.runs.get(run.id) === run && owned.get(run.id) !== run.fence,
    )
    yield* supervisor.stop(lost.map((run) => run.id))
    yield* Effect.forEach(lost, (run) => Effect.provideService(tellLost(run), RunStore, store), {
      discard: true,
    })
    const idle = [...owned.keys()].filter((runId) => !supervisor.runs.has(runId))
    const orphaned = idle.filter((runId) => orphansBefore.has(runId))
    orphansBefore = new Set(idle)
    if (orphaned.length > 0) yield* store.requeue(id, orphaned)
  })

  const without = (error: StorageError) =>
    monotonicMillis(clock) - confirmedAt < (leaseMillis * 2) / 3
      ? Effect.logWarning("no heartbeat", error)
      : Effect.andThen(
          Effect.logError("no heartbeat for two thirds of the lease: stopping all runs", error),
          supervisor.stopAll(),
        )
  return Effect.catchTag(beat, "StorageError", without)
}

/** How often it is looked whether the event loop steps. */
const lookMillis = 500

/** Warns of blocks of the event loop when they are over. */
const watching = ({ handlers }: RunSupervisor, clock: Clock.Clock) =>
  Effect.gen(function* () {
    const before = monotonicMillis(clock)
    yield* Effect.sleep(Duration.millis(lookMillis))
    const block = handlers.look(monotonicMillis(clock) - before - lookMillis)
    if (block !== undefined) yield* Effect.logWarning(block)
  })

const every = (millis: number, effect: Effect.Effect<void>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))

const make = Effect.gen(function* () {
  const store = yield* RunStore
  const types = yield* NodeTypes
  const options = yield* CurrentRunnerOptions
  const limits = yield* CurrentLimits
  const clock = yield* Clock.Clock
  const wakeups = yield* CurrentWakeups
  const id = RunnerId.make(yield* Effect.flatMap(Ids, (ids) => ids.make("execution")))

  const caps = new Caps(limits)
  yield* caps.learn(store)
  yield* store.heartbeat(id, options.leaseMillis)
  yield* Effect.addFinalizer(() =>
    Effect.andThen(Effect.ignore(store.endLease(id)), wakeups.announce),
  )
  const fibers = yield* FiberMap.make<RunId, RunResult>()
  const giveBack = (runId: RunId) => Effect.ignore(store.requeue(id, [runId]))
  const handlers = new Handlers(yield* CurrentWatchdog)
  const slots = new Slots(limits)
  // Handlers go by the engine's clock, too.
  const inTime = { ...types, context: Context.add(types.context, Clock.Clock, clock) }
  const context = Context.add(yield* Effect.context<Requirements>(), NodeTypes, inTime)
  const supervisor = new RunSupervisor(fibers, context, giveBack, handlers, slots)
  const room = () => (supervisor.isDraining() ? 0 : slots.free)
  const notifications = yield* Queue.sliding<void>(1)
  const notify = () => void Queue.offerUnsafe(notifications, undefined)

  // A scope closes in the opposite order: no more claims, then the nodes in progress finish under a
  // living lease, then the lease ends.
  yield* every(options.leaseMillis / 4, heartbeat(id, store, supervisor, clock, options))
  yield* every(
    options.leaseMillis / 4,
    Effect.catchTag(caps.learn(store), "StorageError", (error) =>
      Effect.logWarning("could not read which accounts have caps", error),
    ),
  )
  yield* Effect.addFinalizer(() => supervisor.drain(options.graceMillis))
  yield* Effect.forkScoped(Effect.forever(watching(supervisor, clock)))
  const needs = { id, store, types, supervisor, clock, options, caps, room }
  yield* Effect.forkScoped(claiming(needs, notifications))
  yield* wakeups.listen(notify)

  return Runner.of({
    id,
    takeSlot: (account) => {
      const isFree = !caps.holdFor(account) && !supervisor.isDraining()
      const hasRoom = isFree && slots.hasRoomFor(account)
      if (hasRoom) slots.take(account)
      return hasRoom
    },
    giveSlot: (account) => slots.give(account),
    look: Effect.andThen(Effect.sync(notify), wakeups.announce),
    launch: (run, prepared) => supervisor.proceed(run, prepared),
    spentOf: (runId) => supervisor.spentOf(runId),
    stop: (runId) => supervisor.stop([runId]),
    ended: (account, runId) => supervisor.ended(account, runId),
  })
})
