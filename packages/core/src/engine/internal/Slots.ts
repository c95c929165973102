/**
 * The slots of one process: how many runs it executes or is about to, and how many of one account.
 *
 * Guarantees: every method is one synchronous step. A run counts as soon as its slot is taken, so
 * starts that arrive together cannot take the same slot. A claim that is under way has taken none
 * yet: starts meanwhile may bring a process above its bounds, by one claim's runs at most. Leaves
 * out: caps over all processes; the store counts those.
 */
import type { AccountId } from "../../domain/Id.ts"
import type { Limits } from "../../domain/Limits.ts"

/** Which bounds decide. */
type Bounds = Pick<Limits, "runsAtOnce" | "runsPerAccountPercent">

/** How many queued runs a claim may take of each account. */
export interface Rooms {
  readonly roomPerAccount: number | undefined
  readonly rooms: ReadonlyMap<AccountId, number>
}

/** How many slots one account may take: the percentage, rounded up. */
export const shareOf = ({ runsAtOnce, runsPerAccountPercent }: Bounds): number =>
  Math.min(runsAtOnce, Math.ceil((runsAtOnce * runsPerAccountPercent) / 100))

/** The slots of one process. Mutable. */
export class Slots {
  readonly #size: number
  readonly #share: number
  readonly #taken = new Map<AccountId, number>()
  #total = 0

  constructor(bounds: Bounds) {
    this.#size = bounds.runsAtOnce
    this.#share = shareOf(bounds)
  }

  /** How many slots are free. */
  get free(): number {
    return this.#size - this.#total
  }

  /** True where there is a slot for one more run of this account. */
  hasRoomFor(account: AccountId): boolean {
    return this.free > 0 && (this.#taken.get(account) ?? 0) < this.#share
  }

  /** Takes a slot, even if none is free: a run that this process owns must be executed. */
  take(account: AccountId): void {
    this.#total += 1
    this.#taken.set(account, (this.#taken.get(account) ?? 0) + 1)
  }

  /** Gives a slot back. */
  give(account: AccountId): void {
    const left = (this.#taken.get(account) ?? 0) - 1
    this.#total -= 1
    if (left > 0) this.#taken.set(account, left)
    else this.#taken.delete(account)
  }

  /** How many runs of each account a claim of `limit` runs may take. */
  roomsFor(limit: number): Rooms {
    const rooms = new Map<AccountId, number>()
    for (const [account, count] of this.#taken) {
      const room = Math.max(0, this.#share - count)
      if (room < limit) rooms.set(account, room)
    }
    return { roomPerAccount: this.#share < limit ? this.#share : undefined, rooms }
  }
}
