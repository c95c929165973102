/**
 * Executes the runs of this process: one plain loop for all of them, and the only writer of each
 * while this process owns it.
 *
 * A step takes every attempt that has ended, finishes it, decides what that releases, commits all
 * of it in one atomic step, and only then starts the released nodes. So a node with effects starts
 * only after whatever it depends on is durable, and its start is recorded before it happens.
 *
 * Guarantees: a finished node is never run again; a refused commit ends the execution at once and
 * without a trace; an execution that breaks off or loses its run does not affect others. A run that
 * is still open when its execution is over is given back at once. Leaves out: which runs to
 * execute.
 */
import { Cause, Clock, Context, Effect, Exit, Option, Scheduler } from "effect"
import type { AccountId, RunId, RunnerId } from "../../domain/Id.ts"
import type { Run, RunRecord } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Inbox, InboxRequest, StaleRun } from "../../ports/RunStore.ts"
import { CurrentEvaluator } from "../../ports/Evaluator.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { Cancel } from "../../ports/CallbackEffect.ts"
import { begin } from "../../ports/CallbackEffect.ts"
import type { Compiled, GraphCache } from "../GraphCache.ts"
import { NodeTypes } from "../NodeTypes.ts"
import { CurrentSecrets } from "../CurrentSecrets.ts"
import { CurrentApprovalLinks } from "./ApprovalTokens.ts"
import { CurrentChildren } from "./ChildSource.ts"
import { CurrentValues } from "./CurrentValues.ts"
import { RunNotifier } from "../RunNotifier.ts"
import { commitAfterFailure, hasRunsToClaim } from "./Commit.ts"
import { computeRun, computeStart } from "./ComputedRun.ts"
import { EndedRuns } from "./EndedRuns.ts"
import type { Prepared } from "./FirstStep.ts"
import { parkAfterMillis, prepare, takeUp } from "./FirstStep.ts"
import type { Handlers } from "./Handlers.ts"
import type { Shared } from "./RunExecution.ts"
import { RunExecution } from "./RunExecution.ts"
import type { Environment } from "./RunState.ts"
import { recordOf } from "./RunState.ts"
import type { Slots } from "./Slots.ts"
import type { ChargedSoFar } from "./Cancelation.ts"
import type { Step } from "./Step.ts"
import { decideStep, goesOn } from "./Step.ts"

/** The services that executions need. */
export type Requirements = RunStore | NodeTypes | GraphCache | RunNotifier

/**
 * The run as it is stored when its execution is over, if it has ended. `undefined`: it is parked,
 * was left to another owner, or was lost.
 */
export type RunResult = RunRecord | undefined

/** Which run it is, and the fence under which this process owns it. */
export type OwnedRun = Pick<Run, "accountId" | "fence" | "id">

/** A run that this process executes. Mutable. */
export class LiveRun {
  readonly run: OwnedRun
  /** None until its first step is stored. */
  execution: RunExecution | undefined
  /** Stops what the execution waits for: a step that is being stored, for example. */
  cancelPending: Cancel | undefined
  /** True while it is in line for its next step. */
  isInLine = false
  /** True if the next step is to be taken even if nothing has happened. */
  isDue = false
  isOver = false
  listeners: Set<(result: RunResult) => void> | undefined

  readonly #wake: (live: LiveRun) => void

  constructor({ accountId, fence, id }: OwnedRun, wake: (live: LiveRun) => void) {
    this.run = { accountId, fence, id }
    this.#wake = wake
  }

  /** Something has happened to the run. */
  wake(): void {
    this.#wake(this)
  }

  /** Lets go of what it holds: a map may keep an entry for long after it was deleted. */
  release(): void {
    this.execution = undefined
    this.cancelPending = undefined
    this.listeners = undefined
  }
}

/** So many steps are taken, and so long, before the event loop gets control. */
const stepsPerPass = 32
const millisPerPass = 20

/**
 * Logs that a run which this process executed has another owner now. A run that has ended, for
 * example because it was canceled, or that has no owner, was not lost.
 */
export const lost = Effect.fnUntraced(function* ({ accountId, fence, id }: OwnedRun) {
  const store = yield* RunStore
  const found = yield* Effect.orElseSucceed(store.find(accountId, id), () => Option.none())
  const now = Option.getOrUndefined(found)?.run
  if (now === undefined || now.finishedAt !== null || now.fence === fence) return
  yield* Effect.logWarning(
    `lost run ${id} to somebody else: the lease of this process was not renewed in time, and ` +
      "another process has taken the run over; nodes in progress here may be executed twice",
  )
})

