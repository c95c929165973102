/**
 * When cron texts are due, also where clocks are set forward and back.
 */
import { assert, describe, it } from "@effect/vitest"
import { format } from "@millrace/core/domain/Timestamp"
import type { Calendar } from "@millrace/core/ports/Calendar"
import { CurrentCalendar } from "@millrace/core/ports/Calendar"
import { Effect } from "effect"
import * as CronCalendar from "../src/internal/CronCalendar.ts"

const calendar = Effect.runSync(Effect.provide(CurrentCalendar, CronCalendar.layer))

const berlin = (cron: string) => ({ cron, timezone: "Europe/Berlin" })

type Text = Parameters<Calendar["next"]>[0]

/** The times of a text from one moment on and before another. */
const between = (text: Text, from: string, to: string): ReadonlyArray<number> => {
  const times: Array<number> = []
  let next = calendar.next(text, Date.parse(from) - 1)
  while (next !== null && next < Date.parse(to)) {
    times.push(next)
    next = calendar.next(text, next)
  }
  return times
}

const shown = (text: Text, from: string, to: string) =>
  between(text, from, to).map((time) => format(time).slice(0, 16))

/** The time of day in Berlin. */
const clock = new Intl.DateTimeFormat("sv", {
  timeZone: "Europe/Berlin",
  dateStyle: "short",
  timeStyle: "medium",
})

describe("CronCalendar.next", () => {
  it("starts a fixed time that clocks jump over at the first moment behind the gap", () => {
    assert.deepStrictEqual(shown(berlin("30 2 * * *"), "2026-03-28T00:00Z", "2026-03-31T00:00Z"), [
      "2026-03-28T01:30",
      "2026-03-29T01:00",
      "2026-03-30T00:30",
    ])
  })

  it("starts a fixed time that comes twice once, at the first", () => {
    assert.deepStrictEqual(shown(berlin("30 2 * * *"), "2026-10-24T00:00Z", "2026-10-27T00:00Z"), [
      "2026-10-24T00:30",
      "2026-10-25T00:30",
      "2026-10-26T01:30",
    ])
  })

  it("goes on every half hour where clocks change", () => {
    const spring = shown(berlin("*/30 * * * *"), "2026-03-29T00:00Z", "2026-03-29T02:00Z")
    const autumn = shown(berlin("*/30 * * * *"), "2026-10-25T00:00Z", "2026-10-25T02:00Z")
    for (const [times, day] of [
      [spring, "2026-03-29"],
      [autumn, "2026-10-25"],
    ] as const) {
      assert.deepStrictEqual(times, [
        `${day}T00:00`,
        `${day}T00:30`,
        `${day}T01:00`,
        `${day}T01:30`,
      ])
    }
  })

  it("gives each day of a year in Berlin one time, at its hour", () => {
    const times = between(berlin("15 30 9 * * *"), "2026-01-01T00:00Z", "2027-01-01T00:00Z")
    assert.lengthOf(times, 365)
    const days = new Set(times.map((time) => clock.format(time).slice(0, 10)))
    assert.strictEqual(days.size, 365)
    assert.isTrue(times.every((time) => clock.format(time).endsWith("09:30:15")))
  })

  it("gives a year in Berlin as many hours as it has", () => {
    const times = between(berlin("0 0 * * * *"), "2026-01-01T00:00Z", "2027-01-01T00:00Z")
    assert.lengthOf(times, 8_760)
    assert.isTrue(times.slice(1).every((time, index) => time - 3_600_000 === times[index]))
  })

  it("gives every day of a year one time between two and three, though clocks change then", () => {
    for (const cron of ["0 2 * * *", "30 2 * * *", "59 59 2 * * *"]) {
      const times = between(berlin(cron), "2026-01-01T00:00Z", "2027-01-01T00:00Z")
      assert.lengthOf(times, 365)
      assert.strictEqual(new Set(times).size, 365)
    }
  })

  it("gives none for a time that never comes, or that is over", () => {
    const now = Date.parse("2026-03-01T00:00Z")
    assert.isNull(calendar.next(berlin("0 0 31 2 *"), now))
    assert.isNull(calendar.next(berlin("0 0 0 1 1 * 2020"), now))
  })
})

describe("CronCalendar.previous", () => {
  it("gives the same times as next, the last ones before a moment", () => {
    const end = "2026-10-26T00:00Z"
    for (const cron of ["30 2 * * *", "*/20 * * * *", "0 0 9 * * MON-FRI", "0 0 L * *"]) {
      const all = between(berlin(cron), "2026-09-20T00:00Z", end)
      for (const count of [1, 7, 100]) {
        const last = calendar.previous(berlin(cron), Date.parse(end), count)
        assert.lengthOf(last, count)
        assert.deepStrictEqual(last.slice(-all.length), all.slice(-count))
      }
    }
  })

  it("leaves out the moment itself, and no time right before it", () => {
    const noon = Date.parse("2026-05-01T10:00Z")
    const last = (before: number) => calendar.previous(berlin("0 12 * * *"), before, 1)[0]
    assert.strictEqual(last(noon), noon - 86_400_000)
    assert.strictEqual(last(noon + 1), noon)
    assert.strictEqual(last(noon - 500), noon - 86_400_000)
  })
})

describe("CronCalendar.problemOf", () => {
  it("reads texts of five, six and seven fields, and names", () => {
    for (const cron of ["0 9 * * *", "0 0 9 * * *", "0 0 9 * * MON#1 2030", "@daily"]) {
      assert.isUndefined(calendar.problemOf(berlin(cron)), cron)
    }
    for (const timezone of ["UTC", "America/New_York", "CET"]) {
      assert.isUndefined(calendar.problemOf({ cron: "0 9 * * *", timezone }), timezone)
    }
  })

  it("says in one sentence what is wrong", () => {
    assert.deepStrictEqual(
      [
        ["0 0 32 1 *", "UTC"],
        ["soon", "UTC"],
        ["", "UTC"],
        ["2030-01-01T00:00:00", "UTC"],
        ["0 0 * * *", "Mars/Base"],
        ["0 0 * * *", ""],
      ].map(([cron = "", timezone = ""]) => calendar.problemOf({ cron, timezone })),
      [
        'cron: "0 0 32 1 *" cannot be read: Invalid value for day',
        'cron: expected 5, 6 or 7 fields, and "soon" has 1',
        'cron: expected 5, 6 or 7 fields, and "" has 0',
        'cron: expected 5, 6 or 7 fields, and "2030-01-01T00:00:00" has 1',
        'timezone: there is no time zone "Mars/Base"; expected one as Europe/Berlin',
        'timezone: there is no time zone ""; expected one as Europe/Berlin',
      ],
    )
  })
})
