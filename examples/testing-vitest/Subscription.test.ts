/**
 * A month in milliseconds: retries, a delay, and crashes.
 */
import { fails, picture, testEngine, whatIf } from "millrace/testing"
import { expect, test } from "vitest"
import { nodes, subscribe } from "./Subscription.ts"

const mocks = { "pay.charge": fails(3, "the bank is busy").gives({ receipt: "r1" }) }

test("a busy bank is asked again after 5 seconds, 5 minutes and 2 hours", async () => {
  await using engine = await testEngine({ nodes, mocks })
  const run = await subscribe(engine)
  await engine.clock.runToEnd()
  const [first, ...later] = engine.calls("pay.charge").map(({ at }) => Number(at))
  expect(later.map((at) => at - first!)).toEqual([5_000, 305_000, 7_505_000])
  expect(picture(await run.wait(), { times: true })).toBe(
    [
      "Subscription: COMPLETED",
      '  charge  COMPLETED  +0 s to +2 h 5 min 5 s  {"receipt":"r1"}',
      '  month   COMPLETED  +2 h 5 min 5 s to +30 d 2 h 5 min 5 s  {"output":"r1"}',
      "  thank   COMPLETED  +30 d 2 h 5 min 5 s to +30 d 2 h 5 min 5 s  {}",
    ].join("\n"),
  )
})

test("a crash anywhere charges nothing else", async () => {
  // An attempt that a crash breaks off counts, so one of the four is left for it.
  const busyTwice = { "pay.charge": fails(2, "the bank is busy").gives({ receipt: "r1" }) }
  const { problems } = await whatIf(() => ({ nodes, mocks: busyTwice }), subscribe)
  expect(problems).toEqual([])
})
