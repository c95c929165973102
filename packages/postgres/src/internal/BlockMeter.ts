/**
 * For how long an event loop has been blocked, seen from another thread of its process.
 *
 * Guarantees: a process that was frozen as a whole, or a machine that slept, counts for next to
 * nothing, because the thread that looks stood still, too. Leaves out: clocks; whoever looks brings
 * the time.
 */

/** Time between two looks that counts at most. */
const longestStepMillis = 1_000

/** Measures one block after the other. Mutable. */
export class BlockMeter {
  #beats: number
  #lookedAt: number
  #blocked = 0

  /** `beats` is a number that changes whenever the loop turns, `now` a time in milliseconds. */
  constructor(beats: number, now: number) {
    this.#beats = beats
    this.#lookedAt = now
  }

  /** Milliseconds since the loop was last seen to have turned. */
  look(beats: number, now: number): number {
    const passed = Math.min(now - this.#lookedAt, longestStepMillis)
    this.#lookedAt = now
    this.#blocked = beats === this.#beats ? this.#blocked + passed : 0
    this.#beats = beats
    return this.#blocked
  }
}
