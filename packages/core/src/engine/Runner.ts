/**
 * The process as an executor of runs: it owns runs under a lease, executes each in a fiber of its
 * own, takes over what others left behind, and lets go of what it lost.
 *
 * Guarantees: safety does not depend on any of this; every write is fenced by the store. The lease
 * only decides who tries. On shutdown nothing new is started, nodes in progress may finish within a
 * grace time, what is left is interrupted, and the lease ends at once, so that another runner, or
 * this one after a restart, can continue.
 */
import {
  Clock,
  Context,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberMap,
  Layer,
  Option,
  Queue,
} from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import { RunnerId } from "../domain/Id.ts"
import type { Limits } from "../domain/Limits.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { Run, RunRecord } from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { settingsOf } from "../domain/Workflow.ts"
import type { StaleRun } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { Drain, Over, Prepared } from "./Execution.ts"
import { execute, proceed } from "./Execution.ts"
import type { Graphs } from "./Graphs.ts"
import { Ids } from "./Ids.ts"
import { NodeTypes } from "./NodeTypes.ts"

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
    /** False where a start has to queue: too many runs, caps on runs, or about to stop. */
    readonly hasRoom: () => boolean
    /** Says that there may be a run to claim, so that nobody waits for the next poll. */
    readonly look: Effect.Effect<void>
    /** Executes a run that this runner owns, from a first turn whose commit is stored. */
    readonly launch: (run: Run, prepared: Prepared) => Effect.Effect<void>
    /** Interrupts the execution of a run, if it is here. */
    readonly stop: (id: RunId) => Effect.Effect<void>
    /**
     * Waits until an execution that is here is over, and gives the run if it has ended with it.
     * None when the account has none here.
     */
    readonly ended: (account: AccountId, id: RunId) => Option.Option<Effect.Effect<Over>>
  }
>()("@millrace/core/engine/Runner") {
  /** Starts with a heartbeat and a claim, and keeps both up until its scope closes. */
  static readonly layer: Layer.Layer<Runner, StorageError, RunStore | NodeTypes | Graphs | Ids> =
    Layer.effect(
      Runner,
      Effect.suspend(() => make),
    )
}

/** What executions need besides their run. */
type Needs = RunStore | NodeTypes | Graphs

/** What this process executes at the moment. Mutable; every method is one synchronous step. */
class Executions implements Drain {
  readonly runs = new Map<RunId, Run>()
  /** When the first of the runs goes on that this process has parked. */
  nextDue = Number.POSITIVE_INFINITY
  readonly #fibers: FiberMap.FiberMap<RunId, Over>
  readonly #context: Context.Context<Needs>
  readonly #giveBack: (id: RunId) => Effect.Effect<void>
  readonly #notify = new Set<() => void>()
  #draining = false

  constructor(
    fibers: FiberMap.FiberMap<RunId, Over>,
    context: Context.Context<Needs>,
    giveBack: (id: RunId) => Effect.Effect<void>,
  ) {
    this.#fibers = fibers
    this.#context = context
    this.#giveBack = giveBack
  }

  readonly isDraining = (): boolean => this.#draining

  readonly onDrain = (notify: () => void): (() => void) => {
    this.#notify.add(notify)
    return () => this.#notify.delete(notify)
  }

