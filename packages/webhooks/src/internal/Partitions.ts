/**
 * The deliveries of one process, by partition: a queue of deliveries that wait for a claim, a queue
 * of claimed ones that wait for a slot, and the number of those that are being sent. A slow
 * receiver delays no other receiver, and a quick receiver does not wait for the store.
 *
 * Guarantees: the number of deliveries that are being sent stays within the bounds in all, per
 * origin and per account. Deliveries are claimed ahead of free slots only if the last attempt at
 * their origin was quick. A partition keeps its order, and partitions take turns. Mutable; every
 * method is one synchronous step. Leaves out: time, and the slots of other processes.
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
  /** How many may be sent at once, and how many may be claimed ahead, at most. */
  readonly atOnce: number
  readonly perOrigin: number
  readonly perAccount: number
  /** How many deliveries to one origin may be claimed ahead. */
  readonly prefetchPerOrigin: number
  /** An origin is quick if its last attempt took at most so many milliseconds. */
  readonly quickMillis: number
}

/** The deliveries of one account to one origin. */
export interface Partition {
  readonly accountId: AccountId
  readonly origin: string
  /** The groups in which its deliveries count: all, its origin, its account, and itself. */
  readonly groups: readonly [string, string, string, string]
  /** Deliveries that wait for a claim, oldest first. */
  readonly queued: Array<Delivery>
  /** Claimed deliveries that wait for a slot, oldest first. */
  readonly ahead: Array<Job>
}

/** A claimed delivery, until its outcome is recorded. */
export interface Job {
  readonly claimed: ClaimedDelivery
  /** When the claim began, on the monotonic clock. */
  readonly claimedAt: number
  readonly partition: Partition
  hasSlot: boolean
}

/** A delivery that is being claimed, and the kind of place that is reserved for it. */
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

/** Places for deliveries, counted by group. */
class Places {
  readonly counts = new Map<string, number>()
  /** How many places there are for all, for one origin, and for one account. */
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
  /** The partitions with waiting deliveries. The first one is the next in turn. */
  readonly #queued = new Set<Partition>()
  readonly #ahead = new Set<Partition>()
  readonly #slots: Places
  readonly #placesAhead: Places
  readonly #quick = new BoundedMap<string, true>(quickOriginsKnown)
  /** Groups of which a poll has taken as many as their bound allowed, with that bound. */
  readonly #full = new Map<string, number>()
  /** How many were being sent when the last poll began. */
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

  /** Queues a delivery for its claim; false if there is no room. */
  queue(delivery: Delivery): boolean {
    if (this.#count >= localDeliveries || this.#characters >= localDeliveriesLength) return false
    const partition = this.#of(delivery)
    partition.queued.push(delivery)
    this.#queued.add(partition)
    this.#count += 1
    this.#characters += delivery.body.length
    return true
  }

  /** Takes queued deliveries for which there are places, one of each partition in turn. */
  reserve(most: number): ReadonlyArray<Reserved> {
    const taken: Array<Reserved> = []
    // A partition that is added again is the last one, and this loop comes to it again.
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

  /** Frees reserved places. Deliveries that were claimed get a place in {@link keep}. */
  leave(reserved: ReadonlyArray<Reserved>): void {
    for (const { partition, places } of reserved) this.#release(partition, places)
  }

  /** Queues a claimed delivery for a slot. */
  keep(claimed: ClaimedDelivery, claimedAt: number): void {
    const partition = this.#of(claimed.delivery)
    partition.ahead.push({ claimed, claimedAt, partition, hasSlot: false })
    this.#ahead.add(partition)
    this.#hold(partition, this.#placesAhead)
  }

  /** Takes jobs that wait for a slot and are first in their partition, one of each in turn. */
  *take(isNext: (first: Job) => boolean): Iterable<Job> {
    for (const partition of this.#ahead) {
      if (!isNext(partition.ahead[0]!)) continue
      const job = shift(this.#ahead, partition, partition.ahead)
      this.#release(partition, this.#placesAhead)
      yield job
    }
  }

  /** Takes the jobs for which there are slots, and gives them their slots. */
  *begin(): Iterable<Job> {
    for (const job of this.take(({ partition }) => this.#slots.hasRoom(partition))) {
      job.hasSlot = true
      this.#hold(job.partition, this.#slots)
      yield job
    }
  }

  /** Frees the slot of a job. */
  end(job: Job): void {
    job.hasSlot = false
    this.#release(job.partition, this.#slots)
  }

  /** Remembers whether an origin is quick. */
  learn(origin: string, millis: number): void {
    if (millis > this.#bounds.quickMillis) this.#quick.delete(origin)
    else this.#quick.set(origin, true)
  }

  /** Prepares a poll, which finds all deliveries of groups with room. Returns what is sent now. */
  beginPoll(): ReadonlyArray<Busy> {
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
   * Remembers the groups of which a poll with this limit may have left deliveries in the store:
   * those that have reached their bound. Slots that came free after the poll began do not count.
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

  /** True if one of these groups has room, and a poll may find more of its deliveries. */
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

  /** Frees a place, and forgets a partition without deliveries. */
  #release({ groups, queued }: Partition, places: Places): void {
    for (const group of groups) add(places.counts, group, -1)
    const held = this.#slots.of(groups[3]) + this.#placesAhead.of(groups[3])
    if (held + queued.length === 0) this.#known.delete(groups[3])
  }
}

const groupsOf = ({ accountId, origin }: Delivery): Partition["groups"] => [
  all,
  `origin ${origin}`,
  `account ${accountId}`,
  `partition ${accountId} ${origin}`,
]

/** Takes the first of a queue. If the queue has more, its partition is the last in turn then. */
const shift = <A>(turns: Set<Partition>, partition: Partition, waiting: Array<A>): A => {
  const first = waiting.shift()!
  turns.delete(partition)
  if (waiting.length > 0) turns.add(partition)
  return first
}
