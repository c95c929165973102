/**
 * Due times of retries that this process has recorded. The dispatcher polls when one is due,
 * instead of waiting for its next regular poll.
 *
 * Times are those of the monotonic clock, in milliseconds. Mutable; every method is synchronous. It
 * only saves time: a regular poll finds every retry, also one whose time is not here.
 */
import { retryTimesKnown } from "@millrace/core/domain/Limits"

export class RetryTimes {
  /** Latest first, so that the next one is at the end. */
  readonly #times: Array<number> = []

  /** The next due time; infinite if there is none. */
  get next(): number {
    return this.#times.at(-1) ?? Number.POSITIVE_INFINITY
  }

  /** Adds a due time, unless `retryTimesKnown` are known already. */
  add(at: number): void {
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

  /** Removes all times up to `elapsed`; true if it removed any. */
  removeDue(elapsed: number): boolean {
    const before = this.#times.length
    while (this.next <= elapsed) this.#times.pop()
    return this.#times.length < before
  }
}