/**
 * Makes a step clear losses that this process does not know. While a run blocks the event loop, the
 * thread that keeps the lease may record a loss. If the run goes on, its next progress clears it.
 */
const clearing = (step: Step, handlers: Handlers): Step => {
  const { commit } = step
  if (!handlers.hasBlocked(commit.run.id)) return step
  const isProgress =
    commit.run.dueAt !== null ||
    [...commit.nodeRuns, ...commit.rewritten].some(({ sequence }) => sequence !== null)
  return isProgress ? { ...step, commit: { ...commit, clearsLosses: true } } : step
}

/** The runs that this process executes. Mutable; every method is one synchronous step. */
export class RunScheduler {
  readonly runs = new Map<RunId, LiveRun>()
  readonly handlers: Handlers
  readonly slots: Slots
  /** When the first of the runs that this process has parked is due. */
  nextDue = Number.POSITIVE_INFINITY
  readonly #runner: RunnerId
  readonly #store: RunStore["Service"]
  readonly #notifier: RunNotifier["Service"]
  /** Tells all processes that there may be a run to claim. */
  readonly #look: Effect.Effect<void>
  readonly #shared: Shared
  readonly #fork: ReturnType<typeof Effect.runForkWith<Requirements>>
  readonly #dispatcher: Scheduler.SchedulerDispatcher
  #line: Array<LiveRun> = []
  /** How long starts have computed in this turn of the event loop. */
  #computedMillis = 0
  #isScheduled = false
  #isPassing = false
  #isDraining = false
  readonly #drains = () => this.#isDraining
  readonly #onEmpty = new Set<() => void>()
  readonly #ended = new EndedRuns()

  constructor(
    runner: RunnerId,
    context: Context.Context<Requirements>,
    handlers: Handlers,
    slots: Slots,
    look: Effect.Effect<void>,
  ) {
    this.#runner = runner
    this.handlers = handlers
    this.slots = slots
    this.#look = look
    this.#store = Context.get(context, RunStore)
    this.#notifier = Context.get(context, RunNotifier)
    const types = Context.get(context, NodeTypes)
    const clock = Context.get(context, Clock.Clock)
    const evaluator = Context.get(context, CurrentEvaluator)
    const secrets = Context.get(context, CurrentSecrets)
    const values = Context.get(context, CurrentValues)
    const children = Context.get(context, CurrentChildren)
    const links = Context.get(context, CurrentApprovalLinks)
    const given = { types, handlers, clock, evaluator, secrets, values, children, links }
    this.#shared = { ...given, computeRun }
    this.#fork = Effect.runForkWith(context)
    this.#dispatcher = Context.get(context, Scheduler.Scheduler).makeDispatcher()
  }

  get isDraining(): boolean {
    return this.#isDraining
  }

  /** What the attempts in progress here have charged, and this stored run does not say yet. */
  chargedBeyond({ id, revision }: Run): ChargedSoFar {
    return this.runs.get(id)?.execution?.chargedBeyond(revision) ?? (() => 0)
  }

  /** Which messages to read for the runs that wait for messages here. */
  listening(): ReadonlyArray<InboxRequest> {
    const requests: Array<InboxRequest> = []
    for (const [runId, { execution }] of this.runs) {
      const after = execution?.listensAfter
      if (after !== undefined) requests.push({ runId, after, held: [] })
    }
    return requests
  }

  /** Gives messages to the executions of their runs. */
  receive(inboxes: ReadonlyArray<Inbox>): void {
    for (const { messages, runId } of inboxes) this.runs.get(runId)?.execution?.receive(messages)
  }

  /**
   * Decides the first step of a run that this process starts. If its nodes have no effects, they
   * are computed, and the run is stored once if it ends with that; but not once the starts of this
   * turn of the event loop have computed long enough. A start that somebody may retry is stored
   * first, so that a handler which ends the process is not called again and again.
   */
  prepare(
    record: RunRecord,
    graph: Compiled,
    environment: Environment,
    mayRetry: boolean,
  ): Prepared {
    const mayCompute = !mayRetry && this.#computedMillis < millisPerPass
    const computed = mayCompute ? this.#compute(record, graph, environment) : undefined
    return computed ?? prepare(record, graph, environment)
  }

