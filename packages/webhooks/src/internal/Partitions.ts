/**
 * The deliveries of one process by partition, from their arrival to the end of their attempt: what
 * waits for a claim, what is claimed and waits for a slot, and how many are being sent. So a slow
 * receiver delays nobody else, and a quick one does not wait for the store.
 *
 * Guarantees: no more are being sent than the bounds allow, in all, per origin and per account.
 * Only for origins whose last attempt was quick is anything claimed ahead of a slot. Within a
 * partition the first to come is the first to go, and partitions take turns. Mutable; every method
 * is one synchronous step. Leaves out: time, and other processes, which have slots of their own.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { AccountId } from "@millrace/core/domain/Id"
import {
  localDeliveries,
  localDeliveriesLength,
  quickOriginsKnown,
} from "@millrace/core/domain/Limits"
import { BoundedMap } from "@millrace/core/engine/BoundedMap"
import type { Busy, ClaimedDelivery } from "@millrace/core/ports/WebhookStore"

/** How many deliveries a dispatcher may send at once, and claim ahead of that. */
export interface PartitionBounds {
  /** The most that may be sent at once, and the most that may be claimed ahead. */
  readonly atOnce: number
  readonly perOrigin: number
  readonly perAccount: number
  /** How many of one origin may be claimed ahead. */
  readonly prefetchPerOrigin: number
  /** An origin is quick whose last attempt took no longer. */
  readonly quickMillis: number
}

/** The deliveries of one account to one origin. */
export interface Partition {
  readonly accountId: AccountId
  readonly origin: string
  /** The names under which its deliveries are counted: all, its origin, its account, itself. */
  readonly groups: readonly [string, string, string, string]
  /** What waits for a claim. */
  readonly queued: Array<Delivery>
  /** What is claimed and waits for a slot. */
  readonly ahead: Array<Job>
}

/** A claimed delivery on its way through the dispatcher. */
export interface Job {
  readonly claimed: ClaimedDelivery
  /** Monotonic, from before the claim. */
  readonly claimedAt: number
  readonly partition: Partition
  hasSlot: boolean
}

/** A delivery that is being claimed, and the kind of place that is kept for it. */
export interface Reserved {
  readonly delivery: Delivery
  readonly partition: Partition
  readonly places: Places
}

/** The group of all deliveries. */
const all = "all"

const add = (counts: Map<string, number>, group: string, by: number): number => {
  const count = (counts.get(group) ?? 0) + by
  if (count > 0) counts.set(group, count)
  else counts.delete(group)
  return count
}

/** Places that deliveries take up, counted by group. */
class Places {
  readonly counts = new Map<string, number>()
  /** The most for all, for an origin, and for an account. */
  readonly most: ReadonlyArray<number>

  constructor(...most: ReadonlyArray<number>) {
    this.most = most
  }

  of(group: string): number {
    return this.counts.get(group) ?? 0
  }

  hasRoom({ groups }: Partition): boolean {
    return this.most.every((most, index) => this.of(groups[index]!) < most)
  }
}

export class Partitions {
  readonly #bounds: PartitionBounds
  readonly #known = new Map<string, Partition>()
  /** Those with something queued, or claimed ahead; the next in turn is the first. */
  readonly #queued = new Set<Partition>()
  readonly #ahead = new Set<Partition>()
  readonly #slots: Places
  readonly #placesAhead: Places
  readonly #quick = new BoundedMap<string, true>(quickOriginsKnown)
  /** Groups of which a look took as many as their bound allowed, with that bound. */
  readonly #full = new Map<string, number>()
  /** How many were being sent when the last look began. */
  #before: ReadonlyMap<string, number> = new Map()
  #count = 0
  #characters = 0

  constructor(bounds: PartitionBounds) {
    const { atOnce, perAccount, perOrigin, prefetchPerOrigin } = bounds
    this.#bounds = bounds
    this.#slots = new Places(atOnce, perOrigin, perAccount)
    this.#placesAhead = new Places(atOnce, prefetchPerOrigin)
  }

  /** How many are being sent. */
  get sending(): number {
    return this.#slots.of(all)
  }

  /** How many more may be sent. */
  get free(): number {
    return this.#bounds.atOnce - this.sending
  }

  get hasQueued(): boolean {
    return this.#count > 0
  }

