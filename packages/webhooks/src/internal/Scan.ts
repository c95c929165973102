/**
 * Of whom more may be due than looks have taken, so that the next look need not wait for its time.
 *
 * Guarantees: whoever was given as many as there was room for when a look was asked is remembered
 * until another look is asked with room for them, so looks follow one another as long as they bring
 * all they can. Mutable; every method is one synchronous step. Leaves out: what no look has found
 * yet, and who got nothing because others came before; the next look in its time is for them.
 */
import type { Busy, ClaimedDelivery, DueRequest } from "@millrace/core/ports/WebhookStore"
import type { Partition, Concurrency } from "./Concurrency.ts"

/** Origins and accounts by which a look was bounded, and whether it was by its limit. */
export interface TakenUp {
  readonly limit: boolean
  readonly origins: ReadonlyArray<string>
  readonly accounts: ReadonlyArray<string>
}

/** The keys of which something was claimed, and so many are in hand with it. */
const full = (
  key: "origin" | "accountId",
  most: number,
  busy: ReadonlyArray<Busy>,
  claims: ReadonlyArray<ClaimedDelivery>,
): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  const count = (name: string, by: number) => counts.set(name, (counts.get(name) ?? 0) + by)
  for (const { delivery } of claims) count(delivery[key], 1)
  const claimed = [...counts.keys()]
  for (const each of busy) count(each[key], each.count)
  return claimed.filter((name) => counts.get(name)! >= most)
}

/**
 * Who was given all that this look could give, so that more of them may be due. It goes by what was
 * in hand when the look was asked; what has come free since could not be given to anybody.
 */
export const takenUp = (
  { busy, limit, perAccount, perOrigin }: DueRequest,
  claims: ReadonlyArray<ClaimedDelivery>,
): TakenUp => ({
  limit: claims.length >= limit,
  origins: full("origin", perOrigin, busy, claims),
  accounts: full("accountId", perAccount, busy, claims),
})

export class Scan {
  readonly #concurrency: Concurrency
  readonly #origins = new Set<string>()
  readonly #accounts = new Set<string>()
  /** Anybody may have more. */
  #isOpen = false

  constructor(slots: Concurrency) {
    this.#concurrency = slots
  }

  /** A look is asked now; what it brings tells of all for whom there is room. */
  ask(): void {
    this.#isOpen = false
    for (const each of this.#origins) if (this.#hasOrigin(each)) this.#origins.delete(each)
    for (const each of this.#accounts) if (this.#hasAccount(each)) this.#accounts.delete(each)
  }

  /** Hears what a look has brought. */
  note(request: DueRequest, claims: ReadonlyArray<ClaimedDelivery>): void {
    const { accounts, limit, origins } = takenUp(request, claims)
    this.#isOpen = limit
    for (const each of origins) this.#origins.add(each)
    for (const each of accounts) this.#accounts.add(each)
  }

  /** There is room for somebody who may have more. */
  get hasRoom(): boolean {
    if (this.#isOpen && this.#concurrency.free > 0) return true
    for (const each of this.#origins) if (this.#hasOrigin(each)) return true
    for (const each of this.#accounts) if (this.#hasAccount(each)) return true
    return false
  }

  /** A slot of this partition that has come free leaves room for somebody who may have more. */
  hasRoomFor({ accountId, origin }: Partition): boolean {
    return (
      (this.#isOpen && this.#concurrency.free > 0) ||
      this.#hasOrigin(origin) ||
      this.#hasAccount(accountId)
    )
  }

  #hasOrigin(origin: string): boolean {
    return this.#origins.has(origin) && this.#concurrency.roomAt(origin) > 0
  }

  #hasAccount(accountId: string): boolean {
    return this.#accounts.has(accountId) && this.#concurrency.roomFor(accountId) > 0
  }
}
