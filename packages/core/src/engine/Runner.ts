/**
 * This process as an executor of runs: it owns runs under a lease, executes them, claims runs
 * without a living owner, and stops executing runs that it has lost.
 *
 * Guarantees: safety does not depend on this module, because the store fences every write. The
 * lease only decides who tries. On shutdown no node is started, nodes in progress may finish within
 * the grace time, later ones are interrupted, and the lease ends at once. Then another runner, or
 * this one after a restart, can continue the runs.
 */
import { Clock, Context, Duration, Effect, Layer, Queue, Schedule } from "effect"
import type { Option } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import { RunnerId } from "../domain/Id.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { Run, RunRecord } from "../domain/Run.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { StoreManifest } from "../ports/StoreManifest.ts"
import { Caps } from "./internal/Caps.ts"
import { claiming } from "./internal/Claiming.ts"
import type { Prepared } from "./internal/FirstStep.ts"
import type { Environment } from "./internal/RunState.ts"
import type { Requirements, RunResult } from "./internal/RunScheduler.ts"
import { RunScheduler, lost as tellLost } from "./internal/RunScheduler.ts"
import type { Compiled, GraphCache } from "./GraphCache.ts"
import { Handlers } from "./internal/Handlers.ts"
import { Ids } from "./Ids.ts"
import { NodeTypes } from "./NodeTypes.ts"
import { RunNotifier } from "./RunNotifier.ts"
import type { RunnerOptions } from "./RunnerOptions.ts"
import { CurrentRunnerOptions } from "./RunnerOptions.ts"
import { monotonicMillis } from "./StoreClock.ts"
import { Slots } from "./internal/Slots.ts"
import type { ChargedSoFar } from "./internal/Cancelation.ts"

/** What a runner is doing. */
export interface RunnerStatus {
  /** True once it was told to stop: it claims nothing, and starts no node. */
  readonly isDraining: boolean
  /** How many runs it executes now. Parked and queued runs do not count. */
  readonly runsInProgress: number
  /** By how much the last timer of this process was late, in milliseconds. */
  readonly lagMillis: number
}

export class Runner extends Context.Service<
  Runner,
  {
    readonly id: RunnerId
    /**
     * Takes a slot for a start of this account. The caller gives it back with `giveSlot`. False:
     * the run must be QUEUED, because of too many runs in all or of this account, a cap, or a
     * shutdown.
     */
    readonly takeSlot: (account: AccountId) => boolean
    /** True if this process could claim one more run of this account, as far as itself goes. */
    readonly hasSlot: (account: AccountId) => boolean
    /** Gives back the slot of a start, once the run executes or was not stored. */
    readonly giveSlot: (account: AccountId) => void
    /** Tells this process and the others that there may be a run to claim. */
    readonly look: Effect.Effect<void>
    /**
     * Decides the first step of a run that this runner starts. Without effects, a run may end with
     * it; not if somebody may retry the start until it is answered.
     */
    readonly prepare: (
      record: RunRecord,
      graph: Compiled,
      environment: Environment,
      mayRetry: boolean,
    ) => Prepared
    /** Executes a run that this runner owns, from a first step whose commit is stored. */
    readonly launch: (run: Run, prepared: Prepared) => Effect.Effect<void>
    /** What attempts in progress in this process have charged, and this stored run does not say. */
    readonly chargedBeyond: (run: Run) => ChargedSoFar
    readonly status: () => RunnerStatus
    /**
     * From now on claims nothing and starts no node; starts are QUEUED. Waits until the nodes in
     * progress have ended, for so long at most. Those that are left go on, and the lease is kept.
     */
    readonly drain: (graceMillis: number) => Effect.Effect<void>
    /** Interrupts the execution of a run, if this process executes it. */
    readonly stop: (id: RunId) => Effect.Effect<void>
    /**
     * Waits until the execution of a run in this process is over, and returns the run if it has
     * ended. None: this process does not execute such a run of the account, and none that it
     * remembers.
     */
    readonly ended: (account: AccountId, id: RunId) => Option.Option<Effect.Effect<RunResult>>
  }
>()("@millrace/core/engine/Runner") {
  /** Starts with a heartbeat and a claim, and keeps both up until its scope closes. */
  static readonly layer: Layer.Layer<
    Runner | RunNotifier,
    StorageError,
    RunStore | StoreManifest | NodeTypes | GraphCache | Ids
  > = Layer.effect(
    Runner,
    Effect.suspend(() => make),
  ).pipe(Layer.provideMerge(RunNotifier.layer))
}

