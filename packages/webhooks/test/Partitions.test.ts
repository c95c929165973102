/**
 * The one structure over which a dispatcher decides: queues, places ahead, slots, and of which
 * groups a poll may find more.
 */
import { AccountId } from "@millrace/core/domain/Id"
import { describe, expect, it } from "vitest"
import type { Job, PartitionBounds } from "../src/internal/Partitions.ts"
import { Partitions } from "../src/internal/Partitions.ts"
import { account, claimFor, delivery } from "./Harness.ts"

const [a, b] = ["https://a.example", "https://b.example"]
const other = AccountId.make("acc_2")

const make = (bounds: Partial<PartitionBounds> = {}) =>
  new Partitions({
    atOnce: 100,
    perOrigin: 100,
    perAccount: 100,
    prefetchPerOrigin: 100,
    quickMillis: 50,
    ...bounds,
  })

const many = (origin: string, count: number, accountId = account) =>
  Array.from({ length: count }, () => delivery({ origin, accountId }))

const idsOf = (all: ReadonlyArray<{ readonly delivery: { readonly id: string } }>) =>
  all.map((each) => each.delivery.id)

/** Claims for an account to these origins, kept in this order. */
const keep = (partitions: Partitions, accountId: AccountId, ...origins: ReadonlyArray<string>) =>
  origins.map((origin) => {
    const claim = claimFor(accountId, origin)
    partitions.keep(claim, 0)
    return claim
  })

const begun = (partitions: Partitions): ReadonlyArray<Job> => [...partitions.begin()]

const claimsOf = (jobs: Iterable<Job>) => Array.from(jobs, ({ claimed }) => claimed)

describe("Partitions.reserve", () => {
  it("takes one of each partition in turn, as there are slots, and each once", () => {
    const partitions = make({ perOrigin: 2 })
    const [ofA, ofB] = [many(a, 3), many(b, 3)]
    for (const each of [...ofA, ...ofB]) partitions.queue(each)
    const first = partitions.reserve(9)
    const ids = [ofA[0], ofB[0], ofA[1], ofB[1]].map((each) => each!.id)
    expect(idsOf(first)).toEqual(ids)
    expect(partitions.reserve(9)).toEqual([])
    partitions.leave(first)
    expect(idsOf(partitions.reserve(1))).toEqual([ofA[2]!.id])
    expect(partitions.hasQueued).toBe(true)
    expect(idsOf(partitions.reserve(1))).toEqual([ofB[2]!.id])
    expect(partitions.hasQueued).toBe(false)
  })

  it("begins with another partition each time where there are few places", () => {
    const partitions = make()
    const [ofA, ofB] = [many(a, 2), many(b, 2)]
    for (const each of [...ofA, ...ofB]) partitions.queue(each)
    const ids = [1, 2, 3, 4].flatMap(() => idsOf(partitions.reserve(1)))
    expect(ids).toEqual([ofA[0], ofB[0], ofA[1], ofB[1]].map((each) => each!.id))
  })

  it("gives a queue that never ends in its order, each once", () => {
    const partitions = make({ atOnce: 10_000, perOrigin: 10_000, perAccount: 10_000 })
    const all = many(a, 9_000)
    for (const each of all.slice(0, 3_000)) partitions.queue(each)
    const taken = Array.from({ length: 9 }, (_, index) => {
      const next = 3_000 + index * 1_000
      for (const each of all.slice(next, next + 1_000)) partitions.queue(each)
      return idsOf(partitions.reserve(1_000))
    })
    expect(taken.flat()).toEqual(all.map(({ id }) => id))
    expect(partitions.hasQueued).toBe(false)
  })

  it("takes ahead of slots for origins whose last attempt was quick, within both bounds", () => {
    const partitions = make({ atOnce: 4, perOrigin: 1, prefetchPerOrigin: 3 })
    for (const each of [...many(a, 9), ...many(b, 9)]) partitions.queue(each)
    partitions.learn(a, 50)
    partitions.learn(b, 51)
    const origins = (most: number) =>
      partitions.reserve(most).map(({ partition }) => partition.origin)
    // One slot for each, and three places ahead for the quick one.
    expect(origins(99)).toEqual([a, b, a, a, a])
    expect(partitions.sending).toBe(2)
    // One place ahead is left in all.
    partitions.learn(b, 1)
    expect(origins(99)).toEqual([b])
    partitions.learn(a, 51)
    expect(origins(99)).toEqual([])
  })

  it("remembers the thousand origins that were quick last", () => {
    const partitions = make({ perOrigin: 0, prefetchPerOrigin: 1 })
    const others = Array.from({ length: 1_997 }, (_, n) => `origin ${n}`)
    const names = ["first", "second", ...others, "first", "last"]
    for (const name of names) partitions.learn(name, 1)
    for (const origin of ["first", "second", "last"]) partitions.queue(delivery({ origin }))
    const origins = partitions.reserve(9).map(({ partition }) => partition.origin)
    expect(origins).toEqual(["first", "last"])
  })
})

