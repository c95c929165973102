/**
 * How many deliveries are in hand, in all, per origin and per account: what keeps a slow receiver
 * from delaying others.
 *
 * Mutable; every method is one synchronous step. Leaves out: other processes, which have slots of
 * their own.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Busy } from "@millrace/core/ports/WebhookStore"

/** Who is called for whom. */
export interface Partition {
  readonly accountId: AccountId
  readonly origin: string
}

/** The most that may be in hand. */
export interface ConcurrencyBounds {
  readonly atOnce: number
  readonly perOrigin: number
  readonly perAccount: number
}

interface Held extends Partition {
  count: number
}

const keyOf = ({ accountId, origin }: Partition): string => `${accountId} ${origin}`

const add = (counts: Map<string, number>, key: string, by: number): void => {
  const count = (counts.get(key) ?? 0) + by
  if (count > 0) counts.set(key, count)
  else counts.delete(key)
}

export class Concurrency {
  readonly #bounds: ConcurrencyBounds
  readonly #held = new Map<string, Held>()
  readonly #origins = new Map<string, number>()
  readonly #accounts = new Map<string, number>()
  #total = 0

  constructor(bounds: ConcurrencyBounds) {
    this.#bounds = bounds
  }

  get total(): number {
    return this.#total
  }

  /** How many more may be taken in hand. */
  get free(): number {
    return this.#bounds.atOnce - this.#total
  }

  /** How many more of this partition may be. */
  room({ accountId, origin }: Partition): number {
    return Math.min(this.roomAt(origin), this.roomFor(accountId))
  }

  /** How many more of this origin may be, whoever they are for. */
  roomAt(origin: string): number {
    return Math.min(this.free, this.#bounds.perOrigin - (this.#origins.get(origin) ?? 0))
  }

  /** How many more of this account may be, wherever they go. */
  roomFor(accountId: string): number {
    return Math.min(this.free, this.#bounds.perAccount - (this.#accounts.get(accountId) ?? 0))
  }

  take(partition: Partition): void {
    const held = this.#held.get(keyOf(partition))
    if (held === undefined) this.#held.set(keyOf(partition), { ...partition, count: 1 })
    else held.count += 1
    this.#count(partition, 1)
  }

  release(partition: Partition): void {
    const held = this.#held.get(keyOf(partition))
    if (held === undefined) return
    held.count -= 1
    if (held.count === 0) this.#held.delete(keyOf(partition))
    this.#count(partition, -1)
  }

  /** What is in hand, for whoever looks for more. */
  busy(): ReadonlyArray<Busy> {
    return Array.from(this.#held.values(), ({ accountId, count, origin }) => ({
      accountId,
      origin,
      count,
    }))
  }

  #count({ accountId, origin }: Partition, by: number): void {
    this.#total += by
    add(this.#origins, origin, by)
    add(this.#accounts, accountId, by)
  }
}
