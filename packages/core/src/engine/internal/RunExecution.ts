/**
 * One run in this process: its handlers in progress, its timers, and what has happened to it since
 * its last step.
 *
 * Guarantees: nothing waits for a handler that ignores its interruption. Logs and outcomes after
 * the end of an attempt are dropped. Leaves out: deciding steps and storing them, which
 * `RunScheduler` does.
 */
import type { Fiber } from "effect"
import { Duration, Effect, Exit } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { JsonObject } from "../../domain/Json.ts"
import type { Message } from "../../domain/Message.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import { never } from "../../domain/Timestamp.ts"
import type { SecretSource } from "../CurrentSecrets.ts"
import type { GraphNode } from "../../graph/Graph.ts"
import { givenTo } from "../../graph/internal/LoopBody.ts"
import type { ChargedSoFar } from "./Cancelation.ts"
import type { BodyRun } from "./ChildSource.ts"
import type { ValueSource } from "./CurrentValues.ts"
import type { NodeTypes } from "../NodeTypes.ts"
import type { Cancel } from "../../ports/CallbackEffect.ts"
import { begin } from "../../ports/CallbackEffect.ts"
import type { StartedRun } from "../../ports/RunStore.ts"
import { monotonicMillis } from "../StoreClock.ts"
import type { AttemptOutcome } from "./Attempt.ts"
import { Attempt } from "./Attempt.ts"
import type { AttemptRequest, SharedByAttempts } from "./AttemptRequest.ts"
import type { Handlers } from "./Handlers.ts"
import { LazyMap } from "./LazyMap.ts"
import { inSpan } from "./NodeSpan.ts"
import { RunSecrets } from "./RunSecrets.ts"
import type { Environment, RunState, Started } from "./RunState.ts"
import { isListening, none } from "./RunState.ts"
import { RunValues } from "./RunValues.ts"
import type { StepEvent, Step } from "./Step.ts"

/** What the executions of a process share. */
export interface Shared extends SharedByAttempts {
  readonly types: NodeTypes["Service"]
  readonly handlers: Pick<Handlers, "begin" | "enter" | "leave" | "end" | "forget">
  readonly secrets: SecretSource
  readonly values: ValueSource | undefined
  /** Computes a run of the body of a loop, if it ends at once. */
  readonly computeRun: (
    shared: Shared,
    child: BodyRun,
    environment: Environment,
  ) => StartedRun | undefined
}

type HandlerExit = Exit.Exit<JsonObject, unknown>

/** The result of calling a handler. */
interface Called {
  /** When it gave control back. */
  readonly leftAt: Timestamp
  /** None if it goes on. */
  readonly outcome: AttemptOutcome | undefined
}

/** An attempt whose outcome is not stored yet. Mutable. */
interface Running {
  readonly attempt: Attempt
  /** Stops the handler, or afterwards what stores its large values. */
  stop: Cancel | undefined
  timer: Fiber.Fiber<unknown> | undefined
  /** True once its outcome was told; it stays here until that is stored. */
  isOver: boolean
}

/** The timer of a node that waits. Mutable. */
interface Wait {
  timer: Fiber.Fiber<unknown> | undefined
  isOver: boolean
}

const valueOf = <A>(exit: Exit.Exit<A> | undefined): A | undefined =>
  exit !== undefined && Exit.isSuccess(exit) ? exit.value : undefined

/** If the clock moves by so much against the monotonic clock, somebody has set it. */
const clockJumpMillis = 1_000

/** Who takes the steps of an execution. */
interface Owner {
  /** Called when something has happened to the run. */
  readonly wake: () => void
}

