/**
 * Which times of a schedule are started, missed and next, at any moment.
 */
import { TriggerId } from "@millrace/core/domain/Id"
import { startsPerClaim, timesCaughtUp, timesCounted } from "@millrace/core/domain/Limits"
import type { Schedule } from "@millrace/core/domain/Trigger"
import { jitterOf, runIdAt } from "@millrace/core/domain/Trigger"
import { assert, describe, it } from "@effect/vitest"
import type { Timed } from "../../src/engine/internal/ScheduleTimes.ts"
import { dueTimesOf, nextTime } from "../../src/engine/internal/ScheduleTimes.ts"
import type { Calendar } from "../../src/ports/Calendar.ts"
import { minute, scheduleWith } from "./TestSchedules.ts"

/** Every text means every ten minutes. */
const calendar: Calendar = {
  problemOf: () => undefined,
  next: (_, after) => Math.floor(after / (10 * minute) + 1) * 10 * minute,
  previous: (_, before, count) => {
    const last = (Math.ceil(before / (10 * minute)) - 1) * 10 * minute
    return Array.from({ length: count }, (__, index) => last - (count - 1 - index) * 10 * minute)
  },
}

const minutes = (times: ReadonlyArray<number>) => times.map((time) => time / minute)

/** The first times after this one, at most so many. */
const nextTimes = (timed: Timed, after: number, count: number): ReadonlyArray<number> => {
  const next = count === 0 ? null : nextTime(calendar, timed, after)
  return next === null ? [] : [next, ...nextTimes(timed, next, count - 1)]
}

/** What is done at a minute. */
const at = (now: number, fields: Partial<Schedule> = {}) => {
  const { missed, next, starts } = dueTimesOf(calendar, scheduleWith(fields), now * minute)
  return [minutes(starts), minutes(missed), next === null ? null : next / minute]
}

const forms = [
  ["an interval", {}],
  ["a cron text", { cron: "x", everySeconds: null }],
] as const

for (const [name, form] of forms) {
  describe(`A schedule of ${name}`, () => {
    it("starts a time that is due, up to a minute late, whatever is caught up", () => {
      for (const catchUp of ["none", "last", "all"] as const) {
        assert.deepStrictEqual(at(10, { ...form, catchUp }), [[10], [], 20])
        assert.deepStrictEqual(at(11, { ...form, catchUp }), [[10], [], 20])
        assert.deepStrictEqual(at(9, { ...form, catchUp }), [[], [], 10])
      }
    })

    it("misses, or catches up, what is later than that", () => {
      assert.deepStrictEqual(at(35, { ...form, catchUp: "none" }), [[], [10, 20, 30], 40])
      assert.deepStrictEqual(at(35, { ...form, catchUp: "last" }), [[30], [10, 20], 40])
      assert.deepStrictEqual(at(35, { ...form, catchUp: "all" }), [[10, 20, 30], [], 40])
    })

    it("starts what is in time beside what it catches up", () => {
      assert.deepStrictEqual(at(30, { ...form, catchUp: "none" }), [[30], [10, 20], 40])
      assert.deepStrictEqual(at(30, { ...form, catchUp: "last" }), [[30], [10, 20], 40])
      assert.deepStrictEqual(at(30, { ...form, catchUp: "all" }), [[10, 20, 30], [], 40])
    })

    it("catches up many in turns, and forgets those before the latest", () => {
      const [starts, missed, next] = at(10 * 5_000 + 5, { ...form, catchUp: "all" })
      const first = 5_001 - timesCaughtUp
      assert.strictEqual((starts as Array<number>)[0], 10 * first)
      assert.lengthOf(starts as Array<number>, startsPerClaim)
      assert.deepStrictEqual(missed, [])
      assert.strictEqual(next, 10 * (first + startsPerClaim))
      const counted = at(10 * 5_000 + 5, { ...form, catchUp: "last" })
      assert.deepStrictEqual(counted[0], [50_000])
      assert.lengthOf(counted[1] as Array<number>, timesCounted - 1)
      assert.strictEqual(counted[2], 50_010)
    })

    it("has no time at its end or later", () => {
      assert.deepStrictEqual(at(35, { ...form, catchUp: "all", endAt: 30 * minute }), [
        [10, 20],
        [],
        null,
      ])
      const over = { ...form, endAt: 30 * minute, nextAt: 10 * minute, catchUp: "last" } as const
      assert.deepStrictEqual(at(5_000, over), [[20], [10], null])
    })
  })
}

describe("A schedule", () => {
  it("counts an interval from its start, or else from its making", () => {
    const timed = scheduleWith({ createdAt: 3 * minute })
    assert.deepStrictEqual(minutes(nextTimes(timed, 3 * minute, 3)), [13, 23, 33])
    const begun = { ...timed, startAt: 45 * minute }
    assert.deepStrictEqual(minutes(nextTimes(begun, 3 * minute, 3)), [45, 55, 65])
    assert.deepStrictEqual(minutes(nextTimes(begun, 50 * minute, 2)), [55, 65])
    const ending = { ...begun, endAt: 65 * minute }
    assert.deepStrictEqual(minutes(nextTimes(ending, 0, 10)), [45, 55])
  })

  it("starts its runs later by a part of its jitter that stays the same", () => {
    const spread = scheduleWith({ jitterSeconds: 300 })
    const jitter = jitterOf(spread)
    assert.isAbove(jitter, 0)
    assert.isBelow(jitter, 300_000)
    const [due, early] = [10 * minute + jitter, 10 * minute + jitter - 1]
    assert.deepStrictEqual(dueTimesOf(calendar, spread, early).starts, [])
    assert.deepStrictEqual(dueTimesOf(calendar, spread, due).starts, [10 * minute])
    assert.strictEqual(jitterOf(scheduleWith()), 0)
  })

  it("drops the times of a pause of all triggers, and misses those left before it", () => {
    const paused = (since: number, until: number | null, fields: Partial<Schedule> = {}) => {
      const all = scheduleWith({ catchUp: "all", ...fields })
      const end = until === null ? null : until * minute
      const pause = { accountId: all.accountId, since: since * minute, until: end }
      const { next, waitingAt, ...due } = dueTimesOf(calendar, all, 45 * minute, pause)
      return [minutes(due.starts), minutes(due.missed), minutes(due.paused), next, waitingAt]
    }
    const next = 50 * minute
    assert.deepStrictEqual(paused(15, null), [[], [10], [20, 30, 40], next, null])
    assert.deepStrictEqual(paused(20, 30), [[40], [10], [20, 30], next, null])
    assert.deepStrictEqual(paused(1, 5), [[10, 20, 30, 40], [], [], next, null])
    const waits = { waitingAt: 5 * minute }
    assert.deepStrictEqual(paused(15, 25, waits), [[30, 40], [5, 10], [20], next, null])
    assert.deepStrictEqual(paused(1, 4, waits)[4], 5 * minute)
  })

  it("gives the run of a time one id, with the form of every other", () => {
    const [one, two] = [
      scheduleWith().id,
      TriggerId.make("trg_0199d2c8-7e1f-7c3a-9d42-3f5b8a6e1c08"),
    ]
    const time = Date.parse("2026-01-05T08:30:00Z")
    assert.strictEqual(runIdAt(one, time), "run_019b8d47-0340-7c3a-9d42-3f5b8a6e1c07")
    const ids = [runIdAt(one, time), runIdAt(two, time), runIdAt(one, time + 1)]
    assert.strictEqual(new Set(ids).size, 3)
    assert.match(ids[0]!, /^run_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
  })
})
