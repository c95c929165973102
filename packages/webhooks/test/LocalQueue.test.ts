import type { Delivery } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import { describe, expect, it } from "vitest"
import { DeliveryQueue } from "../src/LocalQueue.ts"
import { Concurrency } from "../src/internal/Concurrency.ts"

const accountId = AccountId.make("acc_1")

const delivery = (origin: string, n: number, account = accountId): Delivery => ({
  id: DeliveryId.make(`msg_${origin}_${n}`),
  accountId: account,
  runId: null,
  sequence: null,
  type: "webhook.test",
  url: origin,
  origin,
  headers: null,
  body: "{}",
  createdAt: n,
})

const many = (origin: string, count: number) =>
  Array.from({ length: count }, (_, n) => delivery(origin, n))

const idOf = ({ delivery: { id } }: { readonly delivery: Delivery }) => id.slice(4)

/** Gives so many places to each origin. */
const places = (rooms: Readonly<Record<string, number>>) => {
  const left = { ...rooms }
  return ({ origin }: { readonly origin: string }) =>
    (left[origin] ?? 0) > 0 ? `${origin} ${(left[origin]! -= 1)}` : undefined
}

describe("DeliveryQueue.take", () => {
  it("takes one of each line in turn, as there are places, and each once", () => {
    const queue = new DeliveryQueue()
    queue.put([...many("a", 5), ...many("b", 5)])
    const take = () => queue.take(6, places({ a: 2, b: 9 })).map(idOf)
    expect(take()).toEqual(["a_0", "b_0", "a_1", "b_1", "b_2", "b_3"])
    expect(take()).toEqual(["a_2", "b_4", "a_3"])
    expect(take()).toEqual(["a_4"])
    expect(queue.isEmpty).toBe(true)
  })

  it("gives each with its place, and leaves what has none where it is", () => {
    const queue = new DeliveryQueue()
    queue.put([...many("a", 3), ...many("b", 1)])
    const taken = queue.take(9, places({ b: 9 }))
    expect(taken).toEqual([{ delivery: delivery("b", 0), place: "b 8" }])
    const rest = queue.take(9, places({ a: 9 })).map(idOf)
    expect(rest).toEqual(["a_0", "a_1", "a_2"])
  })

  it("begins with another line each time where there are few places", () => {
    const queue = new DeliveryQueue()
    queue.put([...many("a", 3), ...many("b", 3)])
    const one = () =>
      queue
        .take(1, places({ a: 1, b: 1 }))
        .map(idOf)
        .join()
    expect([one(), one(), one(), one()]).toEqual(["a_0", "b_0", "a_1", "b_1"])
  })

  it("gives a line that never ends in its order, each once", () => {
    const queue = new DeliveryQueue()
    const all = many("a", 9_000)
    queue.put(all.slice(0, 3_000))
    const taken = Array.from({ length: 9 }, (_, turn) => {
      queue.put(all.slice(3_000 + turn * 1_000, 4_000 + turn * 1_000))
      return queue.take(1_000, () => true).map(({ delivery: { id } }) => id)
    })
    expect(taken.flat()).toEqual(all.map(({ id }) => id))
    expect(queue.isEmpty).toBe(true)
  })

  it("says once that something did not fit in", () => {
    const queue = new DeliveryQueue()
    queue.put(many("a", 10_001))
    expect([queue.takeOverflow(), queue.takeOverflow()]).toEqual([true, false])
    expect(queue.take(20_000, () => true)).toHaveLength(10_000)
    queue.put(many("a", 10_000))
    expect(queue.takeOverflow()).toBe(false)
  })

  it("takes in 16 Mi characters of bodies at most, and has room again once they are out", () => {
    const queue = new DeliveryQueue()
    const large = { ...delivery("a", 1), body: "x".repeat(4_194_304) }
    queue.put(Array.from({ length: 6 }, () => large))
    expect(queue.takeOverflow()).toBe(true)
    expect(queue.take(9, () => true)).toHaveLength(4)
    queue.put([large])
    expect(queue.takeOverflow()).toBe(false)
  })
})

describe("Concurrency.room", () => {
  it("is what is left of all three bounds", () => {
    const slots = new Concurrency({ atOnce: 6, perOrigin: 3, perAccount: 4 })
    const [a, b] = [delivery("a", 1), delivery("b", 1)]
    const other = { ...a, accountId: AccountId.make("acc_2") }
    for (const partition of [a, a, b]) slots.take(partition)
    expect([a, b, other].map((partition) => slots.room(partition))).toEqual([1, 1, 1])
    slots.release(b)
    expect([a, b, other].map((partition) => slots.room(partition))).toEqual([1, 2, 1])
    expect(slots.busy()).toEqual([{ accountId, origin: "a", count: 2 }])
    slots.release(b)
    expect(slots.total).toBe(2)
  })
})
