/**
 * Simulated time, and the machines that live in it: each with a queue of tasks that only the
 * simulation empties, timers of its own and a wall clock that may be wrong.
 *
 * Effect asks its fibers' `Scheduler` when to go on and their `Clock` what time it is. A machine is
 * both, so the simulation decides which machine takes the next step. One that is paused takes none
 * and goes on later as if nothing had happened; one that is dead never takes another, and nothing
 * of what it held is released.
 *
 * Guarantees: no real clock, no real timer, no promise: the same choices give the same steps.
 * Leaves out: what the machines do.
 */
import type { RunnerId } from "@millrace/core/domain/Id"
import type { Scheduler } from "effect"
import { type Clock, Duration, Effect } from "effect"
import { epoch } from "@millrace/conformance/Samples"

/** Something that is to happen at some time. */
export interface Appointment {
  readonly at: number
  readonly order: number
  readonly keep: () => void
  isOff: boolean
}

const isBefore = (a: Appointment, b: Appointment): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order)

/** The time that everybody shares, and what is to happen when. */
export class Time {
  /** Milliseconds since the epoch, a whole number. */
  now: number = epoch
  /** When everybody last woke up. */
  leaptAt = 0
  #order = 0
  /** The next one last. */
  readonly #appointments: Array<Appointment> = []

  /** Makes an appointment in so many milliseconds. Those of one time are kept in order. */
  after(millis: number, keep: () => void): Appointment {
    const at = Math.ceil(this.now + millis)
    const made: Appointment = { at, order: (this.#order += 1), keep, isOff: false }
    let low = 0
    let high = this.#appointments.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(made, this.#appointments[middle]!)) low = middle + 1
      else high = middle
    }
    this.#appointments.splice(low, 0, made)
    return made
  }

  /** Goes to the next appointment and keeps it; false when there is none. */
  proceed(): boolean {
    for (;;) {
      const next = this.#appointments.pop()
      if (next === undefined) return false
      if (next.isOff) continue
      this.now = Math.max(this.now, next.at)
      next.keep()
      return true
    }
  }

  /** Time passes and nobody notices: what was to happen meanwhile happens now. */
  leap(millis: number): void {
    this.now += millis
    this.leaptAt = this.now
  }
}

/** One process on some computer. */
export class Machine {
  readonly name: string
  /** The computer; a process that starts again there is another machine on the same slot. */
  readonly slot: number
  readonly scheduler: Scheduler.Scheduler
  readonly clock: Clock.Clock
  isAlive = true
  isPaused = false
  /** When it last went on after a pause. */
  wokenAt = 0
  /** When it was told to stop. */
  drainedAt: number | undefined
  /** The time by which the engine on it goes, once there is one. */
  engineClock: Clock.Clock | undefined
  /** Who it is for the store; it says so with its first heartbeat. */
  runner: RunnerId | undefined
  readonly #time: Time
  #tasks: Array<() => void> = []
  #next = 0

  constructor(
    time: Time,
    options: {
      readonly name: string
      readonly slot: number
      /** How far its wall clock is ahead of the time. */
      readonly offset: () => number
    },
  ) {
    this.#time = time
    this.name = options.name
    this.slot = options.slot
    const dispatcher = {
      scheduleTask: (task: () => void) => this.post(task),
      flush: () => undefined,
    }
    this.scheduler = {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
      makeDispatcher: () => dispatcher,
    }
    this.clock = clockOf(time, options.offset, (millis, task) => this.later(millis, task))
  }

  /** What the engine on it takes for the time, in milliseconds since the epoch. */
  get now(): number {
    return (this.engineClock ?? this.clock).currentTimeMillisUnsafe()
  }

  /** True when it has something to do and can. */
  get isReady(): boolean {
    return this.isAlive && !this.isPaused && this.#next < this.#tasks.length
  }

  get isDraining(): boolean {
    return this.drainedAt !== undefined
  }

  /** Has a task done as soon as it is this machine's turn. */
  post(task: () => void): void {
    if (this.isAlive) this.#tasks.push(task)
  }

  /** Has a task done in so many milliseconds, if the machine is still alive then. */
  later(millis: number, task: () => void): Appointment {
    return this.#time.after(millis, () => this.post(task))
  }

  /** Takes one step. */
  step(): void {
    const task = this.#tasks[this.#next]!
    this.#next += 1
    if (this.#next > 512 || this.#next === this.#tasks.length) {
      this.#tasks = this.#tasks.slice(this.#next)
      this.#next = 0
    }
    task()
  }

  /** Ends at once: nothing that runs here takes another step. */
  crash(): void {
    this.isAlive = false
    this.#tasks = []
    this.#next = 0
  }
}

const nanosPerMilli = 1_000_000n

const clockOf = (
  time: Time,
  offset: () => number,
  later: (millis: number, task: () => void) => Appointment,
): Clock.Clock => {
  const millis = () => time.now + offset()
  const nanos = () => BigInt(millis()) * nanosPerMilli
  const monotonic = () => BigInt(time.now) * nanosPerMilli
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) => {
      const length = Duration.toMillis(duration)
      if (length <= 0) return Effect.yieldNow
      if (!Number.isFinite(length)) return Effect.never
      return Effect.callback((resume) => {
        const made = later(length, () => resume(Effect.void))
        return Effect.sync(() => void (made.isOff = true))
      })
    },
  }
}

/** A wall clock that nobody sleeps by: that of a store. */
export const wallClock = (time: Time, offset: () => number): Clock.Clock =>
  clockOf(time, offset, (millis, task) => time.after(millis, task))
