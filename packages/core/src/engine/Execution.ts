/**
 * The execution of one run: one fiber, and the run's only writer while it owns it.
 *
 * A turn takes every attempt that has ended, settles it, decides what that releases, commits all of
 * it in one atomic step, and only then starts the released nodes. So a node starts only after
 * whatever it depends on is durable, and a start is itself recorded before it happens.
 *
 * Guarantees: a finished node is never run again; a refused commit stops the execution at once and
 * without a trace; no handler can hold up its run by ignoring that it is interrupted. Leaves out:
 * who owns a run; that is the runner's.
 */
import type { Fiber } from "effect"
import { Clock, Duration, Effect, Queue, Random, Result } from "effect"
import { CurrentLimits } from "../domain/Limits.ts"
import type { RunRecord } from "../domain/Run.ts"
import type { StaleRun } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { Outcome } from "./Attempt.ts"
import * as Attempt from "./Attempt.ts"
import { commitDurably } from "./Commit.ts"
import type { Compiled } from "./Graphs.ts"
import { Graphs } from "./Graphs.ts"
import { NodeTypes } from "./NodeTypes.ts"
import type { Circumstances, Progress, Started } from "./Progress.ts"
import { recordOf, resume } from "./Progress.ts"
import type { Signal, Turn } from "./Turn.ts"
import { giveUp, goesOn, turn } from "./Turn.ts"

/** A run of which so many owners have died without any progress is not given to another one. */
export const claimsWithoutProgress = 5

/** A run that has nothing to do for longer than this is parked, and taken up again at its time. */
export const parkAfterMillis = 1_000

/** An execution that is about to begin: its first turn is decided, and not yet committed. */
export interface Prepared {
  /** Absent where the first turn gives the run up. */
  readonly progress: Progress | undefined
  readonly first: Turn
}

/** How an execution learns that its process is about to stop. */
export interface Drain {
  readonly isDraining: () => boolean
  /** Calls back once, when draining begins; the answer takes that back. */
  readonly onDrain: (notify: () => void) => () => void
}

/** For executions that nobody tells to stop. */
export const noDrain: Drain = { isDraining: () => false, onDrain: () => () => undefined }

/**
 * The run as it is stored when an execution is over: it has ended, is parked until its time, or was
 * left open for another owner. `undefined` where it was given up.
 */
export type Over = RunRecord | undefined

const refused = (record: RunRecord, error: string, { now }: Circumstances): Prepared => ({
  progress: undefined,
  first: { commit: giveUp(record, error, now), started: [], stopped: [] },
})

/** What a new owner has to settle first: attempts whose outcome nobody knows, and lost time. */
const inherited = (progress: Progress, { now }: Circumstances): ReadonlyArray<Signal> => {
  const lost = [...progress.running.values()].map(({ attempt, index }): Outcome => ({
    _tag: "Failed",
    index,
    attempt,
    logs: progress.leftovers.get(index)?.logs ?? null,
    charged: null,
    at: now,
    error: `the outcome of attempt ${attempt} is unknown: its process stopped`,
    retryable: false,
    retryAfterMillis: undefined,
  }))
  const reached = Math.max(now, progress.run.dueAt ?? now)
  const expired = progress.deadline !== undefined && progress.deadline <= reached
  return expired ? [...lost, { _tag: "Expired" }] : lost
}

/** Decides the first turn of whoever owns a run from now on. Pure. */
export const prepare = (
  record: RunRecord,
  graph: Compiled,
  circumstances: Circumstances,
): Prepared => {
  const { claims } = record.run
  if (claims > claimsWithoutProgress) {
    const times = `${claimsWithoutProgress} times`
    const error = `The run was given up: its runner stopped ${times} in a row`
    return refused(record, error, circumstances)
  }
  if (Result.isFailure(graph)) {
    const problems = graph.failure.map((each) => each.message).join("; ")
    return refused(record, `The run cannot be executed: ${problems}`, circumstances)
  }
  const progress = resume(record, graph.success, circumstances)
  const signals = inherited(progress, circumstances)
  const manner = { draining: false, parkAfterMillis }
  return { progress, first: turn(progress, signals, circumstances.now, manner) }
}

/** An attempt in progress. */
interface Running {
  readonly attempt: number
  readonly fiber: Fiber.Fiber<unknown>
  timer: Fiber.Fiber<unknown> | undefined
}

/** A signal, or the word that it is time to look whether the process is stopping. */
type News = Signal | { readonly _tag: "Drain" }

/** Calls handlers and sets timers for one run. Everything that happens arrives in one queue. */
class Workshop {
  readonly #progress: Progress
  readonly #types: NodeTypes["Service"]
  readonly #clock: Clock.Clock
  readonly #news: Queue.Queue<News>
  readonly #running = new Map<number, Running>()
  readonly #armed = new Set<number>()

  constructor(
    progress: Progress,
    types: NodeTypes["Service"],
    clock: Clock.Clock,
    news: Queue.Queue<News>,
  ) {
    this.#progress = progress
    this.#types = types
    this.#clock = clock
    this.#news = news
  }

