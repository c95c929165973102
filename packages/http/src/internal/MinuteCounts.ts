/**
 * Counts requests per minute and source, in this process's memory.
 *
 * Guarantees: the number of counts is bounded; what finds no room is counted together.
 */
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { minuteMillis } from "@millrace/core/domain/Timestamp"

/** The source of whatever has none, or finds no room for a count. */
export const noSource = ""

/** Counts of the current minute. Mutable. */
export class MinuteCounts {
  readonly #most: number
  readonly #sources: number
  readonly #counts = new Map<string, number>()
  #minute = -1

  /** At most so many requests a minute, and so many sources that are counted apart. */
  constructor(most: number, sources: number) {
    this.#most = most
    this.#sources = sources
  }

  /** Counts one; if there were too many this minute, answers how many seconds to wait. */
  add(wanted: string, now: Timestamp): number | undefined {
    const current = Math.floor(now / minuteMillis)
    if (current !== this.#minute) this.#counts.clear()
    this.#minute = current
    const hasRoom = this.#counts.has(wanted) || this.#counts.size < this.#sources
    const source = hasRoom ? wanted : noSource
    const count = (this.#counts.get(source) ?? 0) + 1
    this.#counts.set(source, count)
    if (count <= this.#most) return undefined
    return Math.max(1, Math.ceil(((current + 1) * minuteMillis - now) / 1_000))
  }
}
