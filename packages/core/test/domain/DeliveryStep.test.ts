/**
 * The steps of a delivery, one by one. The model of the stores plays them at random.
 */
import { describe, expect, it } from "vitest"
import { defaultSchedule } from "../../src/domain/DeliverySchedule.ts"
import type { DeliveryOutcome, DeliveryStanding } from "../../src/domain/DeliveryStep.ts"
import * as Step from "../../src/domain/DeliveryStep.ts"

const begun = 1_700_000_000_000
const [hold, later] = [45_000, begun + 100]

const first = Step.inserted(begun)
const held = Step.claimed(first, hold, begun)

const attempt = { at: begun, durationMillis: 5, status: 500, error: "status", answer: "" } as const
const made = { ...attempt, status: 204, error: null }
const unknown = { durationMillis: null, status: null, error: "unknown", answer: null }
const delivered: DeliveryOutcome = { attempt: made, next: { _tag: "Delivered" } }
const failed: DeliveryOutcome = { attempt, next: { _tag: "Failed", isGone: false } }
const retry: DeliveryOutcome = { attempt, next: { _tag: "Retry", delayMillis: 5_000 } }

const recordOf = (outcome: DeliveryOutcome, { attempts, fence }: DeliveryStanding = held) => ({
  ...outcome,
  fence,
  number: attempts,
})

const record = (standing: DeliveryStanding, outcome: DeliveryOutcome, now = later) =>
  Step.changed(standing, Step.changeOf(recordOf(outcome, standing)), now)

describe("DeliveryStep.claimed", () => {
  it("counts an attempt and holds the delivery until its time is over", () => {
    expect([held.attempts, held.fence, held.claimedAt]).toEqual([1, 1, begun])
    expect(Step.isFree(first, begun - 1)).toBe(false)
    expect([begun + hold - 1, begun + hold].map((now) => Step.isFree(held, now))).toEqual([
      false,
      true,
    ])
  })

  it("counts no further attempt where the last one was never recorded", () => {
    const again = Step.claimed(held, hold, begun + hold)
    expect([again.attempts, again.fence, again.claimedAt]).toEqual([1, 2, begun])
  })
})

describe("DeliveryStep.isFree", () => {
  it("is never true for one that has ended, and for a held one only after its time", () => {
    const ended = record(held, failed)
    expect(Step.nextAttemptAt(ended)).toBeNull()
    expect(Step.isFree(ended, Number.MAX_SAFE_INTEGER)).toBe(false)
    expect(held.heldUntil).toBe(begun + hold)
  })
})

describe("DeliveryStep.outcomeOf", () => {
  it("is the attempt, and what the schedule says next", () => {
    const claim = { attempt: 1, earlier: 0, createdAt: begun, isGone: false, lostAt: null }
    const answer = { _tag: "Answered", status: 500, retryAfter: undefined } as const
    expect(Step.outcomeOf(defaultSchedule, claim, { answer, attempt }, later, 0)).toEqual(retry)
  })
})

describe("DeliveryStep.outcomeWithoutAttempt", () => {
  const claim = { attempt: 1, earlier: 0, createdAt: begun, isGone: false, lostAt: null }
  const of = (change: Partial<typeof claim> | { readonly lostAt: number }) =>
    Step.outcomeWithoutAttempt(defaultSchedule, { ...claim, ...change }, later, 0)

  it("is nothing where an attempt is to be made", () => {
    expect(of({})).toBeUndefined()
  })

  it("ends what is not to be attempted any more", () => {
    expect(of({ isGone: true })).toEqual({ attempt: null, next: failed.next })
  })

  it("records a lost attempt, with the usual pause, and makes none", () => {
    const next = { _tag: "Retry", delayMillis: 5_000 }
    expect(of({ lostAt: begun })).toEqual({ attempt: { at: begun, ...unknown }, next })
  })
})

