/**
 * One attempt: the request as Standard Webhooks has it, through the guard, and what came of it.
 *
 * Guarantees: identifier and body are the same in every attempt and the time is fresh; the answer
 * is read up to 64 KiB and kept up to 4 KiB; one timeout bounds everything. What the log gets are
 * classes of failures, without addresses. Leaves out: what follows from an answer.
 */
import type { AttemptError, Delivery } from "@millrace/core/domain/Delivery"
import { answerText, keptAnswerBytes, readAnswerBytes } from "@millrace/core/domain/Delivery"
import type { Answer } from "@millrace/core/domain/DeliverySchedule"
import type { Attempted } from "@millrace/core/ports/WebhookStore"
import type { Egress, EgressFailed, EgressRefused } from "@millrace/egress/Egress"
import type { Answer as Received } from "@millrace/egress/Egress"
import { Clock, Effect, Result } from "effect"
import * as CustomHeaders from "./CustomHeaders.ts"
import type { SigningKey } from "./Signature.ts"
import { sign } from "./Signature.ts"

/** What is needed to send a delivery. */
export interface Sending {
  readonly delivery: Delivery
  /** What the client asked for. */
  readonly headers: CustomHeaders.Headers
  /** The live signing keys. */
  readonly keys: ReadonlyArray<SigningKey>
  readonly timeoutMillis: number
}

/** An attempt that is over. */
export interface Sent {
  readonly answer: Answer
  readonly attempt: Attempted
}

const headersOf = ({ delivery, headers, keys }: Sending, now: number, body: Uint8Array) => {
  const timestampSeconds = Math.floor(now / 1_000)
  return {
    ...CustomHeaders.allowed(headers),
    "content-type": "application/json",
    "user-agent": "Millrace",
    "webhook-id": delivery.id,
    "webhook-timestamp": String(timestampSeconds),
    "webhook-signature": sign({ id: delivery.id, timestampSeconds, body }, keys),
  }
}

/** Failures by the class that the log names. */
const errorOf = ({ reason }: EgressRefused | EgressFailed): AttemptError =>
  reason === "too-large" ? "protocol" : reason

const isGood = (status: number): boolean => status >= 200 && status < 300

const answered = ({ body, headers, status }: Received) => ({
  answer: { _tag: "Answered", status, retryAfter: headers["retry-after"] } as const,
  outcome: { status, error: isGood(status) ? null : "status", answer: answerText(body) } as const,
})

const unanswered = (error: AttemptError) => ({
  answer: { _tag: "Unanswered", error } as const,
  outcome: { status: null, error, answer: null },
})

/** Sends a delivery once. Never fails; interrupted, nobody knows what became of it. */
export const attempt: (egress: Egress["Service"], sending: Sending) => Effect.Effect<Sent> =
  Effect.fnUntraced(function* (egress, sending) {
    const clock = yield* Clock.Clock
    const at = clock.currentTimeMillisUnsafe()
    const begun = clock.monotonicTimeNanosUnsafe()
    const body = Buffer.from(sending.delivery.body)
    const result = yield* Effect.result(
      egress.request({
        method: "POST",
        url: sending.delivery.url,
        headers: headersOf(sending, at, body),
        body,
        timeoutMillis: sending.timeoutMillis,
        maxBodyBytes: readAnswerBytes,
        keptBodyBytes: keptAnswerBytes,
        overflow: "truncate",
      }),
    )
    const { answer, outcome } = Result.isSuccess(result)
      ? answered(result.success)
      : unanswered(errorOf(result.failure))
    const durationMillis = Number((clock.monotonicTimeNanosUnsafe() - begun) / 1_000_000n)
    return { answer, attempt: { at, durationMillis, ...outcome } }
  })
