// The two windows of a key's quota, compared with counting every request by hand.
import { take, answerAt, unused, usageAt, windowOf } from "@millrace/core/domain/Quota"
import { dayMillis, minuteMillis } from "@millrace/core/domain/Timestamp"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const quota = { perMinute: 3, perDay: 5 }

describe("Quota.take", () => {
  it("admits up to the limit of the minute, and again in the next one", () => {
    let usage = unused
    const admitted = [0, 1, 59_999, 59_999, 60_000].map((now) => {
      const taken = take(quota, usage, now)
      usage = taken.usage
      return taken.admitted
    })
    assert.deepStrictEqual(admitted, [true, true, true, false, true])
  })

  it("reports the exceeded window, the day before the minute", () => {
    const now = 10 * dayMillis
    const full = { minute: now / minuteMillis, minuteUsed: 3, day: 10, dayUsed: 5 }
    const both = take(quota, full, now)
    assert.deepStrictEqual(both.window, { remaining: 0, resetAt: 11 * dayMillis })
    const minute = take(quota, { ...full, dayUsed: 4 }, now)
    assert.deepStrictEqual(minute.window, { remaining: 0, resetAt: now + minuteMillis })
  })

  it("reports the tighter window of an admitted request", () => {
    assert.strictEqual(windowOf(quota, { ...unused, minuteUsed: 1, dayUsed: 4 }, true).remaining, 1)
    assert.strictEqual(windowOf(quota, { ...unused, minuteUsed: 2, dayUsed: 2 }, true).remaining, 1)
  })

  it("holds a changed limit at once and keeps what was used", () => {
    const used = take(quota, { ...unused, minuteUsed: 2, dayUsed: 2 }, 0).usage
    assert.isFalse(take({ perMinute: 2, perDay: 5 }, used, 1).admitted)
    assert.isTrue(take({ perMinute: 4, perDay: 5 }, used, 1).admitted)
  })

  const Steps = Schema.Array(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40_000_000 })),
  )
  it.prop("admits exactly what counting by hand admits", [Steps], ([steps]) => {
    let usage = unused
    let now = 0
    const seen: Array<number> = []
    for (const step of steps) {
      now += step
      const inWindow = (length: number) =>
        seen.filter((at) => Math.floor(at / length) === Math.floor(now / length)).length
      const expected =
        inWindow(minuteMillis) < quota.perMinute && inWindow(dayMillis) < quota.perDay
      const taken = take(quota, usage, now)
      usage = taken.usage
      assert.strictEqual(taken.admitted, expected)
      if (taken.admitted) seen.push(now)
      assert.isAtLeast(taken.window.remaining, 0)
      assert.isAbove(taken.window.resetAt, now)
    }
  })
})

describe("Quota.tell", () => {
  const Small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 8 }))
  const Limit = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 }))
  it.prop(
    "tells several requests what they would be told one after the other",
    [Limit, Limit, Small, Small, Small],
    ([perMinute, perDay, minuteUsed, more, wanted]) => {
      const limits = { perMinute, perDay }
      const before = { ...unused, minuteUsed, dayUsed: minuteUsed + more }
      let usage = usageAt(before, 5)
      const oneByOne = Array.from({ length: wanted }, () => {
        const taken = take(limits, usage, 5)
        usage = taken.usage
        return { admitted: taken.admitted, window: taken.window }
      })
      const granted = oneByOne.filter(({ admitted }) => admitted).length
      const together = oneByOne.map((_, turn) => answerAt(limits, usage, granted, turn))
      assert.deepStrictEqual(together, oneByOne)
    },
  )
})