  /** Lets a delivery wait for its claim; false where there is no room. */
  queue(delivery: Delivery): boolean {
    if (this.#count >= localDeliveries || this.#characters >= localDeliveriesLength) return false
    const partition = this.#of(delivery)
    partition.queued.push(delivery)
    this.#queued.add(partition)
    this.#count += 1
    this.#characters += delivery.body.length
    return true
  }

  /** Takes out what there is a place for, at most so many, one of each partition in turn. */
  reserve(most: number): ReadonlyArray<Reserved> {
    const taken: Array<Reserved> = []
    // A partition that is put back is the last one then, and comes again.
    for (const partition of this.#queued) {
      if (taken.length >= most) break
      const places = this.#placesFor(partition)
      if (places === undefined) continue
      const delivery = shift(this.#queued, partition, partition.queued)
      this.#count -= 1
      this.#characters -= delivery.body.length
      this.#hold(partition, places)
      taken.push({ delivery, partition, places })
    }
    return taken
  }

  /** Gives the places back: what was claimed is given one anew. */
  leave(reserved: ReadonlyArray<Reserved>): void {
    for (const { partition, places } of reserved) this.#release(partition, places)
  }

  /** Lets a claim wait for a slot. */
  keep(claimed: ClaimedDelivery, claimedAt: number): void {
    const partition = this.#of(claimed.delivery)
    partition.ahead.push({ claimed, claimedAt, partition, hasSlot: false })
    this.#ahead.add(partition)
    this.#hold(partition, this.#placesAhead)
  }

  /** Takes out those that wait for a slot and are first in their partition, one of each in turn. */
  *take(isNext: (first: Job) => boolean): Iterable<Job> {
    for (const partition of this.#ahead) {
      if (!isNext(partition.ahead[0]!)) continue
      const job = shift(this.#ahead, partition, partition.ahead)
      this.#release(partition, this.#placesAhead)
      yield job
    }
  }

  /** The same of those for which there is a slot, which they have then. */
  *begin(): Iterable<Job> {
    for (const job of this.take(({ partition }) => this.#slots.hasRoom(partition))) {
      job.hasSlot = true
      this.#hold(job.partition, this.#slots)
      yield job
    }
  }

  /** Gives the slot of a job back. */
  end(job: Job): void {
    job.hasSlot = false
    this.#release(job.partition, this.#slots)
  }

  /** Hears how long an attempt took. */
  learn(origin: string, millis: number): void {
    if (millis > this.#bounds.quickMillis) this.#quick.delete(origin)
    else this.#quick.set(origin, true)
  }

  /** A look begins, which finds what there is of all groups that have room. */
  look(): ReadonlyArray<Busy> {
    for (const [group, most] of this.#full) {
      if (this.#slots.of(group) < most) this.#full.delete(group)
    }
    this.#before = new Map(this.#slots.counts)
    return [...this.#known.values()].flatMap(({ accountId, groups, origin }) => {
      const count = this.#slots.of(groups[3])
      return count > 0 ? [{ accountId, origin, count }] : []
    })
  }

  /**
   * Hears what a look for at most so many has found. There may be more of a group that was given
   * all it may have. What has come free since the look began could be given to nobody.
   */
  found(limit: number, claims: ReadonlyArray<ClaimedDelivery>): void {
    const counts = new Map(this.#before)
    for (const { delivery } of claims) {
      for (const [index, group] of groupsOf(delivery).entries()) {
        const most = this.#slots.most[index] ?? Number.POSITIVE_INFINITY
        if (add(counts, group, 1) >= most) this.#full.set(group, most)
      }
    }
    if (claims.length >= limit) this.#full.set(all, this.#bounds.atOnce)
  }

  /** One of these groups has room, and a look may find more of it. */
  mayFindMore(groups: Iterable<string> = this.#full.keys()): boolean {
    if (this.free <= 0) return false
    for (const group of groups) {
      if (this.#slots.of(group) < (this.#full.get(group) ?? 0)) return true
    }
    return false
  }

  #placesFor(partition: Partition): Places | undefined {
    if (this.#slots.hasRoom(partition)) return this.#slots
    const isQuick = this.#quick.has(partition.origin)
    return isQuick && this.#placesAhead.hasRoom(partition) ? this.#placesAhead : undefined
  }

  #of(delivery: Delivery): Partition {
    const groups = groupsOf(delivery)
    const known = this.#known.get(groups[3])
    if (known !== undefined) return known
    const { accountId, origin } = delivery
    const made: Partition = { accountId, origin, groups, queued: [], ahead: [] }
    this.#known.set(groups[3], made)
    return made
  }

  #hold(partition: Partition, places: Places): void {
    this.#known.set(partition.groups[3], partition)
    for (const group of partition.groups) add(places.counts, group, 1)
  }

  /** Gives a place back, and forgets a partition of which nothing is left. */
  #release({ ahead, groups, queued }: Partition, places: Places): void {
    for (const group of groups) add(places.counts, group, -1)
    const held = this.#slots.of(groups[3]) + this.#placesAhead.of(groups[3])
    if (held + queued.length + ahead.length === 0) this.#known.delete(groups[3])
  }
}

const groupsOf = ({ accountId, origin }: Delivery): Partition["groups"] => [
  all,
  `origin ${origin}`,
  `account ${accountId}`,
  `partition ${accountId} ${origin}`,
]

/** Takes the first of a partition, whose turn comes again after all others, if it has more. */
const shift = <A>(turns: Set<Partition>, partition: Partition, waiting: Array<A>): A => {
  const first = waiting.shift()!
  turns.delete(partition)
  if (waiting.length > 0) turns.add(partition)
  return first
}
