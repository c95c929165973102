/**
 * The time of a test engine, and its processes: each has its own timers and its own queue of tasks.
 *
 * Effect asks the clock of a fiber for the time and for timers, and its scheduler when to go on. So
 * a process that has crashed takes no further step: nothing it holds is released, and no finalizer
 * runs.
 *
 * Guarantees: the time moves only by {@link VirtualTime.moveTo}. Leaves out: when to move it.
 */
import type { Scheduler } from "effect"
import { type Clock, Context, Duration, Effect } from "effect"
import { inNextTask } from "./RealTime.ts"

/** True where handlers and the timers of runs execute. Other fibers only look for work. */
export const OfRuns = Context.Reference<boolean>("millrace/testing/OfRuns", {
  defaultValue: () => false,
})

/** A call at a time. Mutable. */
interface Timer {
  readonly at: number
  /** False for timers of loops that only look for work. */
  readonly isOfRun: boolean
  readonly process: VirtualProcess | undefined
  readonly call: () => void
  isOff: boolean
}

/** Milliseconds since the epoch, and what happens when. Mutable. */
export class VirtualTime {
  #now: number
  /** In order; the next one last. */
  #timers: Array<Timer> = []

  constructor(now: number) {
    this.#now = now
  }

  get now(): number {
    return this.#now
  }

  /** Calls a function in so many milliseconds. Returns a function that prevents it. */
  after(
    millis: number,
    call: () => void,
    { isOfRun, process }: Pick<Timer, "isOfRun" | "process">,
  ): () => void {
    const timer: Timer = { at: Math.ceil(this.#now + millis), isOfRun, process, call, isOff: false }
    let low = 0
    let high = this.#timers.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (timer.at < this.#timers[middle]!.at) low = middle + 1
      else high = middle
    }
    this.#timers.splice(low, 0, timer)
    return () => void (timer.isOff = true)
  }

  /** When the next timer is due, of runs or of any kind; `undefined` without one. */
  next(kind: "any" | "ofRuns"): number | undefined {
    this.#timers = this.#timers.filter(({ isOff }) => !isOff)
    return this.#timers.findLast(({ isOfRun }) => kind === "any" || isOfRun)?.at
  }

  /** Moves the time, and calls what is due, in order. */
  moveTo(time: number): void {
    this.#now = Math.max(this.#now, time)
    for (;;) {
      const next = this.#timers.at(-1)
      if (next === undefined || (!next.isOff && next.at > this.#now)) return
      this.#timers.pop()
      if (!next.isOff) next.call()
    }
  }

  /** Calls what looks for work, as if its time had come. Calls nothing that belongs to a run. */
  look(): void {
    const due = this.#timers.filter(({ isOff, isOfRun }) => !isOff && !isOfRun)
    this.#timers = this.#timers.filter(({ isOff, isOfRun }) => !isOff && isOfRun)
    for (const { call } of due.toReversed()) call()
  }

  /** Forgets all timers of a process. */
  forget(process: VirtualProcess): void {
    this.#timers = this.#timers.filter((timer) => timer.process !== process)
  }
}

const nanosPerMilli = 1_000_000n

/** One process: what its fibers run on. Mutable. */
export class VirtualProcess {
  readonly clock: Clock.Clock
  readonly scheduler: Scheduler.Scheduler
  #tasks: Array<() => void> = []
  #isAlive = true
  readonly #time: VirtualTime

  constructor(time: VirtualTime) {
    this.#time = time
    const dispatcher = {
      scheduleTask: (task: () => void) => this.#post(task),
      flush: () => this.#work(),
    }
    this.scheduler = {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
      makeDispatcher: () => dispatcher,
    }
    this.clock = this.#makeClock()
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** True if it waits for something from outside. */
  get isIdle(): boolean {
    return this.#tasks.length === 0
  }

  /** Ends the process at once, as `kill -9` does. */
  crash(): void {
    this.#isAlive = false
    this.#tasks = []
    this.#time.forget(this)
  }

  #post(task: () => void): void {
    if (this.#isAlive && this.#tasks.push(task) === 1) inNextTask(() => this.#work())
  }

  #work(): void {
    const tasks = this.#tasks
    this.#tasks = []
    for (const task of tasks) if (this.#isAlive) task()
  }

  #makeClock(): Clock.Clock {
    const time = this.#time
    const millis = () => time.now
    const nanos = () => BigInt(time.now) * nanosPerMilli
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) => {
        const length = Duration.toMillis(duration)
        if (length <= 0) return Effect.yieldNow
        if (!Number.isFinite(length)) return Effect.never
        return Effect.withFiber((fiber) =>
          Effect.callback((resume) => {
            const isOfRun = Context.get(fiber.context, OfRuns)
            const due = () => this.#post(() => resume(Effect.void))
            const stop = time.after(length, due, { isOfRun, process: this })
            return Effect.sync(stop)
          }),
        )
      },
    }
  }
}
