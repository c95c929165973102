/**
 * A clock that shows another time than the test's, as machines and databases do.
 */
import type { Clock } from "effect"
import { Effect } from "effect"

/** A clock that differs from another one by so many milliseconds, asked anew with each reading. */
export const shifted = (clock: Clock.Clock, millis: () => number): Clock.Clock => {
  const now = () => clock.currentTimeMillisUnsafe() + millis()
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: () => BigInt(now()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(now()) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration),
  }
}
