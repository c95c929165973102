/**
 * The slots of one process: how many runs it executes or is about to, and how many of one account.
 * The last ones are kept for accounts that have none, so one of those starts however many slots the
 * others want together.
 *
 * Guarantees: every method is one synchronous step. A run counts as soon as its slot is taken, so
 * starts that arrive together cannot take the same slot, and starts leave a claim that is under way
 * the slots that it may need, so that both together take none that are kept. Starts meanwhile may
 * bring an account above its share, and first runs of accounts a process above its slots, by one
 * claim's runs at most. A run that has lost its owner may take what is kept. Leaves out: caps over
 * all processes; the store counts those.
 */
import type { AccountId } from "../../domain/Id.ts"
import type { Limits } from "../../domain/Limits.ts"

/** Which bounds decide. */
type Bounds = Pick<Limits, "runsAtOnce" | "runsPerAccountPercent" | "slotsKeptPercent">

/** How many queued runs a claim may take, in all and of each account. */
export interface Rooms {
  readonly limit: number
  readonly roomPerAccount: number | undefined
  readonly rooms: ReadonlyMap<AccountId, number>
}

/** How many slots one account may take: the percentage, rounded up. */
export const shareOf = ({
  runsAtOnce,
  runsPerAccountPercent,
}: Pick<Bounds, "runsAtOnce" | "runsPerAccountPercent">): number =>
  Math.min(runsAtOnce, Math.ceil((runsAtOnce * runsPerAccountPercent) / 100))

/**
 * How many slots are kept for accounts that have none: the percentage, rounded down, and no more
 * than the share of one account leaves.
 */
export const keptOf = (bounds: Bounds): number =>
  Math.min(
    bounds.runsAtOnce - shareOf(bounds),
    Math.floor((bounds.runsAtOnce * bounds.slotsKeptPercent) / 100),
  )

/** The slots of one process. Mutable. */
export class Slots {
  readonly #size: number
  readonly #share: number
  readonly #kept: number
  readonly #taken = new Map<AccountId, number>()
  #total = 0
  #claiming = 0
  #given = 0
  #isWanted = false
  readonly #gave: (account: AccountId, isWanted: boolean) => void

  /** `gave` is called with each slot that is given back; `isWanted` if a run may wait for it. */
  constructor(bounds: Bounds, gave: (account: AccountId, isWanted: boolean) => void = () => {}) {
    this.#gave = gave
    this.#size = bounds.runsAtOnce
    this.#share = shareOf(bounds)
    this.#kept = keptOf(bounds)
  }

  /** How many slots are free. */
  get free(): number {
    return this.#size - this.#total
  }

  /** True where there is a slot for one more run of this account, `except` so many. */
  hasRoomFor(account: AccountId, except = 0): boolean {
    const taken = this.#taken.get(account) ?? 0
    // A first run may take what is kept, and what a claim may need.
    if (taken === 0) return this.free > 0
    return this.free - except > this.#kept && taken < this.#share
  }

  /**
   * Takes a slot for a start of this account. False: there is none beside those that a claim under
   * way may need.
   */
  takeForStart(account: AccountId): boolean {
    const hasRoom = this.hasRoomFor(account, this.#claiming)
    if (hasRoom) this.take(account)
    return hasRoom
  }

  /** So many runs at most are being claimed; 0 once their slots are taken. */
  claiming(limit: number): void {
    this.#claiming = limit
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
    this.#given += 1
    if (left > 0) this.#taken.set(account, left)
    else this.#taken.delete(account)
    this.#gave(account, this.#isWanted)
  }

  /** How many slots have been given back so far. */
  get given(): number {
    return this.#given
  }

  /** Whether runs may wait for a slot, as the last claim has found. */
  want(isWanted: boolean): void {
    this.#isWanted = isWanted
  }

  /**
   * How many runs a claim of so many at most may take, and of this part of the slots that are not
   * kept. Once only kept ones are free, it is one run of each account that has none.
   */
  roomsFor(most: number, part = 1): Rooms {
    const usual = this.free - this.#kept
    const rooms = new Map<AccountId, number>()
    if (usual <= 0) {
      for (const account of this.#taken.keys()) rooms.set(account, 0)
      return { limit: Math.min(most, this.free), roomPerAccount: 1, rooms }
    }
    const limit = Math.min(most, Math.ceil(usual * part))
    for (const [account, count] of this.#taken) {
      const room = Math.max(0, this.#share - count)
      if (room < limit) rooms.set(account, room)
    }
    return { limit, roomPerAccount: this.#share < limit ? this.#share : undefined, rooms }
  }
}
