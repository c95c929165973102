/**
 * The deadlines of all calls in progress. One fiber watches them.
 *
 * Guarantees: no deadline expires early, or after it was removed. A new deadline that comes before
 * all others is kept, too. Without deadlines there is no timer. Adding and removing take constant
 * time. Leaves out: ending a call whose deadline has expired; its `expire` does that.
 */
import type { Fiber } from "effect"
import { Clock, Duration, Effect } from "effect"

/** One deadline. */
export interface Deadline {
  /** In the time of {@link Deadlines.after}. */
  readonly at: number
  /** Called once at most, and never within `add`. Must not throw. */
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

  /** Uses the current clock. */
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

  /** Removes a deadline. Does nothing if the deadline has expired. */
  remove(deadline: Deadline): void {
    // While others are left, the sleeper keeps its time. To look for the next deadline whenever a
    // call ends would cost more than to wake in vain sometimes.
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

  /** A timer may fire a little early. Then the fiber sleeps again. */
  #wake(): void {
    this.#sleeper = undefined
    this.#wakesAt = Infinity
    const now = this.#now()
    // A deadline that is NaN counts as due, so that its call does not wait for ever.
    const due = [...this.#pending].filter(({ at }) => !(at > now))
    for (const each of due) if (this.#pending.delete(each)) each.expire()
    if (this.#pending.size === 0) return
    this.#sleepUntil([...this.#pending].reduce((least, { at }) => Math.min(least, at), Infinity))
  }
}
