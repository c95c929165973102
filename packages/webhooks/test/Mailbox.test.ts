import type { Delivery } from "@millrace/core/domain/Delivery"
import { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import { describe, expect, it } from "vitest"
import { Letters } from "../src/Mailbox.ts"
import { Slots } from "../src/Slots.ts"

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

describe("Letters.take", () => {
  it("takes a little of each line, as there is room, and each once", () => {
    const letters = new Letters()
    letters.put([...many("a", 5), ...many("b", 5)])
    const take = () => letters.take(6, ({ origin }) => (origin === "a" ? 2 : 9)).map(({ id }) => id)
    expect(take()).toEqual(["msg_a_0", "msg_a_1", "msg_b_0", "msg_b_1", "msg_b_2", "msg_b_3"])
    expect(take()).toEqual(["msg_a_2", "msg_a_3", "msg_b_4"])
    expect(take()).toEqual(["msg_a_4"])
    expect(letters.isEmpty).toBe(true)
  })

  it("leaves a line alone for which there is no room", () => {
    const letters = new Letters()
    letters.put([...many("a", 3), ...many("b", 1)])
    const taken = letters.take(9, ({ origin }) => (origin === "a" ? -1 : 9))
    expect(taken.map(({ id }) => id)).toEqual(["msg_b_0"])
    expect(letters.isEmpty).toBe(false)
  })

  it("says once that something did not fit in", () => {
    const letters = new Letters()
    letters.put(many("a", 10_001))
    expect([letters.takeOverflow(), letters.takeOverflow()]).toEqual([true, false])
    expect(letters.take(20_000, () => 20_000)).toHaveLength(10_000)
  })
})

describe("Slots.room", () => {
  it("is what is left of all three bounds", () => {
    const slots = new Slots({ atOnce: 6, perOrigin: 3, perAccount: 4 })
    const [a, b] = [delivery("a", 1), delivery("b", 1)]
    const other = { ...a, accountId: AccountId.make("acc_2") }
    for (const lane of [a, a, b]) slots.take(lane)
    expect([a, b, other].map((lane) => slots.room(lane))).toEqual([1, 1, 1])
    slots.release(b)
    expect([a, b, other].map((lane) => slots.room(lane))).toEqual([1, 2, 1])
    expect(slots.busy()).toEqual([{ accountId, origin: "a", count: 2 }])
    slots.release(b)
    expect(slots.total).toBe(2)
  })
})