describe("Partitions.queue", () => {
  it("takes 10,000 in, or 16 Mi characters of bodies, and has room again once they are out", () => {
    const partitions = make({ atOnce: 20_000, perOrigin: 20_000, perAccount: 20_000 })
    const taken = many(a, 10_001).filter((each) => partitions.queue(each))
    expect(taken).toHaveLength(10_000)
    partitions.leave(partitions.reserve(10_000))
    const large = { ...delivery(), body: "x".repeat(4_194_304) }
    expect([1, 2, 3, 4, 5, 6].map(() => partitions.queue(large))).toEqual([
      ...[1, 2, 3, 4].map(() => true),
      false,
      false,
    ])
    expect(partitions.reserve(1)).toHaveLength(1)
    expect(partitions.queue(large)).toBe(true)
  })
})

describe("Partitions.begin", () => {
  it("keeps all three bounds, and what has no slot waits until one is given back", () => {
    const partitions = make({ atOnce: 5, perOrigin: 3, perAccount: 4 })
    const [first, ...rest] = keep(partitions, account, a, a, b, b, b)
    const [theirs] = keep(partitions, other, a)
    const jobs = begun(partitions)
    // Three slots of an origin, four of an account, five in all.
    expect(claimsOf(jobs)).toEqual([first, rest[1], theirs, rest[0], rest[2]])
    keep(partitions, other, "https://c.example")
    expect([partitions.sending, partitions.free, begun(partitions)]).toEqual([5, 0, []])
    expect(jobs.every(({ hasSlot }) => hasSlot)).toBe(true)
    partitions.end(jobs[0]!)
    expect(claimsOf(begun(partitions))).toEqual([rest[3]])
    expect(partitions.beginPoll()).toEqual([
      { accountId: account, origin: a, count: 1 },
      { accountId: account, origin: b, count: 3 },
      { accountId: other, origin: a, count: 1 },
    ])
  })

  it("gives partitions their turn, each its oldest first", () => {
    const partitions = make()
    const mine = keep(partitions, account, a, a, a)
    const theirs = keep(partitions, other, a, a)
    expect(claimsOf(begun(partitions))).toEqual([mine[0], theirs[0], mine[1], theirs[1], mine[2]])
  })

  it("frees the places of what has waited", () => {
    const partitions = make({ perOrigin: 1, prefetchPerOrigin: 1 })
    partitions.learn(a, 1)
    keep(partitions, account, a, a)
    const [job] = begun(partitions)
    partitions.queue(delivery({ origin: a }))
    expect(partitions.reserve(9)).toHaveLength(0)
    partitions.end(job!)
    expect(begun(partitions)).toHaveLength(1)
    expect(partitions.reserve(9)).toHaveLength(1)
  })
})

