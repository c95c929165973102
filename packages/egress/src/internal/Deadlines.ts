/**
 * The moments by which the calls under way have to be over, watched by one fiber for all of them.
 *
 * Guarantees: nothing expires early, or once it is removed; a deadline that comes before all others
 * is noticed; where none is left, nothing sleeps and no timer runs. Adding and removing take no
 * longer where there are many. Leaves out: ending what has expired; whoever added it does that.
 */
import type { Fiber } from "effect"
import { Clock, Duration, Effect } from "effect"

/** What has to be over by a moment. */
export interface Deadline {
  /** As {@link Deadlines.after} counts. */
  readonly at: number
  /** Called once at most, and never while the deadline is being added. Must not throw. */
  readonly expire: () => void
}

type Fork = (effect: Effect.Effect<void>) => Fiber.Fiber<void>

/** The deadlines of one guard. Mutable; every method is one synchronous step. */
export class Deadlines {
  readonly #clock: Clock.Clock
  readonly #fork: Fork
  readonly #pending = new Set<Deadline>()
  readonly #waking = Effect.sync(() => this.#wake())
  #sleeper: Fiber.Fiber<void> | undefined
  #wakesAt = Infinity

  private constructor(clock: Clock.Clock, fork: Fork) {
    this.#clock = clock
    this.#fork = fork
  }

  /** By the clock that is in force now. */
  static readonly make: Effect.Effect<Deadlines> = Effect.gen(function* () {
    return new Deadlines(yield* Clock.Clock, Effect.runForkWith(yield* Effect.context()))
  })

  /** The monotonic time `millis` from now. Setting the wall clock does not change it. */
  after(millis: number): number {
    return this.#now() + millis
  }

  add(deadline: Deadline): void {
    this.#pending.add(deadline)
    this.#sleepUntil(deadline.at)
  }

  /** For what is over. Does nothing where it has expired. */
  remove(deadline: Deadline): void {
    // As long as others are left, the sleeper sleeps on: to find the next deadline whenever a call
    // ends would cost more than waking in vain once in a while.
    if (this.#pending.delete(deadline) && this.#pending.size === 0) this.#stop()
  }

  #now(): number {
    return Number(this.#clock.monotonicTimeNanosUnsafe()) / 1e6
  }

  #sleepUntil(at: number): void {
    if (at >= this.#wakesAt) return
    this.#stop()
    this.#wakesAt = at
    const left = Math.ceil(at - this.#now())
    const sleep = this.#clock.sleep(Duration.millis(left > 1 ? left : 1))
    this.#sleeper = this.#fork(Effect.andThen(sleep, this.#waking))
  }

  #stop(): void {
    this.#sleeper?.interruptUnsafe()
    this.#sleeper = undefined
    this.#wakesAt = Infinity
  }

  /** A timer may come a little early: what is not due yet is slept for once more. */
  #wake(): void {
    this.#sleeper = undefined
    this.#wakesAt = Infinity
    const now = this.#now()
    // What is not a number is no reason to wait for ever.
    const due = [...this.#pending].filter(({ at }) => !(at > now))
    for (const each of due) if (this.#pending.delete(each)) each.expire()
    if (this.#pending.size === 0) return
    this.#sleepUntil([...this.#pending].reduce((least, { at }) => Math.min(least, at), Infinity))
  }
}
