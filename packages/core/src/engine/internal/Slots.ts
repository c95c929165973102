/**
 * The slots of one process: how many runs it executes or is about to, and how many of one account.
 * Some slots are reserved for accounts that have no run here, one run each, so that busy accounts
 * cannot keep the first run of another one from starting.
 *
 * Guarantees: every method is synchronous. A run counts as soon as its slot is taken, so starts
 * that arrive together cannot take the same slot. While a claim runs, starts leave free as many
 * slots as the claim may take. Meanwhile starts may exceed the share of an account, and first runs
 * of accounts may exceed the slots of the process, each by at most the limit of that claim. Leaves
 * out: caps over all processes; the store counts those.
 */
import type { AccountId } from "../../domain/Id.ts"
import type { Limits } from "../../domain/Limits.ts"

/** The limits that decide. */
type Bounds = Pick<Limits, "runsAtOnce" | "runsPerAccountPercent" | "slotsKeptPercent">

/** How many runs a claim may take in all, and how many queued ones of each account. */
export interface ClaimBounds {
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
 * How many slots are reserved for accounts that have none: the percentage, rounded down, and at
 * most what is left beside the share of one account.
 */
export const reservedOf = (bounds: Bounds): number =>
  Math.min(
    bounds.runsAtOnce - shareOf(bounds),
    Math.floor((bounds.runsAtOnce * bounds.slotsKeptPercent) / 100),
  )

/** The slots of one process. Mutable. */
export class Slots {
  readonly #size: number
  readonly #share: number
  readonly #reserved: number
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
    this.#reserved = reservedOf(bounds)
  }

  /** How many slots are free. */
  get free(): number {
    return this.#size - this.#total
  }

  /** True if this account may have one more run while `except` slots stay free. */
  hasRoomFor(account: AccountId, except = 0): boolean {
    const taken = this.#taken.get(account) ?? 0
    // A first run may take a reserved slot, and one that a claim may need.
    if (taken === 0) return this.free > 0
    return this.free - except > this.#reserved && taken < this.#share
  }

  /**
   * Takes a slot for a start of this account. False if only slots are free that a claim may need
   * which runs now.
   */
  takeForStart(account: AccountId): boolean {
    const hasRoom = this.hasRoomFor(account, this.#claiming)
    if (hasRoom) this.take(account)
    return hasRoom
  }

  /** Sets how many runs the claim that runs now may take at most; 0 once it is over. */
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
   * What a claim may take: `most` runs, and this part of the slots that are not reserved. If only
   * reserved slots are free, it is one run of each account that has none here.
   */
  boundsFor(most: number, part = 1): ClaimBounds {
    const usual = this.free - this.#reserved
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
