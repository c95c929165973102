/**
 * The executions of this process: one fiber per run.
 *
 * Guarantees: an execution that crashes or loses its run does not affect others. A run that is
 * still open when its execution is over is given back at once. Leaves out: which runs to execute.
 */
import type { Context } from "effect"
import { Effect, Exit, Fiber, FiberMap, Option } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { Run, RunRecord } from "../../domain/Run.ts"
import type { StaleRun } from "../../ports/RunStore.ts"
import type { Inbox, InboxRequest } from "../../ports/RunStore.ts"
import { RunStore } from "../../ports/RunStore.ts"
import type { DrainSignal, LiveExecution, RunResult, Prepared } from "./RunExecution.ts"
import { execute, proceed } from "./RunExecution.ts"
import type { GraphCache } from "../GraphCache.ts"
import type { Handlers } from "./Handlers.ts"
import type { NodeTypes } from "../NodeTypes.ts"
import type { Slots } from "./Slots.ts"
import type { ChargedSoFar } from "./Step.ts"

/** The services that executions need. */
export type Requirements = RunStore | NodeTypes | GraphCache

/**
 * Logs that a run which this process executed has another owner now. A run that has ended, for
 * example because it was canceled, or that has no owner, was not lost.
 */
export const lost = Effect.fnUntraced(function* ({ accountId, fence, id }: Run) {
  const store = yield* RunStore
  const found = yield* Effect.orElseSucceed(store.find(accountId, id), () => Option.none())
  const now = Option.getOrUndefined(found)?.run
  if (now === undefined || now.finishedAt !== null || now.fence === fence) return
  yield* Effect.logWarning(
    `lost run ${id} to somebody else: the lease of this process was not renewed in time, and ` +
      "another process has taken the run over; nodes in progress here may be executed twice",
  )
})

/** The executions of this process. Mutable; every method is one synchronous step. */
export class RunSupervisor implements DrainSignal {
  readonly runs = new Map<RunId, Run>()
  readonly handlers: Handlers
  readonly slots: Slots
  /** When the first of the runs that this process has parked is due. */
  nextDue = Number.POSITIVE_INFINITY
  readonly #fibers: FiberMap.FiberMap<RunId, RunResult>
  readonly #fork: ReturnType<typeof Effect.runForkWith<Requirements>>
  readonly #giveBack: (id: RunId) => Effect.Effect<void>
  readonly #notify = new Set<() => void>()
  readonly #live = new Map<RunId, LiveExecution>()
  #draining = false

  constructor(
    fibers: FiberMap.FiberMap<RunId, RunResult>,
    context: Context.Context<Requirements>,
    giveBack: (id: RunId) => Effect.Effect<void>,
    handlers: Handlers,
    slots: Slots,
  ) {
    this.#fibers = fibers
    this.slots = slots
    this.handlers = handlers
    this.#fork = Effect.runForkWith(context)
    this.#giveBack = giveBack
  }

  readonly isDraining = (): boolean => this.#draining

  readonly onDrain = (notify: () => void): (() => void) => {
    this.#notify.add(notify)
    return () => this.#notify.delete(notify)
  }

  readonly onBegin = (run: RunId, execution: LiveExecution): void => {
    this.#live.set(run, execution)
  }

  /** What the attempts of a run that are in progress here have charged so far. */
  spentOf(id: RunId): ChargedSoFar {
    return this.#live.get(id)?.spent ?? (() => 0)
  }

  /** Which messages to read for the runs that wait for messages here. */
  listening(): ReadonlyArray<InboxRequest> {
    const requests: Array<InboxRequest> = []
    for (const [runId, { listensAfter }] of this.#live) {
      const after = listensAfter()
      if (after !== undefined) requests.push({ runId, after, held: [] })
    }
    return requests
  }

  /** Gives messages to the executions of their runs. */
  receive(inboxes: ReadonlyArray<Inbox>): void {
    for (const { messages, runId } of inboxes) this.#live.get(runId)?.receive(messages)
  }

  /** Executes a run in a fiber of its own, in place of an older execution of the same run. */
  launch(
    run: Run,
    execution: Effect.Effect<RunResult, StaleRun, Requirements>,
  ): Effect.Effect<void> {
    const supervised = execution.pipe(
      Effect.tap((over) => this.#leave(run.id, over)),
      Effect.catchTag("StaleRun", () => Effect.as(lost(run), undefined)),
      Effect.catchCause((cause) =>
        Effect.as(Effect.logError("an execution broke off", run.id, cause), undefined),
      ),
      Effect.ensuring(
        Effect.sync(() => {
          if (this.runs.get(run.id) !== run) return
          this.runs.delete(run.id)
          this.slots.give(run.accountId)
          this.#live.delete(run.id)
        }),
      ),
    )
    return Effect.sync(() => {
      if (!this.runs.has(run.id)) this.slots.take(run.accountId)
      this.runs.set(run.id, run)
      FiberMap.setUnsafe(this.#fibers, run.id, this.#fork(supervised))
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

  /** Starts nothing new and waits until nodes in progress have finished, for so long at most. */
  drain(graceMillis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#draining = true
      for (const notify of this.#notify) notify()
      return Effect.ignore(Effect.timeout(FiberMap.awaitEmpty(this.#fibers), graceMillis))
    })
  }

  ended(account: AccountId, id: RunId): Option.Option<Effect.Effect<RunResult>> {
    if (this.runs.get(id)?.accountId !== account) return Option.none()
    const fiber = FiberMap.getUnsafe(this.#fibers, id)
    return Option.map(fiber, (each) =>
      Effect.map(Fiber.await(each), (exit) => {
        const over = Exit.isSuccess(exit) ? exit.value : undefined
        return over?.run.finishedAt === null ? undefined : over
      }),
    )
  }

  /** Remembers when a parked run is due, and gives back a run that is still open. */
  #leave(id: RunId, over: RunResult): Effect.Effect<void> {
    if (over === undefined || over.run.finishedAt !== null) return Effect.void
    const { dueAt } = over.run
    if (dueAt === null) return this.#giveBack(id)
    this.nextDue = Math.min(this.nextDue, dueAt)
    return Effect.void
  }
}