  /** Does what a turn asks for. */
  begin({ started, stopped }: Turn): Effect.Effect<void> {
    for (const index of stopped) this.#interrupt(index)
    const work = [...started.map((each) => this.#start(each)), ...this.#waits()]
    return Effect.all(work, { discard: true })
  }

  /** What has happened since the last call; waits until something has that matters. */
  next(): Effect.Effect<ReadonlyArray<Signal>> {
    return Effect.flatMap(Queue.takeAll(this.#news), (news) => {
      const signals = news.filter((each): each is Signal => this.#matters(each))
      const stopping = news.some(({ _tag }) => _tag === "Drain")
      return signals.length > 0 || stopping ? Effect.succeed(signals) : this.next()
    })
  }

  /** Interrupts every handler, without waiting for any. */
  close(): void {
    for (const index of this.#running.keys()) this.#interrupt(index)
  }

  /** Offers a signal after a time that no change of the wall clock makes longer or shorter. */
  after(millis: number, signal: () => Signal): Effect.Effect<Fiber.Fiber<unknown>> {
    const offer = Effect.sync(() => Queue.offerUnsafe(this.#news, signal()))
    return Effect.forkChild(Effect.andThen(Effect.sleep(Math.max(0, millis)), offer), {
      startImmediately: true,
    })
  }

  /** False for an outcome that comes too late: its attempt was ended by somebody else. */
  #matters(news: News): boolean {
    if (news._tag === "Drain") return false
    if (news._tag === "Expired") return true
    if (news._tag === "Due") return this.#armed.delete(news.index)
    if (this.#running.get(news.index)?.attempt !== news.attempt) return false
    this.#interrupt(news.index)
    return true
  }

  #interrupt(index: number): void {
    const running = this.#running.get(index)
    running?.timer?.interruptUnsafe()
    running?.fiber.interruptUnsafe()
    this.#running.delete(index)
  }

  #start({ attempt: number, index, inputs, state }: Started): Effect.Effect<void> {
    const { graph, leftovers, limits, run } = this.#progress
    const node = graph.nodes[index]!
    const executable = this.#types.executable(node.type.key)!
    const earlier = leftovers.get(index)?.logs ?? null
    const request = { run, node, executable, attempt: number, inputs, state, earlier, limits }
    const attempt = Attempt.make(request, this.#clock)
    const offered = Effect.map(attempt.run, (outcome) => Queue.offerUnsafe(this.#news, outcome))
    // At once, because a handler that does not wait has then ended before anybody looks. Detached,
    // because nobody must have to wait for a handler that does not let itself be interrupted.
    return Effect.flatMap(Effect.forkDetach(offered, { startImmediately: true }), (fiber) => {
      const running: Running = { attempt: number, fiber, timer: undefined }
      this.#running.set(index, running)
      const millis = node.policy.timeoutMillis
      if (millis === undefined || fiber.pollUnsafe() !== undefined) return Effect.void
      const late = `timed out after ${Duration.format(Duration.millis(millis))}`
      return Effect.map(
        this.after(millis, () => attempt.giveUp(late)),
        (timer) => void (running.timer = timer),
      )
    })
  }

  #waits(): ReadonlyArray<Effect.Effect<unknown>> {
    const { run, waiting } = this.#progress
    if (run.dueAt !== null || waiting.size === 0) return []
    const now = this.#clock.currentTimeMillisUnsafe()
    const timers: Array<Effect.Effect<unknown>> = []
    for (const [index, { due }] of waiting) {
      if (this.#armed.has(index)) continue
      this.#armed.add(index)
      timers.push(this.after(due - now, () => ({ _tag: "Due", index })))
    }
    return timers
  }
}

/**
 * Executes a run from a first turn whose commit is stored, until it has ended, is parked or was
 * left open, and gives it as it is stored then. Fails with `StaleRun` when somebody else took it
 * over, and nothing more was written.
 *
 * Interruption stops its handlers and leaves the run as it was last committed. While draining no
 * further node is started, and the execution is over when those in progress have settled: the run
 * stays open for the next owner.
 */
export const proceed: (
  prepared: Prepared,
  drain: Drain,
) => Effect.Effect<Over, StaleRun, RunStore | NodeTypes> = Effect.fnUntraced(function* (
  { first, progress },
  drain,
) {
  if (progress === undefined) return undefined
  const store = yield* RunStore
  const types = yield* NodeTypes
  const clock = yield* Clock.Clock
  const news = yield* Queue.unbounded<News>()
  const workshop = new Workshop(progress, types, clock, news)
  const forget = drain.onDrain(() => void Queue.offerUnsafe(news, { _tag: "Drain" }))
  const work = Effect.gen(function* () {
    const { deadline } = progress
    if (deadline !== undefined && goesOn(progress)) {
      const millis = deadline - clock.currentTimeMillisUnsafe()
      yield* workshop.after(millis, () => ({ _tag: "Expired" }))
    }
    let next = first
    while (goesOn(progress) && (progress.running.size > 0 || !drain.isDraining())) {
      yield* workshop.begin(next)
      const signals = yield* workshop.next()
      const draining = drain.isDraining()
      next = turn(progress, signals, clock.currentTimeMillisUnsafe(), { draining, parkAfterMillis })
      yield* commitDurably(store, next.commit)
    }
    return recordOf(progress)
  })
  return yield* Effect.ensuring(
    work,
    Effect.sync(() => {
      forget()
      workshop.close()
    }),
  )
})

/** Executes a run that was taken over. See {@link proceed}. */
export const execute: (
  record: RunRecord,
  drain?: Drain,
) => Effect.Effect<Over, StaleRun, RunStore | NodeTypes | Graphs> = Effect.fnUntraced(function* (
  record,
  drain = noDrain,
) {
  const graphs = yield* Graphs
  const circumstances = yield* circumstancesOf
  const graph = graphs.compile(record.definition, record.run.inputOverrides)
  const prepared = prepare(record, graph, circumstances)
  yield* commitDurably(yield* RunStore, prepared.first.commit)
  return yield* proceed(prepared, drain)
})

/** What a new owner is told: the limits, the time, and a source of luck. */
export const circumstancesOf: Effect.Effect<Circumstances> = Effect.gen(function* () {
  const random = yield* Random.Random
  return {
    limits: yield* CurrentLimits,
    now: yield* Clock.currentTimeMillis,
    luck: () => random.nextDoubleUnsafe(),
  }
})
