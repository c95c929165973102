import { describe, expect, it } from "vitest"
import type { DeliveryAnswer, DeliveryProgress } from "../../src/domain/DeliverySchedule.ts"
import { defaultSchedule, nextOf, nextOfLost, withheld } from "../../src/domain/DeliverySchedule.ts"

const hour = 3_600_000
const begun = 1_700_000_000_000

const standing = (change: Partial<DeliveryProgress> = {}): DeliveryProgress => ({
  attempt: 1,
  earlier: 0,
  createdAt: begun,
  isGone: false,
  ...change,
})

const status = (code: number, retryAfter?: string): DeliveryAnswer => ({
  _tag: "Answered",
  status: code,
  retryAfter,
})

const after = (
  answer: DeliveryAnswer,
  change: Partial<DeliveryProgress> = {},
  random = 0,
  now = begun,
) => nextOf(defaultSchedule, standing(change), answer, now, random)

const delayAfter = (
  answer: DeliveryAnswer,
  change: Partial<DeliveryProgress> = {},
  random = 0,
  now = begun,
) => {
  const next = after(answer, change, random, now)
  return next._tag === "Retry" ? next.delayMillis : undefined
}

const failed = { _tag: "Failed", isGone: false }

describe("DeliverySchedule.nextOf", () => {
  it("waits 5 s, 5 min, 30 min, 2 h and 8 h, and gives up after the sixth attempt", () => {
    const delays = [1, 2, 3, 4, 5, 6].map((attempt) => delayAfter(status(500), { attempt }))
    expect(delays).toEqual([5_000, 300_000, 1_800_000, 7_200_000, 28_800_000, undefined])
    expect(after(status(500), { attempt: 6 })).toEqual(failed)
  })

  it("moves a delay by a tenth at most", () => {
    expect([-1, 0.5, 1].map((random) => delayAfter(status(500), {}, random))).toEqual([
      4_500, 5_250, 5_500,
    ])
  })

  it("takes 2xx for delivered, and everything else for a failure", () => {
    for (const code of [200, 201, 204, 299]) {
      expect(after(status(code))).toEqual({ _tag: "Delivered" })
    }
    for (const code of [300, 301, 302, 307, 308, 400, 401, 404, 418, 429, 500, 503, 199, 600]) {
      expect(delayAfter(status(code))).toBe(5_000)
    }
    expect(delayAfter({ _tag: "Unanswered", error: "timeout" })).toBe(5_000)
  })

  it("stops at once when the receiver is gone", () => {
    expect(after(status(410))).toEqual({ _tag: "Failed", isGone: true })
  })

  it("lets a busy receiver lengthen a delay, up to twice, and never shorten it", () => {
    const wishes = ["1", "7", "3600", " 8 ", "soon", "-5", ""]
    const delays = wishes.map((wish) => delayAfter(status(429, wish)))
    expect(delays).toEqual([5_000, 7_000, 10_000, 8_000, 5_000, 5_000, 5_000])
    expect(delayAfter(status(503, "7"))).toBe(7_000)
    expect(delayAfter(status(500, "7"))).toBe(5_000)
    expect(delayAfter(status(503, "Tue, 14 Nov 2023 22:13:29 GMT"))).toBe(9_000)
    expect(delayAfter(status(503, "Tue, 14 Nov 2000 22:13:29 GMT"))).toBe(5_000)
  })

  it("reads seconds of up to nine digits, and dates, and nothing else", () => {
    const delays = ["10", "000000008", "soon8", "8soon"].map((wish) =>
      delayAfter(status(429, wish)),
    )
    expect(delays).toEqual([10_000, 8_000, 5_000, 5_000])
  })

  it("counts from the last time it was asked for", () => {
    expect(delayAfter(status(500), { attempt: 7, earlier: 6 })).toBe(5_000)
    expect(delayAfter(status(500), { attempt: 12, earlier: 6 })).toBeUndefined()
  })

  it("plans no attempt for later than 72 hours after the event", () => {
    const late = begun + 72 * hour
    expect(delayAfter(status(500), {}, 0, late - 5_000)).toBe(5_000)
    expect(after(status(500), {}, 0, late - 4_999)).toEqual(failed)
  })
})

describe("DeliverySchedule.nextOfLost", () => {
  const lost = (change: Partial<DeliveryProgress>, random = 0, now = begun) =>
    nextOfLost(defaultSchedule, standing(change), now, random)

  it("waits the schedule's pause after an attempt whose end nobody knows", () => {
    const delays = [1, 2, 3, 4, 5].map((attempt) => lost({ attempt }))
    expect(delays).toEqual(
      [5_000, 300_000, 1_800_000, 7_200_000, 28_800_000].map((delayMillis) => ({
        _tag: "Retry",
        delayMillis,
      })),
    )
    expect(lost({}, 1)).toEqual({ _tag: "Retry", delayMillis: 5_500 })
  })

  it("gives up after a sixth one, however it ended", () => {
    expect(lost({ attempt: 6 })).toEqual(failed)
    expect(lost({ attempt: 12, earlier: 6 })).toEqual(failed)
    const once = { ...defaultSchedule, delaysMillis: [] }
    expect(nextOfLost(once, standing(), begun, 0)).toEqual(failed)
  })

  it("gives up where the receiver is gone or time is over", () => {
    expect(lost({ isGone: true })).toEqual(failed)
    expect(lost({}, 0, begun + 72 * hour)).toEqual(failed)
  })
})

describe("DeliverySchedule.withheld", () => {
  const now = (change: Partial<DeliveryProgress>, millis = begun) =>
    withheld(defaultSchedule, standing(change), millis)

  it("lets every attempt go ahead that the schedule has", () => {
    for (const attempt of [1, 2, 3, 4, 5, 6]) expect(now({ attempt })).toBeUndefined()
  })

  it("ends what has had its attempts, however they ended", () => {
    expect(now({ attempt: 7 })).toEqual(failed)
    expect(now({ attempt: 7, earlier: 1 })).toBeUndefined()
  })

  it("ends what belongs to a run whose receiver is gone", () => {
    expect(now({ isGone: true })).toEqual(failed)
  })

  it("ends what is too old, unless somebody has just asked for it", () => {
    const late = begun + 73 * hour
    expect(now({}, late)).toEqual(failed)
    expect(now({}, begun + 72 * hour)).toBeUndefined()
    expect(now({ attempt: 3, earlier: 2 }, late)).toBeUndefined()
    expect(now({ attempt: 4, earlier: 2 }, late)).toEqual(failed)
  })
})
