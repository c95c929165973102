/**
 * Where one run's handlers are called and its timers are set: everything that happens to the run
 * arrives here, in one queue.
 *
 * Guarantees: whatever a handler does, nobody waits for it; what it says after its attempt was
 * ended is dropped. Leaves out: what any of it means for the run.
 */
import type { Fiber } from "effect"
import { Clock, Context, Duration, Effect, Queue } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { Message } from "../../domain/Message.ts"
import { never } from "../../domain/Timestamp.ts"
import * as Attempt from "./Attempt.ts"
import type { Handler, Handlers } from "./Handlers.ts"
import type { NodeTypes } from "../NodeTypes.ts"
import type { RunState, Started } from "./RunState.ts"
import type { Signal, Step } from "./Step.ts"

/** An attempt in progress. */
interface Running {
  readonly attempt: number
  readonly fiber: Fiber.Fiber<unknown, unknown>
  readonly charged: () => MicroCredits
  readonly timer: Fiber.Fiber<unknown> | undefined
}

/** A signal, or the word that it is time to look whether the process is stopping. */
export type News = Signal | { readonly _tag: "Drain" }

/** Calls handlers and sets timers for one run. */
export class NodeExecutor {
  readonly #progress: RunState
  readonly #types: NodeTypes["Service"]
  readonly #handlers: Handlers
  readonly #clock: Clock.Clock
  /** What handlers run in; the clock is the engine's. */
  readonly #context: Context.Context<unknown>
  readonly #news: Queue.Queue<News>
  readonly #fork: ReturnType<typeof Effect.runForkWith<unknown>>
  readonly #running = new Map<number, Running>()
  readonly #waits = new Map<number, Fiber.Fiber<unknown>>()
  #limit: Fiber.Fiber<unknown> | undefined

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
    this.#context = Context.add(types.context, Clock.Clock, clock)
    this.#news = news
    this.#fork = Effect.runForkWith(types.context)
    progress.spent = (index, attempt) => {
      const running = this.#running.get(index)
      return running?.attempt === attempt ? running.charged() : 0
    }
  }

  /** Makes sure that the run ends when its time is up. */
  limit(deadline: number): void {
    this.#limit = this.#at(deadline, () => ({ _tag: "Expired" }))
  }

  /** Does what a step asks for. */
  begin({ started, stopped }: Step): void {
    for (const index of stopped) this.#interrupt(index)
    // Handlers follow each other: each gets control when the one before has given it back.
    let now = started.length === 0 ? 0n : this.#clock.monotonicTimeNanosUnsafe()
    for (const each of started) {
      if (each.message !== undefined) this.#forgetWait(each.index)
      now = this.#start(each, now)
    }
    if (this.#progress.run.dueAt !== null) return
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

  /** Hands over messages of the run. */
  receive(messages: ReadonlyArray<Message>): void {
    Queue.offerUnsafe(this.#news, { _tag: "Received", messages })
  }

  /** Has whoever waits in {@link next} look whether the process is stopping. */
  notifyDrain(): void {
    Queue.offerUnsafe(this.#news, { _tag: "Drain" })
  }

  /** Interrupts every handler and every timer, without waiting for any. */
  close(): void {
    for (const index of this.#running.keys()) this.#interrupt(index)
    for (const timer of this.#waits.values()) timer.interruptUnsafe()
    this.#limit?.interruptUnsafe()
  }

  /** Sends a signal at a time. No change of the wall clock makes the way there longer. */
  #at(time: number, signal: () => Signal): Fiber.Fiber<unknown> {
    const millis = Math.max(0, time - this.#clock.currentTimeMillisUnsafe())
    return this.#after(millis, signal)
  }

  #after(millis: number, signal: () => Signal): Fiber.Fiber<unknown> {
    const offer = Effect.sync(() => Queue.offerUnsafe(this.#news, signal()))
    return this.#fork(Effect.andThen(Effect.sleep(millis), offer))
  }

  /** False for an outcome that comes too late: its attempt was ended by somebody else. */
  #matters(news: News): boolean {
    if (news._tag === "Drain") return false
    if (news._tag === "Expired" || news._tag === "Received") return true
    if (news._tag === "Due") return this.#waits.delete(news.index)
    if (this.#running.get(news.index)?.attempt !== news.attempt) return false
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
    running?.fiber.interruptUnsafe()
  }

  /** Gives a handler control, and measures for how long. */
  #watch<A>(handler: Handler, call: () => A): A {
    this.#handlers.enter(handler, this.#clock.monotonicTimeNanosUnsafe())
    try {
      return call()
    } finally {
      this.#handlers.leave(handler, this.#clock.monotonicTimeNanosUnsafe())
    }
  }

  /**
   * Calls a handler at once: one that does not wait has then ended before anybody looks. It gets
   * control at `now`; answers when it has given it back. Both are monotonic, in nanoseconds.
   */
  #start(started: Started, now: bigint): bigint {
    const { attempt: number, index, inputs, message, state } = started
    const { graph, held, priorAttempts: leftovers, limits, run } = this.#progress
    const node = graph.nodes[index]!
    const executable = this.#types.executable(node.type.key)!
    const earlier = leftovers.get(index)?.logs ?? null
    const handler = this.#handlers.begin({
      runId: run.id,
      nodeId: node.id,
      nodeType: node.type.key,
    })
    const watched = <A>(call: () => A) => this.#watch(handler, call)
    const request = {
      run,
      node,
      executable,
      attempt: number,
      inputs,
      state,
      message: message === undefined ? undefined : held.get(message),
      earlier,
      limits,
      watched,
    }
    const attempt = Attempt.make(request, this.#context, this.#clock)
    this.#handlers.enter(handler, now)
    const fiber = Effect.runForkWith(attempt.context)(attempt.run)
    const left = this.#clock.monotonicTimeNanosUnsafe()
    this.#handlers.leave(handler, left)
    const millis = node.policy.timeoutMillis
    const timer =
      millis === undefined || fiber.pollUnsafe() !== undefined
        ? undefined
        : this.#after(millis, () =>
            attempt.giveUp(`timed out after ${Duration.format(Duration.millis(millis))}`),
          )
    this.#running.set(index, { attempt: number, fiber, charged: attempt.charged, timer })
    fiber.addObserver((exit) => {
      this.#handlers.end(handler)
      if (this.#running.get(index)?.fiber === fiber) {
        Queue.offerUnsafe(this.#news, attempt.end(exit))
      }
    })
    return left
  }
}
