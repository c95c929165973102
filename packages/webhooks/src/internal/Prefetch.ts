/**
 * Deliveries that are claimed before there is a slot for them, so that a quick receiver need not
 * wait for the store between two of them.
 *
 * Guarantees: only for origins whose last attempt was over quickly, and for no more than allowed,
 * is anything claimed for this; partitions take turns. Mutable; every method is one synchronous
 * step. Leaves out: what is being sent; that is counted by the slots.
 */
import { quickOriginsKnown } from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import type { Partition } from "./Concurrency.ts"

/** A claimed delivery that waits for a slot. */
export interface Prefetched {
  readonly claimed: ClaimedDelivery
  /** Monotonic, from before the claim. */
  readonly claimedAtNanos: bigint
}

/** Whose deliveries may wait here. */
export interface PrefetchBounds {
  /** How many of one origin, and how many of all together. */
  readonly prefetchPerOrigin: number
  readonly atOnce: number
  /** An origin is quick whose last attempt took no longer. */
  readonly quickMillis: number
}

export class Prefetch {
  readonly #bounds: PrefetchBounds
  readonly #quick = new BoundedMap<string, true>(quickOriginsKnown)
  /** What is claimed or being claimed, by origin. */
  readonly #counts = new Map<string, number>()
  readonly #lines = new Map<string, Array<Prefetched>>()
  #total = 0

  constructor(bounds: PrefetchBounds) {
    this.#bounds = bounds
  }

  /** Hears how long an attempt took. */
  learn(origin: string, millis: number): void {
    if (millis > this.#bounds.quickMillis) this.#quick.delete(origin)
    else this.#quick.set(origin, true)
  }

  /** How many more of this origin may be claimed. */
  room(origin: string): number {
    if (!this.#quick.has(origin)) return 0
    const { prefetchPerOrigin, atOnce } = this.#bounds
    return Math.min(atOnce - this.#total, prefetchPerOrigin - (this.#counts.get(origin) ?? 0))
  }

  /** Counts one that is to be claimed. */
  reserve(origin: string): void {
    this.#total += 1
    this.#counts.set(origin, (this.#counts.get(origin) ?? 0) + 1)
  }

  /** Takes that back: it has found a slot, or could not be claimed. */
  release(origin: string): void {
    this.#total -= 1
    const count = (this.#counts.get(origin) ?? 0) - 1
    if (count > 0) this.#counts.set(origin, count)
    else this.#counts.delete(origin)
  }

  /** Keeps one for which there is a reservation. */
  put(one: Prefetched): void {
    const key = keyOf(one.claimed.delivery)
    const line = this.#lines.get(key)
    if (line === undefined) this.#lines.set(key, [one])
    else line.push(one)
  }

  /**
   * Takes out those of which `isNext` is true that are first in their partition, partition by
   * partition.
   */
  *take(isNext: (first: Prefetched) => boolean): Iterable<Prefetched> {
    while (true) {
      const found = [...this.#lines].find(([, line]) => isNext(line[0]!))
      if (found === undefined) return
      const [key, line] = found
      const one = line.shift()!
      // To the end of the round, and before anybody hears of it, who may take more.
      this.#lines.delete(key)
      if (line.length > 0) this.#lines.set(key, line)
      this.release(one.claimed.delivery.origin)
      yield one
    }
  }
}

const keyOf = ({ accountId, origin }: Partition): string => `${accountId} ${origin}`
