/**
 * What a process keeps of its own deliveries while no dispatcher listens.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import { describe, expect, it } from "vitest"
import { DeliveryQueue } from "../src/LocalQueue.ts"
import { delivery } from "./Harness.ts"

const many = (count: number) => Array.from({ length: count }, () => delivery())

/** Listens, and gives what was handed over until now. */
const heardBy = (queue: DeliveryQueue): ReadonlyArray<Delivery> => {
  const heard: Array<Delivery> = []
  queue.listen((deliveries) => heard.push(...deliveries))
  return heard
}

describe("DeliveryQueue.listen", () => {
  it("hands over what was put in before, and then what comes, each once and in its order", () => {
    const queue = new DeliveryQueue()
    const [first, second, third] = [many(3), many(2), many(2)]
    queue.put(first)
    queue.put(second)
    const heard = heardBy(queue)
    expect(heard).toEqual([...first, ...second])
    queue.put(third)
    expect(heard).toEqual([...first, ...second, ...third])
    queue.listen(undefined)
    const later = many(1)
    queue.put(later)
    expect(heardBy(queue)).toEqual(later)
  })
})

describe("DeliveryQueue.put", () => {
  it("keeps 10,000, or 16 Mi characters of bodies, while nobody listens", () => {
    const queue = new DeliveryQueue()
    queue.put(many(10_001))
    expect(heardBy(queue)).toHaveLength(10_000)
    queue.listen(undefined)
    const large = { ...delivery(), body: "x".repeat(4_194_304) }
    queue.put(Array.from({ length: 6 }, () => large))
    expect(heardBy(queue)).toHaveLength(4)
    queue.listen(undefined)
    queue.put([large])
    expect(heardBy(queue)).toHaveLength(1)
  })
})
