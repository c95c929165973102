/**
 * A small source of choices for random scripts.
 *
 * Guarantees: the same seed gives the same choices on every machine and for ever. Leaves out: any
 * use where somebody could gain by guessing.
 */

/** A row of choices. */
export interface Dice {
  /** A whole number from 0 up to, not including, the limit. */
  readonly below: (limit: number) => number
  /** True so often out of a hundred times. */
  readonly chance: (percent: number) => boolean
  readonly of: <A>(items: ReadonlyArray<A>) => A
  /** So many different items, in any order; all of them where there are fewer. */
  readonly some: <A>(items: ReadonlyArray<A>, count: number) => ReadonlyArray<A>
}

/** The choices of a seed (mulberry32). */
export const make = (seed: number): Dice => {
  let state = Math.imul(seed, 0x9e3779b1) | 0
  const fraction = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (limit: number) => Math.floor(fraction() * limit)
  const some = <A>(items: ReadonlyArray<A>, count: number): ReadonlyArray<A> => {
    const rest = [...items]
    const chosen: Array<A> = []
    while (chosen.length < count && rest.length > 0) {
      chosen.push(...rest.splice(below(rest.length), 1))
    }
    return chosen
  }
  return {
    below,
    chance: (percent) => below(100) < percent,
    of: (items) => items[below(items.length)]!,
    some,
  }
}
