/**
 * Calls the handlers of one run and sets its timers. Everything that happens to the run arrives in
 * one queue here.
 *
 * Guarantees: nothing waits for a handler that ignores its interruption. Logs and outcomes after
 * the end of an attempt are dropped. Leaves out: what an outcome means for the run.
 */
import type { Clock, Context, Fiber } from "effect"
import { Duration, Effect, Exit, Queue } from "effect"
import type { JsonObject } from "../../domain/Json.ts"
import type { Message } from "../../domain/Message.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import { never } from "../../domain/Timestamp.ts"
import { Attempt } from "./Attempt.ts"
import type { Handler, Handlers } from "./Handlers.ts"
import type { NodeTypes } from "../NodeTypes.ts"
import { monotonicMillis } from "../StoreClock.ts"
import type { RunState, Started } from "./RunState.ts"
import type { Signal, Step } from "./Step.ts"

/** An attempt in progress. */
interface Running {
  readonly attempt: Attempt
  /** None where the handler ended as soon as it was called. */
  readonly fiber: Fiber.Fiber<unknown, unknown> | undefined
  readonly timer: Fiber.Fiber<unknown> | undefined
}

/** A signal, or a notification to check whether the process is stopping. */
export type News = Signal | { readonly _tag: "Drain" }

/** A clock that moves by so much beside the monotonic clock was set. */
const setMillis = 1_000

/** Calls handlers and sets timers for one run. */
export class NodeExecutor {
  readonly #progress: RunState
  readonly #types: NodeTypes["Service"]
  readonly #handlers: Handlers
  readonly #clock: Clock.Clock
  readonly #context: Context.Context<unknown>
  readonly #news: Queue.Queue<News>
  readonly #fork: ReturnType<typeof Effect.runForkWith<unknown>>
  readonly #running = new Map<number, Running>()
  readonly #waits = new Map<number, Fiber.Fiber<unknown>>()
  #limit: Fiber.Fiber<unknown> | undefined
  #deadline: Timestamp | undefined
  /** By how much the clock was ahead of the monotonic clock when the timers were set. */
  #offset: number | undefined

  constructor(
    progress: RunState,
    types: NodeTypes["Service"],
    handlers: Handlers,
    clock: Clock.Clock,
    news: Queue.Queue<News>,
  ) {
    this.#progress = progress
    this.#types = types
    this.#handlers = handlers
    this.#clock = clock
    this.#context = types.context
    this.#news = news
    this.#fork = Effect.runForkWith(types.context)
    progress.spent = (index, attempt) => {
      const running = this.#running.get(index)?.attempt
      return running?.number === attempt ? running.charged : 0
    }
  }

  /** Makes sure that the run ends when its time is up. */
  limit(deadline: Timestamp): void {
    this.#deadline = deadline
    this.#limit = this.#at(deadline, () => ({ _tag: "Expired" }))
  }

