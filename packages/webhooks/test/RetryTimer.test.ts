import { describe, expect, it } from "vitest"
import { RetryTimer } from "../src/internal/RetryTimer.ts"

describe("RetryTimer", () => {
  it("knows the next time, in whatever order times come, and forgets those that have come", () => {
    const timer = new RetryTimer()
    expect(timer.next).toBe(Number.POSITIVE_INFINITY)
    for (const at of [30, 10, 50, 20, 40, 20]) timer.expect(at)
    const nexts: Array<number> = []
    while (timer.next < Number.POSITIVE_INFINITY) {
      nexts.push(timer.next)
      expect(timer.ring(timer.next - 1)).toBe(false)
      expect(timer.ring(timer.next)).toBe(true)
    }
    expect(nexts).toEqual([10, 20, 30, 40, 50])
    expect(timer.ring(99)).toBe(false)
  })

  it("remembers 10,000 times", () => {
    const timer = new RetryTimer()
    for (let at = 20_000; at > 10_000; at--) timer.expect(at)
    timer.expect(1)
    expect(timer.next).toBe(10_001)
    timer.ring(10_001)
    timer.expect(1)
    expect(timer.next).toBe(1)
  })
})