/** Calls the handlers and sets the timers of one run. Mutable. */
export class RunExecution {
  readonly progress: RunState
  readonly #shared: Shared
  readonly #owner: Owner
  readonly #running = new LazyMap<number, Running>()
  readonly #waits = new LazyMap<number, Wait>()
  /** The timer of the end of the run. */
  #deadline: Fiber.Fiber<unknown> | undefined
  #events: Array<StepEvent> | undefined
  /** The events of the step that is being stored. */
  #taken: ReadonlyArray<StepEvent> = none
  /** By how much the clock was ahead of the monotonic clock when the timers were set. */
  #offset: number | undefined
  /** True once closed. A handler may cancel its own run while `begin` calls it. */
  #isClosed = false
  /** None if the graph of the run names no secrets. */
  readonly #secrets: RunSecrets | undefined
  /** None if large values are kept nowhere. */
  readonly #values: RunValues | undefined

  constructor(progress: RunState, shared: Shared, owner: Owner) {
    this.progress = progress
    this.#shared = shared
    this.#owner = owner
    const { graph, run } = progress
    if (graph.secrets.length > 0) {
      const names = [...new Set(graph.secrets.map(({ name }) => name))]
      this.#secrets = new RunSecrets(shared.secrets, run.accountId, names)
    }
    if (shared.values !== undefined) this.#values = new RunValues(shared.values, progress)
    progress.charges = this
    this.#setDeadline()
  }

  /** True if something has happened since the last call of {@link take}. */
  get hasEvents(): boolean {
    return this.#events !== undefined
  }

  /** Messages with higher numbers are new to the run; `undefined` unless it waits for messages. */
  get listensAfter(): number | undefined {
    const { run, seen } = this.progress
    return run.dueAt === null && isListening(this.progress) ? seen : undefined
  }

  /**
   * The charges of attempts in progress here that a stored run of this revision does not include. A
   * run of a newer revision includes the ends of attempts in the step that is being stored.
   */
  chargedBeyond(revision: number): ChargedSoFar {
    const taken = revision < this.progress.run.revision ? none : this.#taken
    const ended = new Set(taken.flatMap((each) => ("attempt" in each ? [each.index] : [])))
    return (index, attempt) => (ended.has(index) ? 0 : this.spent(index, attempt))
  }

  /** What an attempt in progress here has charged so far. */
  spent(index: number, attempt: number): MicroCredits {
    const running = this.#running.get(index)?.attempt
    return running?.number === attempt ? running.charged : 0
  }

  /** What has happened since the last call, without timers of waits that a message has ended. */
  take(): ReadonlyArray<StepEvent> {
    const events = this.#events ?? none
    this.#taken = events.filter((event) => event._tag !== "Due" || this.#endWait(event.index))
    this.#events = undefined
    return this.#taken
  }

  /** Gives it messages of the run, in order. */
  receive(messages: ReadonlyArray<Message>): void {
    this.#tell({ _tag: "Received", messages })
  }

