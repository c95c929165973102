/**
 * Counts the operations of computing with JSON: steps of a path, comparisons, copies.
 *
 * Guarantees: work that would do more than its limit throws. Leaves out: time, and who computes
 * when a slice is used up.
 */

/** Operations of the first slice, which is done at once. Enough for almost every node. */
export const firstSlice = 1_000

/** Operations of every further slice, which takes one to three milliseconds. */
export const slice = 50_000

/** How many characters one operation reads, compares or copies. */
export const charactersPerOperation = 64

/** How many elements or keys one operation copies or counts. */
export const itemsPerOperation = 4

/** The operations of reading a text once. */
export const operationsOf = (text: string): number => 1 + text.length / charactersPerOperation

/** Work that can pause at each `yield`. */
export type Job<A> = Generator<void, A, void>

/** Counts the operations of an attempt. An operation is a step of a path, a comparison, a copy. */
export class Work {
  /** Operations so far. */
  done = 0
  readonly #limit: number
  #sliceEnd = firstSlice

  constructor(limit: number) {
    this.#limit = limit
  }

  /**
   * Counts operations. True if the slice is used up and the job should yield. Throws an `Error`,
   * whose message is a clause, if the attempt has done more than it may.
   */
  spend(operations: number): boolean {
    this.done += operations
    if (this.done > this.#limit) {
      throw new Error(
        `the node needs more than ${this.#limit} operations, the most that one attempt may do ` +
          "(limit workPerNode): give it fewer items, steps or conditions",
      )
    }
    return this.done >= this.#sliceEnd
  }

  /** Begins a slice. */
  goOn(): void {
    this.#sliceEnd = this.done + slice
  }
}
