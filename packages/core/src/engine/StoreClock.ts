/**
 * A clock with the store's time. Servers that share a store must agree when something is due, but
 * the clocks of their machines differ. So everything that the engine records or decides uses this
 * clock.
 *
 * The engine reads the store's time when it is built, and then every few seconds. Between two reads
 * the machine's monotonic clock advances the time, so setting the machine's clock changes nothing.
 * Sleeping uses the machine's timers. A store in memory has the time of the clock that it runs
 * under, so this clock equals that one.
 *
 * Guarantees: after a read, this clock is wrong by no more than the time that the read took. It
 * goes back only if the store's clock was set back by a second or more. Leaves out: leases and
 * other decisions of statements, which use the store's own clock.
 */
import { Clock, Context, Duration, Effect, Layer } from "effect"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"

/** If the machine's clock is wrong by more than this, the operator is told. */
export const toleratedMillis = 2_000

/** How often the store's time is read. */
const measureMillis = 5_000

/** At the start the time is read again until a read takes no longer, a few times at most. */
const exactMillis = 20
const measuresAtStart = 5

/**
 * The clock does not go back by less than this. It stands still until the store's time is as late.
 */
const standstillMillis = 1_000

const nanosPerMilli = 1_000_000n

/**
 * The machine's monotonic time, in milliseconds. Measures how long something took, even if the
 * store's time changes meanwhile.
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
   * Takes a read of the store's time, `now`, that happened between the monotonic times `before` and
   * `after`. The estimate changes only if the read proves it wrong, and then by as little as
   * possible. So a slow read changes little, and a quick read corrects the estimate.
   */
  hear(now: number, before: number, after: number): void {
    const least = now - after
    // The store rounds down, so its time may have been almost a millisecond later.
    const most = now + 0.999 - before
    const estimate = this.#offset ?? (least + most) / 2
    this.#offset = Math.min(Math.max(estimate, least), most)
  }

  now(): number {
    const time = Math.floor(this.monotonic() + this.#offset!)
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

/** A sentence for an operator whose machine's clock is wrong; `undefined` if it is right. */
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
  /** Reads the store's time before it is built, and again and again until its scope closes. */
  static readonly layer: Layer.Layer<StoreClock, StorageError, RunStore> = Layer.effect(
    StoreClock,
    Effect.suspend(() => make),
  )

  /** Replaces the machine's clock for everything that is built with this layer. */
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
  // The heartbeat reports a store that does not answer. The time advances meanwhile.
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