  /** Starts and interrupts what a step has decided. To be called once the step is stored. */
  begin({ started, stopped }: Step): void {
    for (const event of this.#taken) {
      if ("attempt" in event && this.#running.get(event.index)?.isOver === true) {
        this.#running.delete(event.index)
      }
    }
    this.#taken = none
    for (const index of stopped) this.#interrupt(index)
    // Handlers are called one after the other: each once the one before has given control back.
    let now = started.length === 0 ? 0 : this.#shared.clock.currentTimeMillisUnsafe()
    for (const each of started) {
      if (this.#isClosed) return
      if (each.message !== undefined) this.#forgetWait(each.index)
      const { leftAt, outcome } = this.#start(each, now)
      if (outcome !== undefined) this.#tell(outcome)
      now = leftAt
    }
    if (this.progress.run.dueAt === null && !this.#isClosed) this.#setTimers()
  }

  /**
   * Calls a handler within a step. The outcome, if it ended at once and nothing is to be stored.
   */
  compute(started: Started, now: Timestamp): AttemptOutcome | undefined {
    const { outcome } = this.#start(started, now)
    if (outcome !== undefined) this.#running.delete(started.index)
    return outcome
  }

  /** Interrupts every handler and every timer, without waiting for any. */
  close(): void {
    this.#isClosed = true
    for (const index of this.#running.keys()) this.#interrupt(index)
    for (const { timer } of this.#waits.values()) timer?.interruptUnsafe()
    this.#deadline?.interruptUnsafe()
    this.#shared.handlers.forget(this.progress.run.id)
    // A parked run will go on, perhaps here: its values stay while there is room for them.
    if (this.progress.run.dueAt === null) this.#values?.close()
  }

  #tell(event: StepEvent): void {
    if (this.#events === undefined) this.#events = [event]
    else this.#events.push(event)
    this.#owner.wake()
  }

  /** Starts a timer for each new wait, and all of them anew if the clock was set. */
  #setTimers(): void {
    const { deadline, waiting } = this.progress
    if (this.#waits.size > 0 || deadline !== undefined) this.#followClock()
    for (const [index, { due }] of waiting.entries()) {
      if (due === never || this.#waits.has(index)) continue
      const wait: Wait = { timer: undefined, isOver: false }
      this.#waits.set(index, wait)
      wait.timer = this.#at(due, () => {
        wait.isOver = true
        this.#tell({ _tag: "Due", index })
      })
    }
  }

  /** True if the wait of a node is over. */
  #endWait(index: number): boolean {
    return this.#waits.get(index)?.isOver === true && this.#waits.delete(index)
  }

  /** Makes sure that the run ends when its time is up. */
  #setDeadline(): void {
    const { deadline } = this.progress
    if (deadline === undefined) return
    this.#deadline?.interruptUnsafe()
    this.#deadline = this.#at(deadline, () => this.#tell({ _tag: "Expired" }))
  }

  /** Sets timers anew if the store's clock was set since then. */
  #followClock(): void {
    const offset = this.#currentOffset()
    if (this.#offset === undefined || Math.abs(offset - this.#offset) < clockJumpMillis) return
    this.#offset = offset
    for (const { timer } of this.#waits.values()) timer?.interruptUnsafe()
    this.#waits.clear()
    this.#setDeadline()
  }

  /** Calls a function when the clock shows this time. Setting the clock does not delay it. */
  #at(time: number, call: () => void): Fiber.Fiber<unknown> {
    this.#offset ??= this.#currentOffset()
    return this.#after(Math.max(0, time - this.#shared.clock.currentTimeMillisUnsafe()), call)
  }

  #currentOffset(): number {
    const { clock } = this.#shared
    return clock.currentTimeMillisUnsafe() - monotonicMillis(clock)
  }