/** When a runner's lease was renewed last, in monotonic milliseconds. Mutable. */
interface Lease {
  renewedAt: number
}

/**
 * How often a runner asks what it owns while it executes nothing and its claims keep the lease; or
 * twice in a lease that is shorter.
 */
const restMillis = 7_500

/** How long the answer that hands a run to this runner may be on its way. */
const onItsWayMillis = 2_000

/**
 * Renews the lease, and stops executing runs that the store says this runner does not own. A runner
 * that executes nothing leaves it to its claims to renew the lease.
 */
const heartbeat = (
  id: RunnerId,
  store: RunStore["Service"],
  scheduler: RunScheduler,
  clock: Clock.Clock,
  { leaseMillis }: RunnerOptions,
  lease: Lease,
): Effect.Effect<void> => {
  let askedAt = monotonicMillis(clock)
  // Runs that this runner owns and does not execute, because the answer of a claim was lost or an
  // execution broke off, with the time at which each was found first. It may still be on its way.
  let orphans: ReadonlyMap<RunId, number> = new Map()

  const beat = Effect.gen(function* () {
    // The answer does not have the runs that are launched meanwhile.
    const before = [...scheduler.runs.values()]
    const at = monotonicMillis(clock)
    const blocked = scheduler.handlers.takeBlocked()
    const owned = yield* Effect.tapError(store.heartbeat(id, leaseMillis, blocked), () =>
      Effect.sync(() => blocked && scheduler.handlers.blame(blocked)),
    )
    askedAt = at
    lease.renewedAt = at
    const lost = before.filter(({ isOver, run }) => !isOver && owned.get(run.id) !== run.fence)
    scheduler.stop(lost.map(({ run }) => run.id))
    yield* Effect.forEach(
      lost,
      ({ run }) => Effect.provideService(tellLost(run), RunStore, store),
      { discard: true },
    )
    const idle = [...owned.keys()].filter((runId) => !scheduler.runs.has(runId))
    orphans = new Map(idle.map((runId) => [runId, orphans.get(runId) ?? at]))
    const given = idle.filter((runId) => at - orphans.get(runId)! >= onItsWayMillis)
    if (given.length > 0) yield* store.requeue(id, given)
  })

  const mayGoOn = () => monotonicMillis(clock) - lease.renewedAt < (leaseMillis * 2) / 3
  const without = (error: StorageError) =>
    mayGoOn()
      ? Effect.logWarning("no heartbeat", error)
      : Effect.andThen(
          Effect.logError("no heartbeat for two thirds of the lease: stopping all runs", error),
          Effect.sync(() => scheduler.stop(scheduler.runs.keys())),
        )
  const schedule = Schedule.spaced(Duration.millis(leaseMillis / 10))
  const beating = Effect.ignore(
    Effect.retry(Effect.tapError(beat, without), { while: mayGoOn, schedule }),
  )
  return Effect.suspend(() => {
    const now = monotonicMillis(clock)
    const isKept = now - lease.renewedAt < leaseMillis / 4
    const isKnown = now - askedAt < Math.min(restMillis, leaseMillis / 2)
    const isIdle = scheduler.runs.size + orphans.size === 0 && !scheduler.handlers.isBlamed
    if (isKept && isKnown && isIdle) return Effect.void
    return beating
  })
}

/** How often a runner reads which accounts have caps. */
const learnMillis = 7_500

/** How long slots that are given back are gathered before a look for runs that wait for them. */
const freedMillis = 10

/** How often to check whether the event loop is blocked. */
const lookMillis = 500

/** Logs a warning after each block of the event loop. */
const watching = ({ handlers }: RunScheduler, clock: Clock.Clock) =>
  Effect.gen(function* () {
    const before = monotonicMillis(clock)
    yield* Effect.sleep(Duration.millis(lookMillis))
    const block = handlers.look(monotonicMillis(clock) - before - lookMillis)
    if (block !== undefined) yield* Effect.logWarning(block)
  })

const every = (millis: number, effect: Effect.Effect<void>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))