describe("DeliveryStep.changeOf", () => {
  it("gives the number of a claim back that sent nothing", () => {
    const back = record(held, Step.givenBack(0))
    expect(back).toEqual({ ...first, fence: 1, dueAt: later })
    expect(Step.claimed(back, hold, later).attempts).toBe(1)
  })

  it("is due again after the pause, or has ended", () => {
    expect(record(held, retry)).toMatchObject({ state: "PENDING", dueAt: later + 5_000 })
    const ends = { dueAt: null, settledAt: later, attempts: 1 }
    expect(record(held, delivered)).toMatchObject({ state: "DELIVERED", ...ends })
    expect(record(held, failed)).toMatchObject({ state: "FAILED", ...ends })
  })

  it("tells that the receiver is gone, of a failure alone", () => {
    const gone = { attempt, next: { _tag: "Failed", isGone: true } } as const
    expect([gone, failed, retry].map((each) => Step.changeOf(recordOf(each)).isGone)).toEqual([
      true,
      false,
      false,
    ])
  })

  it("is for the last claim alone, and once", () => {
    const own = recordOf(retry)
    expect(Step.isHeld(held, { ...own, number: 2 })).toBe(false)
    expect(Step.isHeld(held, own)).toBe(true)
    expect(Step.isHeld(Step.claimed(held, hold, later), own)).toBe(false)
    expect(Step.isHeld(record(held, retry), own)).toBe(false)
  })
})

describe("DeliveryStep.lateChangeOf", () => {
  const late = (standing: DeliveryStanding, logged?: "unknown" | "status" | null) =>
    Step.lateChangeOf(standing, recordOf(delivered), logged, later)

  it("believes a delivery of an attempt that is unknown or not recorded", () => {
    const over = { state: "DELIVERED", dueAt: null, claimedAt: null, settledAt: later }
    const log = [{ ...made, number: 1, nextAt: null }]
    expect(late(Step.claimed(held, hold, later))).toMatchObject({ standing: over, log })
    expect(late(record(held, failed), "unknown")).toMatchObject({ standing: over, log })
  })

  it("believes nothing else", () => {
    expect(late(record(held, retry), "status")).toBeUndefined()
    expect(late(record(held, delivered), null)).toBeUndefined()
    expect(Step.lateChangeOf(held, recordOf(retry), "unknown", later)).toBeUndefined()
  })

  it("believes no attempt that is recorded as another one, or that nobody holds", () => {
    // The log does not have it, and the attempt that is held is another one.
    const next = Step.claimed(record(held, retry), hold, later)
    expect(late(next)).toBeUndefined()
    expect(late(record(held, retry))).toBeUndefined()
    const back = Step.givenBack(0)
    expect(Step.lateChangeOf(held, recordOf(back), "unknown", later)).toBeUndefined()
    const unsent = { ...recordOf(delivered), attempt: null } as never
    expect(Step.lateChangeOf(held, unsent, "unknown", later)).toBeUndefined()
  })

  it("logs as unknown what is under way meanwhile", () => {
    const next = Step.claimed(record(held, retry), hold, later)
    const [, other] = late(next, "unknown")?.log ?? []
    expect(other).toEqual({ number: 2, at: later, ...unknown, nextAt: null })
    const early = Step.claimed(record(held, retry), hold, later - 50)
    expect(late(early, "unknown")?.log[1]?.at).toBe(later - 50)
    expect(late(record(held, retry), "unknown")?.log).toHaveLength(1)
  })

  it("leaves what somebody has asked for since, but for its log", () => {
    const asked = Step.redelivered(record(held, failed), later)
    const log = [{ ...made, number: 1, nextAt: null }]
    expect(late(asked, "unknown")).toEqual({ standing: asked, log })
    // Once it has ended anew, nobody asks for it any more.
    const over = { ...asked, state: "FAILED", dueAt: null, settledAt: later } as const
    expect(late(over, "unknown")?.standing.state).toBe("DELIVERED")
  })
})

describe("DeliveryStep.redelivered", () => {
  it("makes any delivery due that is in nobody's hand, with as many attempts as a new one", () => {
    const gone: DeliveryOutcome = { attempt, next: { _tag: "Failed", isGone: true } }
    const again = Step.redelivered(record(held, gone), later)
    const expected = { state: "PENDING", dueAt: later, earlier: 1, settledAt: null, isGone: false }
    expect(again).toMatchObject(expected)
    expect(Step.redelivered(held, later)).toEqual(held)
    expect(Step.redelivered({ ...held, isGone: true }, later)).toEqual(held)
  })
})

describe("DeliveryStep.receiverGone", () => {
  it("makes due what waits, and nothing that is in somebody's hand or has ended", () => {
    const waiting = record(held, retry)
    expect(Step.receiverGone(waiting, later).dueAt).toBe(later)
    for (const other of [held, record(held, failed)])
      expect(Step.receiverGone(other, later)).toBe(other)
  })
})
