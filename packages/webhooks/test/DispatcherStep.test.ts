/**
 * What a dispatcher decides, event by event: no clock, no store, no receiver.
 */
import type { DeliveryOutcome } from "@millrace/core/domain/DeliveryStep"
import { givenBack } from "@millrace/core/domain/DeliveryStep"
import type { ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import { describe, expect, it } from "vitest"
import type { DispatcherOptions } from "../src/DispatcherOptions.ts"
import { defaultOptions } from "../src/DispatcherOptions.ts"
import type { DispatcherCommand, DispatcherEvent } from "../src/DispatcherStep.ts"
import { dueAt, makeState, next } from "../src/DispatcherStep.ts"
import { account, claimFor, delivery } from "./Harness.ts"

const origin = "https://receiver.example"

type Job = Extract<DispatcherCommand, { readonly _tag: "Send" }>["job"]

/** A dispatcher that is told of events at times; it has taken its first poll, and found nothing. */
const dispatcher = (change: Partial<DispatcherOptions> = {}) => {
  const options = { ...defaultOptions, pollMillis: 1_000, ...change }
  const state = makeState(options)
  const at = (elapsed: number, event: DispatcherEvent) =>
    next(state, event, { elapsed, now: elapsed, random: () => 0 })
  at(0, { _tag: "Woke" })
  at(0, { _tag: "Claimed", claims: [] })
  return { at, due: () => dueAt(state), state }
}

type Dispatcher = ReturnType<typeof dispatcher>

const claims = (count: number) => Array.from({ length: count }, () => claimFor(account, origin))

const tags = (commands: ReadonlyArray<DispatcherCommand>) => commands.map(({ _tag }) => _tag)

const jobs = (commands: ReadonlyArray<DispatcherCommand>): ReadonlyArray<Job> =>
  commands.flatMap((each) => ("job" in each ? [each.job] : []))

/** Stores so many in its process, which it is to claim then. */
const arrive = ({ at }: Dispatcher, elapsed: number, count: number) => {
  const deliveries = Array.from({ length: count }, () => delivery({ origin }))
  at(elapsed, { _tag: "Arrived", deliveries })
  return deliveries.map((each): ClaimedDelivery => ({
    ...claimFor(account, origin),
    id: each.id,
    delivery: each,
  }))
}

/** The same, and has them claimed; returns what it begins. */
const send = (one: Dispatcher, elapsed: number, count: number) => {
  const stored = arrive(one, elapsed, count)
  one.at(elapsed, { _tag: "Woke" })
  return jobs(one.at(elapsed, { _tag: "Claimed", claims: stored }))
}

const answered = (job: Job, durationMillis = 10, status = 204): DispatcherEvent => ({
  _tag: "Sent",
  job,
  sent: {
    answer: { _tag: "Answered", status, retryAfter: undefined },
    attempt: { at: 0, durationMillis, status, error: null, answer: "" },
  },
})

describe("DispatcherStep.makeState", () => {
  it("polls at once, and again when the time for it has come", () => {
    const state = makeState({ ...defaultOptions, pollMillis: 1_000 })
    const at = (elapsed: number, event: DispatcherEvent) =>
      next(state, event, { elapsed, now: elapsed, random: () => 0 })
    expect(dueAt(state)).toBe(Number.NEGATIVE_INFINITY)
    expect(at(0, { _tag: "Woke" })).toEqual([
      {
        _tag: "Poll",
        request: { limit: 128, perOrigin: 32, perAccount: 96, busy: [], visibilityMillis: 45_000 },
      },
    ])
    expect(dueAt(state)).toBe(Number.POSITIVE_INFINITY)
    at(20, { _tag: "Claimed", claims: [] })
    expect(dueAt(state)).toBe(1_000)
    expect(at(999, { _tag: "Woke" })).toEqual([])
    expect(tags(at(1_000, { _tag: "Woke" }))).toEqual(["Poll"])
  })
})

describe("DispatcherStep.next, of what arrives", () => {
  it("claims it at once, and nothing else while that claim is under way", () => {
    const one = dispatcher()
    const stored = arrive(one, 10, 2)
    expect(one.due()).toBe(10)
    const deliveries = stored.map((each) => each.delivery)
    expect(one.at(10, { _tag: "Woke" })).toEqual([{ _tag: "Claim", deliveries }])
    arrive(one, 11, 1)
    expect([one.due(), one.at(12, { _tag: "Woke" })]).toEqual([Number.POSITIVE_INFINITY, []])
    expect(tags(one.at(13, { _tag: "Claimed", claims: stored }))).toEqual(["Send", "Send"])
    // Though slots came free meanwhile, for which alone it would wait.
    expect(one.due()).toBe(13)
  })

  it("claims 128 at a time", () => {
    const one = dispatcher({ perOrigin: 200, perAccount: 200 })
    arrive(one, 10, 130)
    const [claim] = one.at(10, { _tag: "Woke" })
    expect(claim?._tag === "Claim" && claim.deliveries.length).toBe(128)
  })

  it("does not wait for more slots to come free", () => {
    const one = dispatcher()
    const [job] = send(one, 10, 2)
    one.at(12, answered(job!))
    arrive(one, 13, 1)
    expect(one.due()).toBe(13)
  })

  it("polls at once for what has become due", () => {
    const one = dispatcher()
    expect(one.due()).toBe(1_000)
    arrive(one, 11, 0)
    expect([one.due(), tags(one.at(11, { _tag: "Woke" }))]).toEqual([11, ["Poll"]])
  })

  it("polls for what it has no room to remember", () => {
    const one = dispatcher()
    const body = "x".repeat(16_777_216)
    const deliveries = [delivery({ origin, body }), delivery({ origin })]
    one.at(10, { _tag: "Arrived", deliveries })
    one.at(10, { _tag: "Woke" })
    expect(tags(one.at(11, { _tag: "Claimed", claims: [] }))).toEqual(["Poll"])
  })

  it("gives the places of what could not be claimed to others", () => {
    const one = dispatcher({ perOrigin: 1 })
    arrive(one, 10, 2)
    one.at(10, { _tag: "Woke" })
    one.at(11, { _tag: "Claimed", claims: [] })
    expect(one.state.partitions.sending).toBe(0)
    one.at(999, { _tag: "Arrived", deliveries: [delivery({ origin })] })
    expect(tags(one.at(999, { _tag: "Woke" }))).toEqual(["Claim"])
    expect(tags(one.at(999, { _tag: "Claimed", claims: claims(1) }))).toEqual(["Send"])
  })
})

describe("DispatcherStep.next, of slots that come free", () => {
  /** All slots are taken, and so many more wait to be claimed. */
  const full = (more: number) => {
    const one = dispatcher({ perOrigin: 20 })
    const begun = send(one, 10, 20)
    arrive(one, 10, more)
    one.at(10, { _tag: "Woke" })
    return { one, begun }
  }

  it("waits 5 ms for more, and claims for all of them together", () => {
    const { begun, one } = full(30)
    one.at(20, answered(begun[0]!, 100))
    expect(one.due()).toBe(25)
    one.at(22, answered(begun[1]!, 100))
    expect(one.due()).toBe(25)
    expect(one.at(24, { _tag: "Woke" })).toEqual([])
    const [claim] = one.at(25, { _tag: "Woke" })
    expect(claim?._tag === "Claim" && claim.deliveries.length).toBe(2)
  })

  it("waits no longer once sixteen are free", () => {
    const { begun, one } = full(30)
    for (const job of begun.slice(0, 15)) one.at(20, answered(job, 100))
    expect(one.due()).toBe(25)
    one.at(21, answered(begun[15]!, 100))
    expect(one.due()).toBe(21)
  })

  it("waits no longer once nothing is being sent", () => {
    const one = dispatcher({ perOrigin: 1 })
    const [job] = send(one, 10, 1)
    arrive(one, 10, 1)
    one.at(10, { _tag: "Woke" })
    one.at(20, answered(job!, 100))
    expect(one.due()).toBe(20)
  })

  it("waits from the end of a claim, where they came free during it", () => {
    const { begun, one } = full(30)
    one.at(20, answered(begun[0]!, 100))
    one.at(25, { _tag: "Woke" })
    one.at(26, answered(begun[1]!, 100))
    one.at(40, { _tag: "Claimed", claims: [] })
    expect(one.due()).toBe(45)
  })

  it("is for what waits already, and asks for nothing where nothing more is known", () => {
    const one = dispatcher({ perOrigin: 1 })
    const [first] = send(one, 10, 1)
    one.at(10, answered(first!, 1))
    const [second] = send(one, 20, 3)
    // The last attempt was quick, so all three are claimed.
    const commands = one.at(30, answered(second!, 1))
    expect(tags(commands)).toEqual(["Record", "Send"])
    expect(one.due()).toBe(1_000)
    const [, third] = jobs(commands)
    expect(tags(one.at(40, { _tag: "Over", job: third! }))).toEqual(["Send"])
  })

  it("frees a slot once, however often its job is told to be over", () => {
    const one = dispatcher()
    const [job] = send(one, 10, 2)
    one.at(20, answered(job!))
    expect(one.at(21, { _tag: "Over", job: job! })).toEqual([])
    expect(one.at(22, { _tag: "Over", job: job! })).toEqual([])
    expect(one.state.partitions.sending).toBe(1)
  })
})

describe("DispatcherStep.next, of polls", () => {
  const poll = (one: Dispatcher, at: number, found: ReadonlyArray<ClaimedDelivery>) => {
    expect(tags(one.at(at, { _tag: "Woke" }))).toEqual(["Poll"])
    return jobs(one.at(at, { _tag: "Claimed", claims: found }))
  }

  it("goes on while they bring as many as there is room for", () => {
    const one = dispatcher({ perOrigin: 2 })
    const found = poll(one, 1_000, claims(2))
    expect(one.due()).toBe(2_000)
    one.at(1_010, answered(found[0]!, 100))
    expect(one.due()).toBe(1_015)
    poll(one, 1_015, [])
    one.at(1_020, answered(found[1]!, 100))
    expect(one.due()).toBe(2_015)
  })

  it("polls once more for whom there was room while a poll was under way", () => {
    const one = dispatcher({ perOrigin: 2 })
    const [job] = send(one, 10, 1)
    one.at(1_000, { _tag: "Woke" })
    one.at(1_001, answered(job!, 100))
    one.at(1_002, { _tag: "Claimed", claims: claims(1) })
    expect(one.due()).toBe(1_007)
  })

  it("polls again at once where a poll brought as many as it asked for", () => {
    const one = dispatcher({ perOrigin: 200, perAccount: 200 })
    poll(one, 1_000, claims(128))
    expect(one.due()).toBe(1_000)
  })

  it("polls once after a claim, where it may find more", () => {
    const one = dispatcher({ perOrigin: 2 })
    const found = poll(one, 1_000, claims(2))
    const stored = arrive(one, 1_020, 1)
    one.at(1_020, answered(found[0]!, 100))
    one.at(1_020, { _tag: "Woke" })
    one.at(1_021, answered(found[1]!, 100))
    const commands = one.at(1_022, { _tag: "Claimed", claims: stored })
    expect(tags(commands)).toEqual(["Send", "Poll"])
    one.at(1_023, { _tag: "Claimed", claims: [] })
    one.at(1_030, { _tag: "Woke" })
    expect(one.due()).toBe(2_022)
  })

  it("puts a poll off until there is a slot", () => {
    const one = dispatcher({ atOnce: 1 })
    const [job] = send(one, 10, 1)
    expect(one.at(1_000, { _tag: "Woke" })).toEqual([])
    expect(one.due()).toBe(2_000)
    one.at(1_500, answered(job!, 100))
    expect(one.due()).toBe(1_500)
    poll(one, 1_500, [])
  })

  it("comes a millisecond after the time for which a retry was stored", () => {
    const one = dispatcher()
    const [job] = send(one, 10, 1)
    const [record] = one.at(20, answered(job!, 10, 500))
    const outcome = record?._tag === "Record" ? record.outcome : givenBack(0)
    expect(outcome.next).toEqual({ _tag: "Retry", delayMillis: 5_000 })
    one.at(30, { _tag: "Over", job: job! })
    expect(one.due()).toBe(1_000)
    const soon: DeliveryOutcome = { attempt: null, next: { _tag: "Retry", delayMillis: 500 } }
    one.at(30, { _tag: "Over", job: job!, outcome: soon })
    expect(one.due()).toBe(531)
    poll(one, 531, [])
    expect(one.due()).toBe(1_531)
  })
})

describe("DispatcherStep.next, of claims", () => {
  const lost = { ...claimFor(account, origin), lostAt: 5 }

  it("records a lost attempt, and sends nothing for it", () => {
    const one = dispatcher()
    one.at(1_000, { _tag: "Woke" })
    const [command] = one.at(1_001, { _tag: "Claimed", claims: [lost] })
    expect(command?._tag === "Record" && command.outcome.attempt).toMatchObject({
      at: 5,
      error: "unknown",
    })
  })

  it("gives back what could not be signed, for a minute", () => {
    const one = dispatcher()
    const [job] = send(one, 10, 1)
    const commands = one.at(20, { _tag: "Sent", job: job!, sent: undefined })
    expect(commands).toEqual([{ _tag: "Record", job, outcome: givenBack(60_000) }])
    expect(one.state.partitions.sending).toBe(0)
  })

  it("learns nothing of a receiver to which nothing was sent", () => {
    const one = dispatcher({ perOrigin: 1 })
    const [job] = send(one, 10, 1)
    one.at(20, { _tag: "Sent", job: job!, sent: undefined })
    arrive(one, 30, 3)
    const [claim] = one.at(30, { _tag: "Woke" })
    // It is not quick, so nothing is claimed ahead of its slot.
    expect(claim?._tag === "Claim" && claim.deliveries.length).toBe(1)
  })

  it("ends a delivery whose receiver is gone, also where it would give it back", () => {
    const one = dispatcher()
    one.at(1_000, { _tag: "Woke" })
    one.at(1_001, { _tag: "Stopped" })
    const gone = { ...claimFor(account, origin), isGone: true }
    expect(one.at(1_002, { _tag: "Claimed", claims: [gone] })).toMatchObject([
      { _tag: "Record", outcome: { attempt: null, next: { _tag: "Failed" } } },
    ])
  })

  it("gives back what came later than five seconds after its claim", () => {
    const one = dispatcher()
    one.at(1_000, { _tag: "Woke" })
    const found = one.at(6_000, { _tag: "Claimed", claims: claims(1) })
    expect(tags(found)).toEqual(["Send"])
    one.at(7_000, { _tag: "Woke" })
    const late = one.at(12_001, { _tag: "Claimed", claims: [claimFor(account, origin), lost] })
    expect(late).toMatchObject([
      { _tag: "Record", outcome: givenBack(0) },
      { _tag: "Record", outcome: { attempt: { error: "unknown" } } },
    ])
  })

  it("gives back what has waited for a slot, and holds its origin for slow then", () => {
    const one = dispatcher({ perOrigin: 1, pollMillis: 100 })
    const [first] = send(one, 10, 1)
    one.at(10, answered(first!, 1))
    send(one, 20, 2)
    one.at(5_020, { _tag: "Woke" })
    one.at(5_020, { _tag: "Claimed", claims: [] })
    const [back] = one.at(5_121, { _tag: "Woke" })
    expect(back).toMatchObject({ _tag: "Record", outcome: givenBack(0) })
    one.at(5_121, { _tag: "Claimed", claims: [] })
    arrive(one, 5_130, 1)
    expect(tags(one.at(5_130, { _tag: "Woke" }))).toEqual([])
  })
})

describe("DispatcherStep.next, told to stop", () => {
  it("gives back what waits and what a claim brings then, and claims nothing more", () => {
    const one = dispatcher({ perOrigin: 1 })
    const [first] = send(one, 10, 1)
    one.at(10, answered(first!, 1))
    const [sending] = send(one, 20, 2)
    arrive(one, 20, 1)
    one.at(20, { _tag: "Woke" })
    const given = { _tag: "Record", outcome: givenBack(0) }
    expect(one.at(21, { _tag: "Stopped" })).toMatchObject([given])
    expect(one.at(22, { _tag: "Claimed", claims: claims(2) })).toMatchObject([given, given])
    expect(tags(one.at(23, answered(sending!)))).toEqual(["Record"])
    expect(one.due()).toBe(Number.POSITIVE_INFINITY)
    expect(one.at(90_000, { _tag: "Woke" })).toEqual([])
  })
})