/** The calls that concern the runs in progress. */
const callsOf = (
  scheduler: RunScheduler,
  announce: Effect.Effect<void>,
  lagMillis: () => number,
): Omit<Runner["Service"], "giveSlot" | "hasSlot" | "id" | "look" | "takeSlot"> => ({
  prepare: (...given) => scheduler.prepare(...given),
  launch: (run, prepared) => Effect.sync(() => scheduler.proceed(run, prepared)),
  chargedBeyond: (run) => scheduler.chargedBeyond(run),
  status: () => ({
    isDraining: scheduler.isDraining,
    runsInProgress: scheduler.runs.size,
    lagMillis: lagMillis(),
  }),
  drain: (graceMillis) => Effect.andThen(scheduler.drain(graceMillis), announce),
  stop: (runId) =>
    Effect.suspend(() => {
      if (!scheduler.runs.has(runId)) return Effect.void
      scheduler.stop([runId])
      // A handler that is just being called is interrupted when it gives control back.
      return Effect.yieldNow
    }),
  ended: (account, runId) => scheduler.ended(account, runId),
})

const make = Effect.gen(function* () {
  const store = yield* RunStore
  const types = yield* NodeTypes
  const options = yield* CurrentRunnerOptions
  const limits = yield* CurrentLimits
  const clock = yield* Clock.Clock
  const { wakeups, watchdog } = yield* StoreManifest
  const announce = wakeups?.announce ?? Effect.void
  const id = RunnerId.make(yield* Effect.flatMap(Ids, (ids) => ids.make("execution")))

  const caps = new Caps(limits)
  yield* caps.learn(store)
  const lease = { renewedAt: monotonicMillis(clock) }
  yield* store.heartbeat(id, options.leaseMillis)
  yield* Effect.addFinalizer(() => Effect.andThen(Effect.ignore(store.endLease(id)), announce))
  const handlers = new Handlers(watchdog)
  const freed = yield* Queue.sliding<void>(1)
  const lookSoon = () => void Queue.offerUnsafe(freed, undefined)
  // Whether a run waits for an account with a cap is known to the store alone.
  const slots = new Slots(limits, (account, isWanted) => {
    if (isWanted || caps.holdFor(account)) lookSoon()
  })
  // Handlers use the engine's clock, too.
  const inTime = { ...types, context: Context.add(types.context, Clock.Clock, clock) }
  const context = Context.add(yield* Effect.context<Requirements>(), NodeTypes, inTime)
  const notifications = yield* Queue.sliding<void>(1)
  const notify = () => void Queue.offerUnsafe(notifications, undefined)
  const look = Effect.andThen(Effect.sync(notify), announce)
  const scheduler = new RunScheduler(id, context, handlers, slots, look)
  yield* Effect.addFinalizer(() => Effect.sync(() => scheduler.stop(scheduler.runs.keys())))
  const room = () => (scheduler.isDraining ? 0 : slots.free)

  // A scope closes in the opposite order: claims stop, then the nodes in progress finish under a
  // living lease, then the lease ends.
  yield* every(options.leaseMillis / 4, heartbeat(id, store, scheduler, clock, options, lease))
  yield* every(
    learnMillis,
    Effect.catchTag(caps.learn(store), "StorageError", (error) =>
      Effect.logWarning("could not read which accounts have caps", error),
    ),
  )
  yield* Effect.addFinalizer(() => scheduler.drain(options.graceMillis))
  if (Number.isFinite(options.lagMillis)) {
    yield* Effect.forkScoped(Effect.forever(watching(scheduler, clock)))
  }
  const isHeard = () => wakeups?.isHeard() ?? false
  const renewed = (at: number) => void (lease.renewedAt = at)
  let lagMillis = 0
  const late = (millis: number) => void (lagMillis = Math.max(0, millis))
  const told = { isHeard, renewed, late, lookSoon }
  const needs = { id, store, types, scheduler, clock, options, caps, room, ...told }
  yield* Effect.forkScoped(claiming(needs, notifications))
  const gather = Effect.andThen(Effect.sleep(Duration.millis(freedMillis)), Queue.clear(freed))
  const again = Effect.andThen(Effect.andThen(Queue.take(freed), gather), Effect.sync(notify))
  yield* Effect.forkScoped(Effect.forever(again))
  if (wakeups !== undefined) yield* wakeups.listen(notify)

  return Runner.of({
    id,
    takeSlot: (account) =>
      !scheduler.isDraining && !caps.holdFor(account) && slots.takeForStart(account),
    hasSlot: (account) => !scheduler.isDraining && slots.hasRoomFor(account),
    giveSlot: (account) => slots.give(account),
    look,
    ...callsOf(scheduler, announce, () => lagMillis),
  })
})
