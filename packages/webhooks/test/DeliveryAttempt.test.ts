/**
 * One attempt: the call that the egress guard is asked for, and what the log and the schedule are
 * told of its end.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Answer, Call } from "@millrace/egress/Egress"
import { Egress, EgressFailed, EgressRefused } from "@millrace/egress/Egress"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { attempt } from "../src/internal/DeliveryAttempt.ts"
import { keyOf } from "../src/Signature.ts"
import type { Receive } from "./Harness.ts"
import { answer, delivery } from "./Harness.ts"

const keys = [keyOf(`whsec_${Buffer.alloc(32, 7).toString("base64")}`)]

/** Sends a delivery once through this receiver. */
const send = (receive: Receive, headers: Record<string, string> | null = null) =>
  attempt(
    Egress.of({ request: receive, judge: () => Effect.void, socket: () => Effect.die("none") }),
    {
      delivery: delivery({ body: "grüezi 😀" }),
      headers,
      keys,
      timeoutMillis: 1_234,
    },
  )

const answerWith = (given: Answer) => send(() => Effect.succeed(given))

const failWith = (failure: EgressRefused | EgressFailed) => send(() => Effect.fail(failure))

describe("DeliveryAttempt.attempt", () => {
  it.effect("posts the body with these headers, reads 64 KiB and keeps 4 KiB", () =>
    Effect.gen(function* () {
      const calls: Array<Call> = []
      yield* TestClock.setTime(1_700_000_000_999)
      yield* send((call) => Effect.sync(() => (calls.push(call), answer(200))))
      const [call] = calls
      const { body, headers = {}, url, ...rest } = call!
      assert.deepStrictEqual(rest, {
        method: "POST",
        timeoutMillis: 1_234,
        maxBodyBytes: 65_536,
        keptBodyBytes: 4_096,
        overflow: "truncate",
      })
      assert.strictEqual(url, "https://receiver.example/hook")
      assert.strictEqual(Buffer.from(body as Uint8Array).toString(), "grüezi 😀")
      assert.deepInclude(headers, {
        "content-type": "application/json",
        "user-agent": "Millrace",
        "webhook-timestamp": "1700000000",
      })
      assert.strictEqual(Object.keys(headers).length, 5)
    }),
  )

  it.effect("sends the client's headers, but for those that may not be set", () =>
    Effect.gen(function* () {
      const calls: Array<Call> = []
      const asked = {
        "x-mark": "1",
        "User-Agent": "forged",
        "Webhook-Id": "forged",
        host: "forged",
      }
      yield* send((call) => Effect.sync(() => (calls.push(call), answer(200))), asked)
      const { headers = {} } = calls[0]!
      assert.deepInclude(headers, { "x-mark": "1", "user-agent": "Millrace" })
      assert.notInclude(Object.values(headers), "forged")
    }),
  )

  it.effect("logs no error for a status from 200 to 299, and the class status for all others", () =>
    Effect.gen(function* () {
      const errors = yield* Effect.forEach([199, 200, 299, 300, 500], (status) =>
        Effect.map(answerWith(answer(status)), ({ attempt: { error } }) => error),
      )
      assert.deepStrictEqual(errors, ["status", null, null, "status", "status"])
    }),
  )

  it.effect("tells the schedule the status and the wish of the receiver", () =>
    Effect.gen(function* () {
      const sent = yield* answerWith(answer(429, { "retry-after": "8" }))
      assert.deepStrictEqual(sent.answer, { _tag: "Answered", status: 429, retryAfter: "8" })
      assert.deepInclude(sent.attempt, { status: 429, error: "status", answer: "ok" })
    }),
  )

  it.effect("names the class of each failure, and one for answers that are no answers", () =>
    Effect.gen(function* () {
      const reasons = ["timeout", "too-large", "crowded", "reset"] as const
      const failures = [
        EgressRefused.of("10.0.0.1 is not public"),
        ...reasons.map((reason) => new EgressFailed({ reason, message: "It failed" })),
      ]
      const sent = yield* Effect.forEach(failures, failWith)
      const classes = ["blocked", "timeout", "protocol", "protocol", "reset"] as const
      assert.deepStrictEqual(
        sent.map((each) => each.answer),
        classes.map((error) => ({ _tag: "Unanswered" as const, error })),
      )
      for (const [index, { attempt: log }] of sent.entries()) {
        assert.deepInclude(log, { status: null, error: classes[index]!, answer: null })
      }
    }),
  )

  it.effect("logs when the attempt began, and how many milliseconds it took", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5_000)
      const fiber = yield* Effect.forkChild(
        send(() => Effect.delay(Effect.succeed(answer(200)), 1_500)),
      )
      yield* TestClock.adjust(1_500)
      const { attempt: log } = yield* Fiber.join(fiber)
      assert.deepInclude(log, { at: 5_000, durationMillis: 1_500 })
    }),
  )
})
