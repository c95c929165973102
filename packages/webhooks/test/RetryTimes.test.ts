import { describe, expect, it } from "vitest"
import { RetryTimes } from "../src/internal/RetryTimes.ts"

describe("RetryTimes", () => {
  it("knows the next time, in whatever order times come, and forgets those that have come", () => {
    const times = new RetryTimes()
    expect(times.next).toBe(Number.POSITIVE_INFINITY)
    for (const at of [30, 10, 50, 20, 40, 20]) times.add(at)
    const nexts: Array<number> = []
    while (times.next < Number.POSITIVE_INFINITY) {
      nexts.push(times.next)
      expect(times.removeDue(times.next - 1)).toBe(false)
      expect(times.removeDue(times.next)).toBe(true)
    }
    expect(nexts).toEqual([10, 20, 30, 40, 50])
    expect(times.removeDue(99)).toBe(false)
  })

  it("remembers 10,000 times", () => {
    const times = new RetryTimes()
    for (let at = 20_000; at > 10_000; at--) times.add(at)
    times.add(1)
    expect(times.next).toBe(10_001)
    times.removeDue(10_001)
    times.add(1)
    expect(times.next).toBe(1)
  })
})