describe("Partitions.leave", () => {
  /** A delivery with a place; its partition is a new one if none was known. */
  const reserved = (partitions: Partitions) => {
    partitions.queue(delivery({ origin: a }))
    const [one] = partitions.reserve(1)
    return one!
  }

  it("forgets a partition once nothing of it is queued, claimed or being sent", () => {
    const partitions = make({ perOrigin: 1, prefetchPerOrigin: 2 })
    partitions.learn(a, 1)
    const first = reserved(partitions)
    const second = reserved(partitions)
    expect(second.partition).toBe(first.partition)
    partitions.leave([first])
    expect(reserved(partitions).partition).toBe(first.partition)
    const others = make()
    const one = reserved(others)
    others.leave([one])
    const two = reserved(others)
    expect(two.partition).not.toBe(one.partition)
    others.queue(delivery({ origin: a }))
    others.leave([two])
    expect(others.reserve(1)[0]!.partition).toBe(two.partition)
  })
})

describe("Partitions.take", () => {
  it("takes those that are first in their partition while this is true of them", () => {
    const partitions = make()
    const [first, second, third] = keep(partitions, account, a, a, a)
    const [theirs] = keep(partitions, other, a)
    const wanted = [second, theirs]
    expect(claimsOf(partitions.take(({ claimed }) => wanted.includes(claimed)))).toEqual([theirs])
    wanted.push(first)
    expect(claimsOf(partitions.take(({ claimed }) => wanted.includes(claimed)))).toEqual([
      first,
      second,
    ])
    expect(claimsOf(partitions.take(() => true))).toEqual([third])
  })
})

describe("Partitions.mayFindMore", () => {
  const claims = [claimFor(account, a), claimFor(account, a)]
  const groups = (accountId: AccountId, origin: string) => [
    "all",
    `origin ${origin}`,
    `account ${accountId}`,
  ]

  /** What a poll for at most so many has found, which is being sent since then. */
  const find = (partitions: Partitions, limit: number, found = claims) => {
    partitions.beginPoll()
    for (const each of found) partitions.keep(each, 0)
    partitions.found(limit, found)
    return begun(partitions)
  }

  it("is true once there is room for an origin that was given all it may, until a poll", () => {
    const partitions = make({ perOrigin: 2 })
    const [job] = find(partitions, 10)
    expect(partitions.mayFindMore()).toBe(false)
    // Without room for them a poll says nothing of them.
    partitions.beginPoll()
    partitions.end(job!)
    expect(partitions.mayFindMore()).toBe(true)
    expect(partitions.mayFindMore(groups(other, a))).toBe(true)
    expect(partitions.mayFindMore(groups(other, b))).toBe(false)
    partitions.beginPoll()
    expect(partitions.mayFindMore()).toBe(false)
  })

  it("is true of an account wherever its deliveries go", () => {
    const partitions = make({ perAccount: 2 })
    partitions.end(find(partitions, 10)[0]!)
    expect(partitions.mayFindMore(groups(account, b))).toBe(true)
    expect(partitions.mayFindMore(groups(other, a))).toBe(false)
  })

  it("counts what was being sent when the poll began", () => {
    const partitions = make({ perAccount: 3 })
    keep(partitions, account, b)
    const [job] = begun(partitions)
    partitions.beginPoll()
    partitions.end(job!)
    partitions.found(10, claims)
    expect(partitions.mayFindMore(groups(account, b))).toBe(true)
  })

  it("is true of nobody of whom nothing was found", () => {
    const partitions = make({ perOrigin: 1 })
    keep(partitions, account, b)
    const [job] = begun(partitions)
    partitions.beginPoll()
    partitions.found(10, [])
    partitions.end(job!)
    expect(partitions.mayFindMore()).toBe(false)
  })

  it("is true of nobody while there is no slot, whatever room an origin has", () => {
    const partitions = make({ atOnce: 3, perOrigin: 2 })
    const [job] = find(partitions, 10)
    partitions.end(job!)
    keep(partitions, other, b, b)
    begun(partitions)
    expect(partitions.free).toBe(0)
    expect(partitions.mayFindMore()).toBe(false)
  })

  it("is true of everybody once the limit was reached, while there is a slot", () => {
    const partitions = make({ atOnce: 3 })
    find(partitions, 2)
    expect(partitions.mayFindMore(groups(other, b))).toBe(true)
    keep(partitions, other, b)
    begun(partitions)
    expect(partitions.mayFindMore()).toBe(false)
  })
})
