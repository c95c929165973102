/**
 * Chance that can be had again: everything random of a test is drawn from one printed seed.
 */

/** Numbers drawn from a seed (sfc32). */
export class Dice {
  readonly #state: [number, number, number, number]

  constructor(seed: number) {
    this.#state = [seed | 0, 0x9e3779b9, 0x243f6a88, 1]
    for (let count = 0; count < 16; count++) this.next()
  }

  /** From 0 up to, not including, 1. */
  next(): number {
    const [a, b, c, d] = this.#state
    const sum = (((a + b) | 0) + d) | 0
    this.#state[3] = (d + 1) | 0
    this.#state[0] = b ^ (b >>> 9)
    this.#state[1] = (c + (c << 3)) | 0
    this.#state[2] = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }

  /** A whole number from 0 up to, not including, `below`. */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** One of several. */
  pick<A>(items: ReadonlyArray<A>): A {
    return items[this.below(items.length)]!
  }

  /** So many moments between two, in order. */
  moments(count: number, from: number, until: number): ReadonlyArray<number> {
    return Array.from({ length: count }, () => from + this.next() * (until - from)).toSorted(
      (a, b) => a - b,
    )
  }
}

/** The seed that `KILL_SEED` names, or one of today's. */
export const seedOf = (): number => {
  const given = process.env["KILL_SEED"]
  return given === undefined || given === "" ? Date.now() % 1_000_000 : Number(given)
}
