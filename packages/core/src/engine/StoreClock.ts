/**
 * The store's time as a clock. Servers that share a store have to agree when something is due, and
 * the machines they run on do not: so whatever the engine records or decides goes by this clock.
 *
 * The store is asked for its time when the engine is built and every few seconds from then on. In
 * between the time goes on with the machine's monotonic clock, so setting the machine's clock
 * changes nothing. Sleeping is the machine's. A store in memory tells the time of the clock it runs
 * under, and then this clock and that one are the same.
 *
 * Guarantees: after an answer this clock is wrong by no more than the answer took; it goes back
 * only where the store's clock was set back by a second or more. Leaves out: leases and whatever
 * else statements decide by the store's own clock.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"

/** A machine's clock that is wrong by more than this is told of. */
export const toleratedMillis = 2_000

/** How often the store is asked for its time. */
const measureMillis = 5_000

/** At the start the store is asked again until it answers within this time, a few times at most. */
const exactMillis = 20
const measuresAtStart = 5

/** By less than this the clock does not go back: it stands still until the time has come. */
const standstillMillis = 1_000

const nanosPerMilli = 1_000_000n

/**
 * The machine's monotonic time, in milliseconds: for how long something has taken, whatever becomes
 * of the store's time meanwhile.
 */
export const monotonicMillis = (clock: Clock.Clock): number =>
  Number(clock.monotonicTimeNanosUnsafe()) / Number(nanosPerMilli)

/** The estimated time of a store. Mutable; every method is one synchronous step. */
class Estimate {
  readonly #machine: Clock.Clock
  /** The store's time less the machine's monotonic time, in milliseconds. */
  #offset: number | undefined
  #told = Number.NEGATIVE_INFINITY

  constructor(machine: Clock.Clock) {
    this.#machine = machine
  }

  /** The machine's monotonic time, in milliseconds. */
  monotonic(): number {
    return monotonicMillis(this.#machine)
  }

  /**
   * Hears which whole millisecond it was for the store at some moment between two others. The
   * estimate changes only where that proves it wrong, and then by as little as possible: so an
   * answer that took long says little, and one that was quick corrects it.
   */
  hear(now: number, before: number, after: number): void {
    const least = now - after
    // It was rounded down, so it may have been almost one more.
    const most = now + 0.999 - before
    const estimate = this.#offset ?? (least + most) / 2
    this.#offset = Math.min(Math.max(estimate, least), most)
  }

  now(): number {
    if (this.#offset === undefined) return this.#machine.currentTimeMillisUnsafe()
    const time = Math.floor(this.monotonic() + this.#offset)
    if (time < this.#told && this.#told - time < standstillMillis) return this.#told
    this.#told = time
    return time
  }
}

const clockOf = (estimate: Estimate, machine: Clock.Clock): Clock.Clock => {
  const millis = () => estimate.now()
  const nanos = () => BigInt(millis()) * nanosPerMilli
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => machine.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: machine.monotonicTimeNanos,
    sleep: (duration) => machine.sleep(duration),
  }
}

/** What to tell an operator whose machine's clock is wrong by so much; nothing if it is right. */
export const problemOfClock = (aheadMillis: number): string | undefined => {
  const wrong = Math.abs(aheadMillis)
  if (wrong <= toleratedMillis) return undefined
  const side = aheadMillis > 0 ? "ahead of" : "behind"
  return (
    `The clock of this machine is ${(wrong / 1_000).toFixed(1)} s ${side} the database's. Runs ` +
    "and deliveries follow the database's clock and are not affected; logs and certificates " +
    "follow this machine's: set it right, for example with NTP"
  )
}

export class StoreClock extends Context.Service<
  StoreClock,
  {
    /** Tells the store's time, in milliseconds since the epoch. */
    readonly clock: Clock.Clock
    /** By how many milliseconds the machine's clock is ahead of the store's now. */
    readonly aheadMillis: () => number
  }
>()("@millrace/core/engine/StoreClock") {
  /** Asks the store once before it is there, and goes on asking until its scope closes. */
  static readonly layer: Layer.Layer<StoreClock, StorageError, RunStore> = Layer.effect(
    StoreClock,
    Effect.suspend(() => make),
  )

  /** That clock in place of the machine's, for whatever is built with this layer. */
  static readonly layerClock: Layer.Layer<never, never, StoreClock> = Layer.effect(
    Clock.Clock,
    Effect.map(StoreClock, ({ clock }) => clock),
  )
}

const make = Effect.gen(function* () {
  const store = yield* RunStore
  const machine = yield* Clock.Clock
  const estimate = new Estimate(machine)
  const aheadMillis = () => machine.currentTimeMillisUnsafe() - estimate.now()

  /** How many milliseconds the answer took. */
  const measure = Effect.gen(function* () {
    const before = estimate.monotonic()
    const now = yield* store.now
    const after = estimate.monotonic()
    estimate.hear(now, before, after)
    return after - before
  })
  let told = false
  const tell = Effect.suspend(() => {
    const problem = problemOfClock(aheadMillis())
    const before = told
    told = problem !== undefined
    if (problem === undefined || before) return Effect.void
    return Effect.logWarning(problem)
  })
  // A store that is away is the heartbeat's to tell; the time goes on meanwhile.
  const again = measure.pipe(
    Effect.andThen(tell),
    Effect.catchTag("StorageError", () => Effect.void),
    Effect.delay(Duration.millis(measureMillis)),
  )
  yield* measure.pipe(
    Effect.repeat({ until: (took) => took <= exactMillis, times: measuresAtStart - 1 }),
  )
  yield* tell
  yield* Effect.forkScoped(Effect.forever(again))
  return StoreClock.of({ clock: clockOf(estimate, machine), aheadMillis })
})
