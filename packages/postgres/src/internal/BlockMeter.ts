/**
 * Measures for how long an event loop is blocked. Another thread of the process uses it.
 *
 * Guarantees: time in which the whole process or the machine was suspended hardly counts, because
 * the measuring thread was suspended, too. Leaves out: clocks; the caller passes the time.
 */

/** How much time between two calls counts at most. */
const longestStepMillis = 1_000

/** Mutable. */
export class BlockMeter {
  #beats: number
  #lookedAt: number
  #blocked = 0

  /** `beats` is a number that changes whenever the loop runs, `now` a time in milliseconds. */
  constructor(beats: number, now: number) {
    this.#beats = beats
    this.#lookedAt = now
  }

  /** For how many milliseconds the loop has not run. */
  look(beats: number, now: number): number {
    const passed = Math.min(now - this.#lookedAt, longestStepMillis)
    this.#lookedAt = now
    this.#blocked = beats === this.#beats ? this.#blocked + passed : 0
    this.#beats = beats
    return this.#blocked
  }
}