  #after(millis: number, call: () => void): Fiber.Fiber<unknown> {
    return this.#fork(Effect.andThen(Effect.sleep(millis), Effect.sync(call)))
  }

  /** Stops the timer of a wait that a message has ended. */
  #forgetWait(index: number): void {
    this.#waits.get(index)?.timer?.interruptUnsafe()
    this.#waits.delete(index)
  }

  #interrupt(index: number): void {
    const running = this.#running.get(index)
    this.#running.delete(index)
    running?.timer?.interruptUnsafe()
    running?.stop?.()
  }

  /** Calls a handler at `now`. The outcome, if it ended at once and nothing is to be stored. */
  #start(started: Started, now: Timestamp): Called {
    const { index, message } = started
    const { definition, graph, held, priorAttempts, limits, run } = this.progress
    const { clock, handlers, types } = this.#shared
    const node = graph.nodes[index]!
    const nodeType = node.type.key
    const handler = handlers.begin({ runId: run.id, nodeId: node.id, nodeType })
    const request = {
      run,
      node,
      executable: types.executable(node.type),
      started,
      shared: this.#shared,
      loop: this.#loopOf(node),
      workflows: definition.settings.workflows,
      secrets: this.#secrets,
      values: this.#values,
      message: message === undefined ? undefined : held.get(message),
      earlier: priorAttempts.get(index)?.logs ?? null,
      limits,
      handler,
    }
    const attempt = new Attempt(request)
    const running: Running = { attempt, stop: undefined, timer: undefined, isOver: false }
    this.#running.set(index, running)
    handlers.enter(handler, now)
    const called = inSpan(types.context, request, () => attempt.call())
    const exit = Exit.isExit(called) ? (called as HandlerExit) : this.#await(running, called)
    const ended = exit === undefined ? undefined : attempt.end(exit)
    const storing = Effect.isEffect(ended) ? this.#fork(ended) : undefined
    const outcome = Effect.isEffect(ended) ? valueOf(storing!.pollUnsafe()) : ended
    const leftAt = outcome?.at ?? clock.currentTimeMillisUnsafe()
    handlers.leave(handler, leftAt)
    if (ended !== undefined) {
      handlers.end(handler)
      if (outcome === undefined) this.#whenStored(running, storing!)
      else running.isOver = true
    } else if (this.#isClosed) running.stop?.()
    if (outcome === undefined) this.#startTimeout(running)
    return { leftAt, outcome }
  }

  /** The body of a node, with what nodes outside of it have put out. */
  #loopOf({ id }: GraphNode): AttemptRequest["loop"] {
    const { definition, frontier, graph } = this.progress
    const body = graph.bodies.get(id)
    if (body === undefined) return undefined
    const given = givenTo(body, graph.indexOf, frontier)
    return { definition, body, given, compute: (child) => this.#computeBody(child) }
  }

  #computeBody(child: BodyRun): StartedRun | undefined {
    const { limits, random } = this.progress
    const now = this.#shared.clock.currentTimeMillisUnsafe()
    return this.#shared.computeRun(this.#shared, child, { limits, now, random })
  }

  #fork<A>(effect: Effect.Effect<A>): Fiber.Fiber<A> {
    return Effect.runForkWith(this.#shared.types.context)(effect)
  }

  /** Tells the outcome of an attempt once its large values are stored. */
  #whenStored(running: Running, storing: Fiber.Fiber<AttemptOutcome>): void {
    running.stop = () => storing.interruptUnsafe()
    storing.addObserver((exit) => {
      if (Exit.isSuccess(exit)) this.#over(running, () => exit.value)
    })
  }

  /** Waits for a handler. The exit, if it ends at once; otherwise its outcome is told later. */
  #await(
    running: Running,
    called: Effect.Effect<JsonObject, unknown, unknown>,
  ): HandlerExit | undefined {
    let hasBegun = false
    let atOnce: HandlerExit | undefined
    const fork = (effect: typeof called) =>
      Effect.runForkWith(running.attempt.within(this.#shared.types.context))(effect)
    running.stop = begin(called, fork, (exit) => {
      if (hasBegun) this.#end(running, exit)
      else atOnce = exit
    })
    hasBegun = true
    return atOnce
  }

  /** Tells the outcome of a handler that did not end at once. */
  #end(running: Running, exit: HandlerExit): void {
    this.#shared.handlers.end(running.attempt.request.handler)
    if (!this.#isCurrent(running)) return
    const ended = running.attempt.end(exit)
    if (Effect.isEffect(ended)) this.#whenStored(running, this.#fork(ended))
    else this.#over(running, () => ended)
  }

  /** True until an attempt is over or interrupted. */
  #isCurrent(running: Running): boolean {
    return !running.isOver && this.#running.get(running.attempt.index) === running
  }

  /** Ends an attempt that takes too long, also while its large values are stored. */
  #startTimeout(running: Running): void {
    if (this.#isClosed || running.isOver) return
    const millis = running.attempt.request.node.policy.timeoutMillis
    if (millis === undefined) return
    const late = `timed out after ${Duration.format(Duration.millis(millis))}`
    running.timer = this.#after(millis, () =>
      this.#over(running, () => running.attempt.giveUp(late)),
    )
  }

  /** Tells the outcome of an attempt once, and interrupts what is left of its handler. */
  #over(running: Running, outcomeOf: () => AttemptOutcome): void {
    if (!this.#isCurrent(running)) return
    running.isOver = true
    this.#tell(outcomeOf())
    running.timer?.interruptUnsafe()
    running.stop?.()
  }
}