  /** Does what a step asks for. */
  begin({ started, stopped }: Step): void {
    for (const index of stopped) this.#interrupt(index)
    // Handlers follow each other: each gets control when the one before has given it back.
    let now = started.length === 0 ? 0 : this.#clock.currentTimeMillisUnsafe()
    for (const each of started) {
      if (each.message !== undefined) this.#forgetWait(each.index)
      now = this.#start(each, now)
    }
    if (this.#progress.run.dueAt !== null) return
    if (this.#waits.size > 0 || this.#deadline !== undefined) this.#followClock()
    for (const [index, { due }] of this.#progress.waiting) {
      if (due === never || this.#waits.has(index)) continue
      this.#waits.set(
        index,
        this.#at(due, () => ({ _tag: "Due", index })),
      )
    }
  }

  /** What has happened since the last call; waits until something has that matters. */
  next(): Effect.Effect<ReadonlyArray<Signal>> {
    return Effect.flatMap(Queue.takeAll(this.#news), (news) => {
      const signals = news.filter((each): each is Signal => this.#matters(each))
      const stopping = news.some(({ _tag }) => _tag === "Drain")
      return signals.length > 0 || stopping ? Effect.succeed(signals) : this.next()
    })
  }

  /** Gives it messages of the run. */
  receive(messages: ReadonlyArray<Message>): void {
    Queue.offerUnsafe(this.#news, { _tag: "Received", messages })
  }

  /** Makes {@link next} return, so its caller checks whether the process is stopping. */
  notifyDrain(): void {
    Queue.offerUnsafe(this.#news, { _tag: "Drain" })
  }

  /** Interrupts every handler and every timer, without waiting for any. */
  close(): void {
    for (const index of this.#running.keys()) this.#interrupt(index)
    for (const timer of this.#waits.values()) timer.interruptUnsafe()
    this.#limit?.interruptUnsafe()
  }

  /** Sets timers anew if the store's clock was set since then. */
  #followClock(): void {
    const offset = this.#currentOffset()
    if (this.#offset === undefined || Math.abs(offset - this.#offset) < setMillis) return
    this.#offset = offset
    for (const timer of this.#waits.values()) timer.interruptUnsafe()
    this.#waits.clear()
    if (this.#deadline === undefined) return
    this.#limit?.interruptUnsafe()
    this.limit(this.#deadline)
  }

  /** Sends a signal at a time. Setting the wall clock does not delay it. */
  #at(time: number, signal: () => Signal): Fiber.Fiber<unknown> {
    this.#offset ??= this.#currentOffset()
    const millis = Math.max(0, time - this.#clock.currentTimeMillisUnsafe())
    return this.#after(millis, signal)
  }

  #currentOffset(): number {
    return this.#clock.currentTimeMillisUnsafe() - monotonicMillis(this.#clock)
  }

  #after(millis: number, signal: () => Signal): Fiber.Fiber<unknown> {
    const offer = Effect.sync(() => Queue.offerUnsafe(this.#news, signal()))
    return this.#fork(Effect.andThen(Effect.sleep(millis), offer))
  }

  /** False for an outcome that comes too late, because its attempt was already ended. */
  #matters(news: News): boolean {
    if (news._tag === "Drain") return false
    if (news._tag === "Expired" || news._tag === "Received") return true
    if (news._tag === "Due") return this.#waits.delete(news.index)
    if (this.#running.get(news.index)?.attempt.number !== news.attempt) return false
    this.#interrupt(news.index)
    return true
  }

  /** Stops the timer of a wait that a message has ended. */
  #forgetWait(index: number): void {
    this.#waits.get(index)?.interruptUnsafe()
    this.#waits.delete(index)
  }

  #interrupt(index: number): void {
    const running = this.#running.get(index)
    this.#running.delete(index)
    running?.timer?.interruptUnsafe()
    running?.fiber?.interruptUnsafe()
  }

  /** Gives a handler control, and measures for how long. */
  #watch<A>(handler: Handler, call: () => A): A {
    this.#handlers.enter(handler, this.#clock.currentTimeMillisUnsafe())
    try {
      return call()
    } finally {
      this.#handlers.leave(handler, this.#clock.currentTimeMillisUnsafe())
    }
  }

  /**
   * Calls a handler at once: one that does not wait has then ended before anybody looks. It gets
   * control at `now`; answers when it has given it back.
   */
  #start({ attempt: number, index, inputs, message, state }: Started, now: Timestamp): Timestamp {
    const { graph, held, priorAttempts, limits, run } = this.#progress
    const node = graph.nodes[index]!
    const handler = this.#handlers.begin({
      runId: run.id,
      nodeId: node.id,
      nodeType: node.type.key,
    })
    const request = {
      run,
      node,
      executable: this.#types.executable(node.type.key)!,
      attempt: number,
      inputs,
      state,
      message: message === undefined ? undefined : held.get(message),
      earlier: priorAttempts.get(index)?.logs ?? null,
      limits,
      watched: <A>(call: () => A) => this.#watch(handler, call),
    }
    const attempt = new Attempt(request, this.#clock)
    this.#handlers.enter(handler, now)
    const called = attempt.call()
    return Exit.isExit(called)
      ? this.#ended(attempt, handler, index, called as Exit.Exit<JsonObject, unknown>)
      : this.#goOn(attempt, handler, index, called)
  }

  /** The handler has ended as soon as it was called. */
  #ended(
    attempt: Attempt,
    handler: Handler,
    index: number,
    exit: Exit.Exit<JsonObject, unknown>,
  ): Timestamp {
    const outcome = attempt.end(exit)
    this.#handlers.leave(handler, outcome.at)
    this.#handlers.end(handler)
    this.#running.set(index, { attempt, fiber: undefined, timer: undefined })
    Queue.offerUnsafe(this.#news, outcome)
    return outcome.at
  }

  /** The rest of the handler goes on in a fiber of its own. */
  #goOn(
    attempt: Attempt,
    handler: Handler,
    index: number,
    rest: Effect.Effect<JsonObject, unknown, unknown>,
  ): Timestamp {
    const fiber = Effect.runForkWith(attempt.within(this.#context))(rest)
    const left = this.#clock.currentTimeMillisUnsafe()
    this.#handlers.leave(handler, left)
    const millis = this.#progress.graph.nodes[index]!.policy.timeoutMillis
    const timer =
      millis === undefined || fiber.pollUnsafe() !== undefined
        ? undefined
        : this.#after(millis, () =>
            attempt.giveUp(`timed out after ${Duration.format(Duration.millis(millis))}`),
          )
    this.#running.set(index, { attempt, fiber, timer })
    fiber.addObserver((exit) => {
      this.#handlers.end(handler)
      if (this.#running.get(index)?.fiber === fiber) {
        Queue.offerUnsafe(this.#news, attempt.end(exit))
      }
    })
    return left
  }
}
