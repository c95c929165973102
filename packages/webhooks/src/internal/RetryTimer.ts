/**
 * The due times of retries that this process has recorded, so that a retry begins on time and not
 * at the next poll.
 *
 * Guarantees: nothing depends on it; a retry whose time is not known here is found by a poll.
 * Mutable; every method is one synchronous step.
 */
import { retryTimesKnown } from "@millrace/core/domain/Limits"

export class RetryTimer {
  /** Latest first, so that the next one is at the end. */
  readonly #times: Array<number> = []

  /** The next due time; infinite if there is none. */
  get next(): number {
    return this.#times.at(-1) ?? Number.POSITIVE_INFINITY
  }

  /** Remembers a due time. */
  expect(at: number): void {
    if (this.#times.length >= retryTimesKnown) return
    let low = 0
    let high = this.#times.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#times[middle]! > at) low = middle + 1
      else high = middle
    }
    this.#times.splice(low, 0, at)
  }

  /** Forgets the times that have come; true if there was one. */
  ring(now: number): boolean {
    const before = this.#times.length
    while (this.next <= now) this.#times.pop()
    return this.#times.length < before
  }
}
