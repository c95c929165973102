// What a process notes of a schedule while it looks after its times, and when it looks again.
import { triggerLeaseMillis, triggerPollMillis } from "@millrace/core/domain/Limits"
import { runIdAt } from "@millrace/core/domain/Trigger"
import { describe, expect, it } from "vitest"
import { TakenSchedule } from "../../src/engine/internal/TakenSchedule.ts"
import { minute, scheduleWith } from "./TestSchedules.ts"

const now = 100 * minute

describe("TakenSchedule", () => {
  it("knows the last time that has a run, in whatever order they are told", () => {
    const taken = new TakenSchedule(scheduleWith(), null)
    expect(taken.advance(now)).toMatchObject({ lastAt: null, lastRunId: null })
    taken.started(20 * minute)
    taken.started(10 * minute)
    const { id } = taken.schedule
    const last = { lastAt: 20 * minute, lastRunId: runIdAt(id, 20 * minute) }
    expect(taken.advance(now)).toMatchObject(last)
    taken.started(30 * minute)
    expect(taken.advance(now).lastAt).toBe(30 * minute)
  })

  it("keeps the id of the run that a time has, if that is told again", () => {
    const known = scheduleWith({ lastAt: 10 * minute, lastRunId: null })
    const taken = new TakenSchedule(known, null)
    taken.started(10 * minute)
    expect(taken.advance(now).lastRunId).toBe(null)
  })

  it("counts the times without a run, and says why the latest of them has none", () => {
    const taken = new TakenSchedule(scheduleWith({ missed: 4 }), null)
    taken.missed(20 * minute, "second")
    expect(taken.advance(now)).toMatchObject({ lastMissedAt: 20 * minute, lastError: "second" })
    taken.missed(10 * minute, "first", 3)
    expect(taken.advance(now)).toMatchObject({ missed: 4, lastError: "second" })
    taken.missed(20 * minute, "again")
    expect(taken.advance(now)).toMatchObject({ missed: 5, lastError: "again" })
    taken.missed(30 * minute, "third")
    expect(taken.advance(now)).toMatchObject({ lastMissedAt: 30 * minute, lastError: "third" })
  })

  it("is due with its next time, later by its jitter, or never", () => {
    const plain = new TakenSchedule(scheduleWith(), 200 * minute)
    expect(plain.advance(now)).toMatchObject({ nextAt: 200 * minute, dueAt: 200 * minute })
    const late = new TakenSchedule(scheduleWith({ jitterSeconds: 60 }), 200 * minute)
    const { dueAt } = late.advance(now)
    expect(dueAt).toBeGreaterThanOrEqual(200 * minute)
    expect(dueAt).toBeLessThan(201 * minute)
    const over = new TakenSchedule(scheduleWith(), null)
    expect(over.advance(now)).toMatchObject({ nextAt: null, dueAt: null, waitingAt: null })
  })

  it("looks soon after the run that a time waits for, or at its next time before that", () => {
    for (const [nextAt, dueAt] of [
      [200 * minute, now + triggerPollMillis],
      [null, now + triggerPollMillis],
      [now + 1, now + 1],
    ] as const) {
      const taken = new TakenSchedule(scheduleWith(), nextAt)
      taken.waitingAt = 90 * minute
      expect(taken.advance(now)).toMatchObject({ nextAt, dueAt, waitingAt: 90 * minute })
    }
  })

  it("is looked at again from a time on of which it is unknown whether it has a run", () => {
    const taken = new TakenSchedule(scheduleWith(), 200 * minute)
    taken.started(80 * minute)
    expect(taken.again(90 * minute, 100 * minute, now)).toMatchObject({
      nextAt: 90 * minute,
      waitingAt: null,
      dueAt: now + triggerLeaseMillis,
      lastAt: 80 * minute,
    })
  })

  it("goes on waiting with a time of which that is unknown, and with those behind it", () => {
    const waiting = scheduleWith({ waitingAt: 90 * minute })
    const again = (following: number | undefined) =>
      new TakenSchedule(waiting, 200 * minute).again(90 * minute, following, now)
    expect(again(100 * minute)).toMatchObject({ waitingAt: 90 * minute, nextAt: 100 * minute })
    expect(again(undefined)).toMatchObject({ waitingAt: 90 * minute, nextAt: 200 * minute })
  })
})