  #compute(record: RunRecord, graph: Compiled, environment: Environment): Prepared | undefined {
    const computed = computeStart(this.#shared, record, graph, environment)
    const millis = Math.max(0, this.#now() - environment.now)
    if (millis > 0 && this.#computedMillis === 0) {
      this.#dispatcher.scheduleTask(() => {
        this.#computedMillis = 0
      }, 0)
    }
    this.#computedMillis += millis
    return computed
  }

  /** Executes a run from its first step, whose commit is stored. */
  proceed(run: Run, prepared: Prepared): void {
    this.#enter(this.#add(run), prepared)
  }

  /** Executes a run that was claimed. */
  takeOver(record: RunRecord): void {
    const live = this.#add(record.run)
    this.#await(live, takeUp(record, this.#drains), (prepared) => this.#enter(live, prepared))
  }

  /** Ends executions at once. Their handlers are interrupted; the runs stay as they are stored. */
  stop(ids: Iterable<RunId>): void {
    for (const id of ids) {
      const live = this.runs.get(id)
      if (live !== undefined) this.#remove(live)
    }
  }

  /** Starts nothing new and waits until nodes in progress have finished, for so long at most. */
  drain(graceMillis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#isDraining = true
      for (const live of this.runs.values()) {
        live.isDue = true
        this.#wake(live)
      }
      return Effect.ignore(Effect.timeout(this.#untilEmpty, graceMillis))
    })
  }

  /**
   * Waits until the execution of a run is over. None: this process does not execute such a run of
   * the account, and does not remember how it ended.
   */
  ended(account: AccountId, id: RunId): Option.Option<Effect.Effect<RunResult>> {
    const live = this.runs.get(id)
    if (live === undefined) {
      return Option.map(Option.fromUndefinedOr(this.#ended.find(account, id)), Effect.succeed)
    }
    if (live.run.accountId !== account) return Option.none()
    const result = Effect.callback<RunResult>((resume) => {
      if (live.isOver) return resume(Effect.succeed(undefined))
      const tell = (over: RunResult) => resume(Effect.succeed(over))
      live.listeners ??= new Set()
      live.listeners.add(tell)
      return Effect.sync(() => live.listeners?.delete(tell))
    })
    return Option.some(result)
  }

  readonly #untilEmpty = Effect.callback<void>((resume) => {
    if (this.runs.size === 0) return resume(Effect.void)
    const tell = () => resume(Effect.void)
    this.#onEmpty.add(tell)
    return Effect.sync(() => this.#onEmpty.delete(tell))
  })

  /** Takes the place of an older execution of the same run. */
  #add(run: Run): LiveRun {
    const older = this.runs.get(run.id)
    const live = new LiveRun(run, this.#wake)
    this.runs.set(run.id, live)
    this.slots.take(run.accountId)
    if (older !== undefined) this.#remove(older)
    return live
  }

  #enter(live: LiveRun, { first, progress }: Prepared): void {
    if (progress === undefined) {
      this.#announce(first)
      return this.#remove(live)
    }
    live.execution = new RunExecution(progress, this.#shared, live)
    this.#goOn(live, live.execution, first)
  }

  /** Puts a run in line for its next step, unless its last step is still being stored. */
  readonly #wake = (live: LiveRun): void => {
    if (live.isInLine || live.isOver || live.cancelPending !== undefined) return
    live.isInLine = true
    this.#line.push(live)
    this.#schedule()
  }

  /** Takes steps soon: what happens until then is part of them. */
  #schedule(): void {
    if (this.#isScheduled || this.#isPassing) return
    this.#isScheduled = true
    this.#dispatcher.scheduleTask(() => {
      this.#isScheduled = false
      this.#pass()
    }, 0)
  }

  /** The loop: takes the next steps of all runs to which something has happened. */
  #pass(): void {
    if (this.#isPassing) return
    this.#isPassing = true
    const until = this.#now() + millisPerPass
    let left = stepsPerPass
    while (left > 0 && this.#line.length > 0) {
      const line = this.#line
      this.#line = []
      let taken = 0
      while (taken < line.length && (taken === 0 || this.#now() < until)) {
        const live = line[taken++]!
        this.#guard(live, () => this.#step(live))
      }
      if (taken < line.length) this.#line = [...line.slice(taken), ...this.#line]
      left = this.#now() < until ? left - taken : 0
    }
    this.#isPassing = false
    if (this.#line.length > 0) this.#schedule()
  }

  #now(): Timestamp {
    return this.#shared.clock.currentTimeMillisUnsafe()
  }

  #step(live: LiveRun): void {
    live.isInLine = false
    const { execution } = live
    if (execution === undefined || live.isOver) return
    const events = execution.take()
    if (events.length === 0 && !live.isDue) return
    live.isDue = false
    const now = this.#now()
    const decided = decideStep(execution.progress, events, now, {
      isDraining: this.#drains,
      parkAfterMillis,
      compute: (started, at) => execution.compute(started, at),
    })
    this.#commit(live, execution, clearing(decided, this.handlers))
  }

  /** Stores a step, or its alternative, and goes on with that. */
  #commit(live: LiveRun, execution: RunExecution, step: Step): void {
    const goOn = (stored: Step) => this.#goOn(live, execution, stored)
    this.#begin(live, this.#store.commit(step.commit), (exit) => {
      if (Exit.isFailure(exit)) {
        return this.#await(live, commitAfterFailure(this.#store, step, exit.cause), goOn)
      }
      this.#notifier.tell(step.commit.run)
      goOn(step)
    })
  }

  /** Whoever has room may execute the runs that a step has started, woken or made way for. */
  #announce({ commit }: Step): void {
    if (hasRunsToClaim(commit)) this.#fork(this.#look)
  }

  /** Goes on with a run whose last step is stored. */
  #goOn(live: LiveRun, execution: RunExecution, step: Step): void {
    this.#announce(step)
    const { progress } = execution
    if (!goesOn(progress) || (this.#isDraining && progress.running.size === 0)) {
      return this.#leave(live, execution)
    }
    execution.begin(step)
    if (!live.isDue && !execution.hasEvents) return
    this.#wake(live)
    this.#pass()
  }

  /** Ends an execution. Remembers when a parked run is due, and gives back one that is open. */
  #leave(live: LiveRun, execution: RunExecution): void {
    const { dueAt, finishedAt, id } = execution.progress.run
    if (finishedAt !== null) {
      const record = recordOf(execution.progress)
      this.#ended.keep(record)
      return this.#remove(live, record)
    }
    if (dueAt !== null) this.nextDue = Math.min(this.nextDue, dueAt)
    if (dueAt !== null) return this.#remove(live)
    execution.close()
    const requeued = Effect.ignore(this.#store.requeue(this.#runner, [id]))
    this.#await(live, requeued, () => this.#remove(live))
  }

  /** Runs an effect for an execution, and goes on with its result unless the execution is over. */
  #await<A>(
    live: LiveRun,
    effect: Effect.Effect<A, StaleRun, Requirements>,
    next: (result: A) => void,
  ): void {
    this.#begin(live, effect, (exit) => {
      if (Exit.isSuccess(exit)) next(exit.value)
      else this.#fail(live, exit.cause)
    })
  }

  /** Begins an effect for an execution, and tells how it ended unless the execution is over. */
  #begin<A, E>(
    live: LiveRun,
    effect: Effect.Effect<A, E, Requirements>,
    done: (exit: Exit.Exit<A, E>) => void,
  ): void {
    let isDone = false
    const settle = (exit: Exit.Exit<A, E>) => {
      isDone = true
      if (live.isOver) return
      live.cancelPending = undefined
      this.#guard(live, () => done(exit))
    }
    const cancel = begin(effect, this.#fork, settle)
    if (!isDone) live.cancelPending = cancel
  }

  /** Keeps a defect from other executions. */
  #guard(live: LiveRun, call: () => void): void {
    try {
      call()
    } catch (error) {
      this.#fail(live, Cause.die(error))
    }
  }

  /** Ends an execution that has lost its run or broke off, and tells so. */
  #fail(live: LiveRun, cause: Cause.Cause<StaleRun>): void {
    live.execution?.close()
    const isLost = Option.isSome(Cause.findErrorOption(cause))
    const tell = isLost
      ? lost(live.run)
      : Effect.logError("an execution broke off", live.run.id, cause)
    this.#await(live, tell, () => this.#remove(live))
  }

  #remove(live: LiveRun, result?: RunResult): void {
    if (live.isOver) return
    live.isOver = true
    live.cancelPending?.()
    live.execution?.close()
    const { accountId, id } = live.run
    this.slots.give(accountId)
    if (this.runs.get(id) === live) this.runs.delete(id)
    for (const tell of live.listeners ?? []) tell(result)
    live.release()
    if (this.runs.size > 0) return
    for (const tell of this.#onEmpty) tell()
  }
}