  /** Executes a run in a fiber of its own, in place of an older execution of the same run. */
  launch(run: Run, execution: Effect.Effect<Over, StaleRun, Needs>): Effect.Effect<void> {
    const supervised = execution.pipe(
      Effect.provideContext(this.#context),
      Effect.tap((over) => this.#leave(run.id, over)),
      Effect.catchTag("StaleRun", () =>
        Effect.as(Effect.logDebug("lost a run to somebody else", run.id), undefined),
      ),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("an execution broke off", run.id, cause), undefined),
      ),
      Effect.ensuring(
        Effect.sync(() => {
          if (this.runs.get(run.id) === run) this.runs.delete(run.id)
        }),
      ),
    )
    return Effect.suspend(() => {
      this.runs.set(run.id, run)
      return Effect.asVoid(FiberMap.run(this.#fibers, run.id, supervised))
    })
  }

  proceed(run: Run, prepared: Prepared): Effect.Effect<void> {
    return this.launch(run, proceed(prepared, this))
  }

  takeOver(record: RunRecord): Effect.Effect<void> {
    return this.launch(record.run, execute(record, this))
  }

  stop(ids: Iterable<RunId>): Effect.Effect<void> {
    return Effect.forEach(ids, (id) => FiberMap.remove(this.#fibers, id), { discard: true })
  }

  stopAll(): Effect.Effect<void> {
    return FiberMap.clear(this.#fibers)
  }

  /** Starts nothing new and waits until nodes in progress have settled, for so long at most. */
  drain(graceMillis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#draining = true
      for (const notify of this.#notify) notify()
      return Effect.ignore(Effect.timeout(FiberMap.awaitEmpty(this.#fibers), graceMillis))
    })
  }

  ended(account: AccountId, id: RunId): Option.Option<Effect.Effect<Over>> {
    if (this.runs.get(id)?.accountId !== account) return Option.none()
    const fiber = FiberMap.getUnsafe(this.#fibers, id)
    return Option.map(fiber, (each) =>
      Effect.map(Fiber.await(each), (exit) => {
        const over = Exit.isSuccess(exit) ? exit.value : undefined
        return over?.run.finishedAt === null ? undefined : over
      }),
    )
  }

  /** Remembers when a parked run goes on, and gives back one that was left open. */
  #leave(id: RunId, over: Over): Effect.Effect<void> {
    if (over === undefined || over.run.finishedAt !== null) return Effect.void
    const { dueAt } = over.run
    if (dueAt === null) return this.#giveBack(id)
    this.nextDue = Math.min(this.nextDue, dueAt)
    return Effect.void
  }
}

/** Keeps the lease, and brings what is executed here in line with what the store says is ours. */
const heartbeat = (
  id: RunnerId,
  store: RunStore["Service"],
  executions: Executions,
  clock: Clock.Clock,
  { leaseMillis }: RunnerOptions,
): Effect.Effect<void> => {
  let confirmedAt = clock.currentTimeMillisUnsafe()
  // What we own and do not execute: an answer got lost, or an execution broke off. Only one that
  // is found twice in a row is not just on its way to us.
  let strays: ReadonlySet<RunId> = new Set()

  const beat = Effect.gen(function* () {
    // Runs that are launched while the store answers are not in its answer.
    const before = [...executions.runs.values()]
    const at = clock.currentTimeMillisUnsafe()
    const owned = yield* store.heartbeat(id, leaseMillis)
    confirmedAt = at
    const lost = before.filter(
      (run) => executions.runs.get(run.id) === run && owned.get(run.id) !== run.fence,
    )
    yield* executions.stop(lost.map((run) => run.id))
    const idle = [...owned.keys()].filter((runId) => !executions.runs.has(runId))
    const astray = idle.filter((runId) => strays.has(runId))
    strays = new Set(idle)
    if (astray.length > 0) yield* store.abandon(id, astray)
  })

  const without = (error: StorageError) =>
    clock.currentTimeMillisUnsafe() - confirmedAt < (leaseMillis * 2) / 3
      ? Effect.logWarning("no heartbeat", error)
      : Effect.andThen(
          Effect.logError("no heartbeat for two thirds of the lease: stopping all runs", error),
          executions.stopAll(),
        )
  return Effect.catchTag(beat, "StorageError", without)
}

/** How long a runner leaves alone what it cannot execute, before it looks again. */
const refusalMillis = 30_000

/** How many runs a runner remembers that it cannot execute. */
const refusalsKept = 1_000

/** Runs that this process cannot execute, because it does not know a type of theirs. */
class Refusals {
  readonly #until = new Map<RunId, Timestamp>()

  add(id: RunId, now: Timestamp): void {
    this.#until.set(id, now + refusalMillis)
    if (this.#until.size > refusalsKept) this.#until.delete(this.#until.keys().next().value!)
  }

  at(now: Timestamp): ReadonlyArray<RunId> {
    for (const [id, until] of this.#until) if (until <= now) this.#until.delete(id)
    return [...this.#until.keys()]
  }
}

/** The first type of a run that this process does not know, in the version that was drawn. */
const unknownType = ({ definition }: RunRecord, { lookup }: NodeTypes["Service"]) =>
  definition.nodes.find((node) => {
    const type = lookup(node.type)
    const { version } = settingsOf(node)
    return type === undefined || (version !== undefined && version !== type.version)
  })?.type

/** What looking for runs needs. */
interface Claiming {
  readonly id: RunnerId
  readonly store: RunStore["Service"]
  readonly types: NodeTypes["Service"]
  readonly executions: Executions
  readonly clock: Clock.Clock
  readonly options: RunnerOptions
  readonly limits: Limits
  readonly room: () => number
}

const capOf = (limit: number): number | undefined => (Number.isFinite(limit) ? limit : undefined)

/** Takes runs that nobody executes, as long as there is room. */
const claims = ({ clock, executions, id, limits, options, room, store, types }: Claiming) => {
  const refusals = new Refusals()
  let after: AccountId | undefined
  const take = Effect.fnUntraced(function* (record: RunRecord) {
    const { run } = record
    after = run.accountId
    const unknown = unknownType(record, types)
    if (unknown === undefined) return yield* executions.takeOver(record)
    refusals.add(run.id, clock.currentTimeMillisUnsafe())
    yield* Effect.logWarning(`run ${run.id} needs node type ${unknown}, which is not known here`)
    yield* store.abandon(id, [run.id])
  })
  return Effect.gen(function* () {
    executions.nextDue = Number.POSITIVE_INFINITY
    let more = true
    while (more && room() > 0) {
      const limit = Math.min(options.claimLimit, room())
      const claimed = yield* store.claim({
        runner: id,
        leaseMillis: options.leaseMillis,
        limit,
        except: refusals.at(clock.currentTimeMillisUnsafe()),
        after,
        runsPerAccount: capOf(limits.runsPerAccount),
        runsPerWorkflow: capOf(limits.runsPerWorkflow),
      })
      for (const record of claimed) yield* take(record)
      more = claimed.length === limit
    }
  })
}

/** Looks for runs whenever it is time, somebody says so, or a parked run goes on. */
const claiming = (needs: Claiming, pokes: Queue.Dequeue<void>): Effect.Effect<never, never> => {
  const { clock, executions, options } = needs
  const { lagMillis, pollMillis } = options
  const claim = claims(needs)
  let expectedAt = clock.currentTimeMillisUnsafe()

  const look = Effect.suspend(() => {
    const lag = clock.currentTimeMillisUnsafe() - expectedAt
    return lag > lagMillis ? Effect.void : claim
  }).pipe(
    Effect.catchTag("StorageError", (error) => Effect.logWarning("could not look for runs", error)),
  )
  const pause = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const millis = Math.max(0, Math.min(pollMillis, executions.nextDue - now))
    expectedAt = now + millis
    return Effect.timeoutOrElse(Queue.take(pokes), {
      duration: millis,
      orElse: () => Effect.void,
    })
  })
  return Effect.forever(Effect.andThen(look, pause))
}

const every = (millis: number, effect: Effect.Effect<void>) =>
  Effect.forkScoped(Effect.forever(Effect.andThen(effect, Effect.sleep(Duration.millis(millis)))))

const make = Effect.gen(function* () {
  const store = yield* RunStore
  const types = yield* NodeTypes
  const options = yield* CurrentRunnerOptions
  const limits = yield* CurrentLimits
  const clock = yield* Clock.Clock
  const id = RunnerId.make(yield* Effect.flatMap(Ids, (ids) => ids.make("execution")))

  yield* store.heartbeat(id, options.leaseMillis)
  yield* Effect.addFinalizer(() => Effect.ignore(store.release(id)))
  const fibers = yield* FiberMap.make<RunId, Over>()
  const giveBack = (runId: RunId) => Effect.ignore(store.abandon(id, [runId]))
  const executions = new Executions(fibers, yield* Effect.context<Needs>(), giveBack)
  const room = () => (executions.isDraining() ? 0 : limits.runsAtOnce - executions.runs.size)
  const pokes = yield* Queue.sliding<void>(1)

  // A scope closes in the opposite order: no more claims, then the nodes in progress finish under a
  // living lease, then the lease ends.
  yield* every(options.leaseMillis / 4, heartbeat(id, store, executions, clock, options))
  yield* Effect.addFinalizer(() => executions.drain(options.graceMillis))
  const needs = { id, store, types, executions, clock, options, limits, room }
  yield* Effect.forkScoped(claiming(needs, pokes))

  // Where runs are capped, only a claim can tell whether there is room for one more.
  const capped = Number.isFinite(limits.runsPerAccount) || Number.isFinite(limits.runsPerWorkflow)
  return Runner.of({
    id,
    hasRoom: () => !capped && room() > 0,
    look: Effect.sync(() => void Queue.offerUnsafe(pokes, undefined)),
    launch: (run, prepared) => executions.proceed(run, prepared),
    stop: (runId) => executions.stop([runId]),
    ended: (account, runId) => executions.ended(account, runId),
  })
})
